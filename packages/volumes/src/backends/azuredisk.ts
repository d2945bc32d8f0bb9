/** Disks as managed disks of Azure, by Azure Resource Manager (Microsoft.Compute/disks). A PUT by name is idempotent. */
import { callCloud, readJsonError, type AzureAccess } from '@windlass/cloud'
import { defined, fault, isFault, type Clock } from '@windlass/kit'
import { z } from 'zod'
import { NOTE } from '../pool/notes.ts'
import type { NewDisk } from '../pool/maker.ts'
import { inLabel, ZONE_LABEL } from '../pool/placement.ts'
import { TAG, wholeGib, type Backend, type DiskSpec } from './backend.ts'
import type { AzureDiskParameters } from './parameters.ts'

export interface AzureDiskOptions {
  readonly clock: Clock
  readonly parameters: AzureDiskParameters
  readonly owner: string
  readonly access: (signal: AbortSignal) => Promise<AzureAccess>
  /** Base URL of Azure Resource Manager, overridden in tests. */
  readonly url?: string | undefined
}

const API = 'https://management.azure.com'
const VERSION = '2024-03-02'
const POLL_MS = 500
const READY_MS = 120_000

const DiskState = z.looseObject({
  id: z.string(),
  name: z.string(),
  tags: z.record(z.string(), z.string()).default({}),
  properties: z
    .looseObject({ provisioningState: z.string().default('Unknown'), timeCreated: z.string().default('') })
    .prefault({}),
})
const DiskPage = z.looseObject({ value: z.array(DiskState).default([]), nextLink: z.string().optional() })

export function azureDiskBackend({ clock, parameters, owner, access, url = API }: AzureDiskOptions): Backend {
  async function call(
    action: string,
    { method, target, body: value }: { method: string; target: string; body?: unknown },
    signal: AbortSignal,
  ): Promise<string> {
    const { token } = await access(signal)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = value === undefined ? undefined : JSON.stringify(value)
    const full = target.startsWith('http') ? target : `${url}${target}?api-version=${VERSION}`
    return callCloud(
      clock,
      { provider: 'Azure', action, request: { method, url: full, headers, body }, readError: readJsonError },
      signal,
    )
  }

  async function folder(signal: AbortSignal): Promise<string> {
    const { subscriptionId, resourceGroup } = await access(signal)
    const group = parameters.resourceGroup ?? resourceGroup
    return `/subscriptions/${subscriptionId}/resourceGroups/${group}/providers/Microsoft.Compute/disks`
  }

  async function remove(id: string, signal: AbortSignal): Promise<void> {
    await call('delete', { method: 'DELETE', target: id }, signal).catch((error: unknown) => {
      if (!hasStatus(error, 404)) throw error
    })
  }

  return {
    type: parameters.volumeBackend,
    zone: parameters.availabilityZone,
    needsNode: false,
    async make(wanted, signal) {
      const { location } = await access(signal)
      const id = `${await folder(signal)}/dind-volume-${wanted.key}`
      await call('create', { method: 'PUT', target: id, body: createBody(parameters, wanted, location) }, signal)
      const end = clock.monotonic() + READY_MS
      for (;;) {
        const disk = DiskState.parse(JSON.parse(await call('get', { method: 'GET', target: id }, signal)))
        const state = disk.properties.provisioningState
        if (state === 'Succeeded') return azureDisk(parameters, disk)
        if (state === 'Failed') throw fault('storage-refused', { message: `Azure could not create the disk ${disk.name}.` })
        if (clock.monotonic() > end)
          throw fault('storage-unreachable', {
            message: `The disk ${disk.name} is still in state ${state} after ${READY_MS / 1000} s.`,
          })
        await clock.sleep(POLL_MS, signal)
      }
    },
    remove: ({ metadata: { annotations } }, signal) => remove(annotations[NOTE.backendId] ?? '', signal),
    async list(signal) {
      const found: z.infer<typeof DiskState>[] = []
      let target: string | undefined = await folder(signal)
      while (target !== undefined) {
        const page: z.infer<typeof DiskPage> = DiskPage.parse(JSON.parse(await call('list', { method: 'GET', target }, signal)))
        found.push(...page.value)
        target = page.nextLink
      }
      return found
        .filter(({ tags }) => tags[TAG.owner] === owner)
        .map(({ id, tags, properties }) => ({ id, key: tags[TAG.key] ?? '', createdAt: Date.parse(properties.timeCreated) || 0 }))
    },
    removeListed: ({ id }, signal) => remove(id, signal),
  }
}

function hasStatus(error: unknown, status: number): boolean {
  return isFault(error, 'storage-refused') && error.details['httpStatus'] === status
}

/** Returns the body of the PUT. Zones are written `1` or `westeurope-1`; Azure accepts the number. Pure. */
export function createBody(
  parameters: AzureDiskParameters,
  { sizeBytes, tags }: DiskSpec,
  location: string,
): Record<string, unknown> {
  const { availabilityZone, skuName, DiskIOPSReadWrite, DiskMBpsReadWrite } = parameters
  return {
    location: parameters.location ?? location,
    sku: { name: skuName },
    ...(availabilityZone !== undefined && { zones: [availabilityZone.replace(/^.*-/, '')] }),
    // Tag names must not contain slashes.
    tags: Object.fromEntries(Object.entries(tags).map(([name, value]) => [name.replace(/[<>%&\\?/]/g, '-'), value])),
    properties: {
      creationData: { createOption: 'Empty' },
      diskSizeGB: wholeGib(sizeBytes),
      ...defined({ diskIOPSReadWrite: DiskIOPSReadWrite, diskMBpsReadWrite: DiskMBpsReadWrite }),
    },
  }
}

/** Returns the volume of a managed disk, for the former in-tree driver or the CSI driver. Pure. */
export function azureDisk(
  parameters: AzureDiskParameters,
  { id, name }: { readonly id: string; readonly name: string },
): NewDisk {
  const { volumeBackend, cachingMode, fsType, skuName, availabilityZone: zone } = parameters
  const source =
    volumeBackend === 'azuredisk'
      ? { azureDisk: { kind: 'Managed', diskName: name, diskURI: id, cachingMode, fsType } }
      : {
          csi: {
            driver: 'disk.csi.azure.com',
            volumeHandle: id,
            fsType,
            volumeAttributes: { kind: 'managed', skuName, cachingMode },
          },
        }
  return {
    id,
    backend: volumeBackend,
    spec: { ...source, ...(zone !== undefined && { nodeAffinity: inLabel(ZONE_LABEL, zone) }) },
    ...(zone !== undefined && { annotations: { [NOTE.zone]: zone } }),
  }
}
