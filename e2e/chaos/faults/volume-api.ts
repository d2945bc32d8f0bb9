/**
 * A few lines of the Kubernetes API over HTTP: persistent volumes with list, create and merge patch under a resourceVersion
 * (kubernetes.io/docs/reference/using-api/api-concepts). `bind` and `release` are what the making and the deletion of a claim do. For tests of the disk pool with thousands of claims; the real API is used in e2e/cluster.
 */
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { z } from 'zod'

const Volume = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
    resourceVersion: z.string().optional(),
  }),
  spec: z.looseObject({ claimRef: z.looseObject({ name: z.string().optional(), uid: z.string().nullish() }).optional() }),
  status: z.looseObject({ phase: z.string() }).optional(),
})
type Volume = z.infer<typeof Volume>

export interface VolumeApi extends AsyncDisposable {
  readonly url: string
  readonly volumes: ReadonlyMap<string, Volume>
  /** The claim is made: the volume that carries its name binds. */
  bind(claim: string): void
  /** The claim is deleted: its volume is Released. */
  release(claim: string): void
  /** How many patches were refused because somebody else was faster. */
  readonly conflicts: number
}

export async function openVolumeApi(): Promise<VolumeApi> {
  const volumes = new Map<string, Volume>()
  let version = 0
  let conflicts = 0
  const store = (volume: Volume, phase: string): Volume => {
    version += 1
    const stored = { ...volume, metadata: { ...volume.metadata, resourceVersion: String(version) }, status: { phase } }
    volumes.set(volume.metadata.name, stored)
    return stored
  }
  const answer = (method: string, name: string | undefined, body: unknown): { status: number; body: unknown } => {
    const named = volumes.get(name ?? '')
    if (method === 'GET' && name !== undefined)
      return named === undefined ? refusal(404, 'NotFound') : { status: 200, body: named }
    if (method === 'GET')
      return { status: 200, body: { metadata: { resourceVersion: String(version) }, items: [...volumes.values()] } }
    if (method === 'POST') {
      const made = Volume.parse(body)
      if (volumes.has(made.metadata.name)) return refusal(409, 'AlreadyExists')
      return { status: 201, body: store(made, 'Available') }
    }
    const before = named
    if (before === undefined) return refusal(404, 'NotFound')
    const after = Volume.parse(merge(before, body))
    if (after.metadata.resourceVersion !== before.metadata.resourceVersion) {
      conflicts += 1
      return refusal(409, 'Conflict')
    }
    return { status: 200, body: store(after, 'Available') }
  }
  const server = http.createServer((request, response) => {
    void text(request).then((body) => {
      const name = /persistentvolumes\/([^/?]+)/.exec(request.url ?? '')?.[1]
      const said = answer(request.method ?? '', name, body === '' ? undefined : JSON.parse(body))
      response.writeHead(said.status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(said.body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    volumes,
    bind(claim) {
      for (const volume of volumes.values())
        if (volume.spec.claimRef?.name === claim) store({ ...volume, spec: bound(volume) }, 'Bound')
    },
    release(claim) {
      for (const volume of volumes.values()) if (volume.spec.claimRef?.name === claim) store(volume, 'Released')
    },
    get conflicts() {
      return conflicts
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

/** The binder gives a claimed volume the uid of its claim. */
function bound({ spec }: Volume): Volume['spec'] {
  return spec.claimRef === undefined ? spec : { ...spec, claimRef: { ...spec.claimRef, uid: `uid-${spec.claimRef.name}` } }
}

function refusal(code: number, reason: string): { status: number; body: unknown } {
  return { status: code, body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: reason } }
}

/** RFC 7386. */
function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = merge(result[key], value)
  }
  return result
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
