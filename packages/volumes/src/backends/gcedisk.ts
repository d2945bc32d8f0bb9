/** Disks as zonal persistent disks of Google Compute Engine, by its REST API (compute/v1). The name is the claim's key: a second insert is refused. */
import { fault, isFault, type Clock } from '@windlass/kit'
import { z } from 'zod'
import { NOTE } from '../pool/notes.ts'
import type { NewDisk } from '../pool/maker.ts'
import { inLabel, ZONE_LABEL } from '../pool/placement.ts'
import { TAG, wholeGib, type Backend, type DiskWish } from './backend.ts'
import { callCloud, readJsonError } from './http.ts'
import type { GceDiskParameters } from './parameters.ts'

export interface GoogleAccess {
  /** Project of the disks. */
  readonly project: string
  readonly token: string
}

export interface GceDiskOptions {
  readonly clock: Clock
  readonly parameters: GceDiskParameters
  readonly owner: string
  readonly access: (signal: AbortSignal) => Promise<GoogleAccess>
  /** Base URL of the API; another one in tests. */
  readonly url?: string | undefined
}

const API = 'https://compute.googleapis.com/compute/v1'
const LOOK_MS = 500
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
    request: { method: string; path?: string; body?: unknown },
    signal: AbortSignal,
  ): Promise<string> {
    const { project, token } = await access(signal)
    const target = `${url}/projects/${project}/zones/${zone}/disks${request.path ?? ''}`
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = request.body === undefined ? null : JSON.stringify(request.body)
    const send = (limit: AbortSignal): Promise<Response> =>
      fetch(target, { method: request.method, headers, body, signal: limit })
    return callCloud(clock, { provider: 'Compute Engine', action, send, readError: readJsonError }, signal)
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
        // The operation that makes it has only just begun.
        if (hasStatus(error, 404)) return undefined
        throw error
      })
      const status = text === undefined ? 'CREATING' : DiskState.parse(JSON.parse(text)).status
      if (status === 'READY') return
      if (status === 'FAILED') throw fault('storage-refused', { message: `Compute Engine could not make the disk ${name}.` })
      if (clock.monotonic() > end)
        throw fault('storage-unreachable', {
          message: `The disk ${name} is still in state ${status} after ${READY_MS / 1000} s.`,
        })
      await clock.sleep(LOOK_MS, signal)
    }
  }

  return {
    type: 'gcedisk',
    zone,
    needsNode: false,
    async make(wish, signal) {
      const body = insertBody(parameters, wish)
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
          ...(token !== undefined && { pageToken: token }),
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

/** Body of disks.insert. Labels of Google are lower-case letters, digits, `-` and `_`. Pure. */
export function insertBody(
  { type, zone }: GceDiskParameters,
  { key, sizeBytes, tags }: DiskWish,
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

/** How a disk of Google stands in a PersistentVolume. Pure. */
export function gceDisk({ zone, fsType }: GceDiskParameters, name: string): NewDisk {
  return {
    id: name,
    backend: 'gcedisk',
    spec: { gcePersistentDisk: { pdName: name, fsType }, nodeAffinity: inLabel(ZONE_LABEL, zone) },
    annotations: { [NOTE.zone]: zone },
  }
}
