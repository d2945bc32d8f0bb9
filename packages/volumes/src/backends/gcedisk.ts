/**
 * Disks as zonal persistent disks of Google Compute Engine, by its REST API (compute/v1). The name contains the key of the claim, so a
 * second insert is refused.
 */
import { callCloud, readJsonError, type GoogleAccess } from '@windlass/cloud'
import { defined, fault, isFault, type Clock } from '@windlass/kit'
import { z } from 'zod'
import { NOTE } from '../pool/notes.ts'
import type { NewDisk } from '../pool/maker.ts'
import { inLabel, ZONE_LABEL } from '../pool/placement.ts'
import { TAG, wholeGib, type Backend, type DiskSpec } from './backend.ts'
import type { GceDiskParameters } from './parameters.ts'

export interface GceDiskOptions {
  readonly clock: Clock
  readonly parameters: GceDiskParameters
  readonly owner: string
  readonly access: (signal: AbortSignal) => Promise<GoogleAccess>
  /** Base URL of the API, overridden in tests. */
  readonly url?: string | undefined
}

const API = 'https://compute.googleapis.com/compute/v1'
const POLL_MS = 500
const READY_MS = 120_000

const DiskState = z.looseObject({
  name: z.string(),
  status: z.string(),
  labels: z.record(z.string(), z.string()).default({}),
  creationTimestamp: z.string().default(''),
})
const DiskPage = z.looseObject({ items: z.array(DiskState).default([]), nextPageToken: z.string().optional() })

export function gceDiskBackend({ clock, parameters, owner, access, url = API }: GceDiskOptions): Backend {
  const { zone } = parameters

  async function call(
    action: string,
    { method, path = '', body: value }: { method: string; path?: string; body?: unknown },
    signal: AbortSignal,
  ): Promise<string> {
    const { project, token } = await access(signal)
    const full = `${url}/projects/${project}/zones/${zone}/disks${path}`
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = value === undefined ? undefined : JSON.stringify(value)
    return callCloud(
      clock,
      { provider: 'Compute Engine', action, request: { method, url: full, headers, body }, readError: readJsonError },
      signal,
    )
  }

  async function remove(name: string, signal: AbortSignal): Promise<void> {
    await call('disks.delete', { method: 'DELETE', path: `/${name}` }, signal).catch((error: unknown) => {
      if (!hasStatus(error, 404)) throw error
    })
  }

  async function untilReady(name: string, signal: AbortSignal): Promise<void> {
    const end = clock.monotonic() + READY_MS
    for (;;) {
      const text = await call('disks.get', { method: 'GET', path: `/${name}` }, signal).catch((error: unknown) => {
        // The creating operation has only just started.
        if (hasStatus(error, 404)) return undefined
        throw error
      })
      const status = text === undefined ? 'CREATING' : DiskState.parse(JSON.parse(text)).status
      if (status === 'READY') return
      if (status === 'FAILED') throw fault('storage-refused', { message: `Compute Engine could not create the disk ${name}.` })
      if (clock.monotonic() > end)
        throw fault('storage-unreachable', {
          message: `The disk ${name} is still in state ${status} after ${READY_MS / 1000} s.`,
        })
      await clock.sleep(POLL_MS, signal)
    }
  }

  return {
    type: 'gcedisk',
    zone,
    needsNode: false,
    async make(wanted, signal) {
      const body = insertBody(parameters, wanted)
      await call('disks.insert', { method: 'POST', body }, signal).catch((error: unknown) => {
        if (!hasStatus(error, 409)) throw error
      })
      await untilReady(body.name, signal)
      return gceDisk(parameters, body.name)
    },
    remove: ({ metadata: { annotations } }, signal) => remove(annotations[NOTE.backendId] ?? '', signal),
    async list(signal) {
      const found: z.infer<typeof DiskState>[] = []
      let token: string | undefined
      do {
        const query = new URLSearchParams({
          filter: `labels.${TAG.owner}=${owner}`,
          ...defined({ pageToken: token }),
        })
        const page = DiskPage.parse(JSON.parse(await call('disks.list', { method: 'GET', path: `?${query.toString()}` }, signal)))
        found.push(...page.items)
        token = page.nextPageToken
      } while (token !== undefined)
      return found.map(({ name, labels, creationTimestamp }) => ({
        id: name,
        key: labels[TAG.key] ?? '',
        createdAt: Date.parse(creationTimestamp) || 0,
      }))
    },
    removeListed: ({ id }, signal) => remove(id, signal),
  }
}

function hasStatus(error: unknown, status: number): boolean {
  return isFault(error, 'storage-refused') && error.details['httpStatus'] === status
}

/** Returns the body of disks.insert. Google labels consist of lower-case letters, digits, `-` and `_`. Pure. */
export function insertBody(
  { type, zone }: GceDiskParameters,
  { key, sizeBytes, tags }: DiskSpec,
): { name: string } & Record<string, unknown> {
  const labels = Object.entries(tags).map(([name, value]) => [toLabel(name), toLabel(value)])
  return {
    name: `dind-volume-${key}`,
    sizeGb: String(wholeGib(sizeBytes)),
    type: `zones/${zone}/diskTypes/${type}`,
    labels: Object.fromEntries(labels),
  }
}

function toLabel(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .slice(0, 63)
}

/** Returns the volume of a Google disk. Pure. */
export function gceDisk({ zone, fsType }: GceDiskParameters, name: string): NewDisk {
  return {
    id: name,
    backend: 'gcedisk',
    spec: { gcePersistentDisk: { pdName: name, fsType }, nodeAffinity: inLabel(ZONE_LABEL, zone) },
    annotations: { [NOTE.zone]: zone },
  }
}
