/**
 * A small part of the Kubernetes API over HTTP: persistent volumes and claims with list, get, create, delete and merge patch under a resourceVersion
 * (kubernetes.io/docs/reference/using-api/api-concepts), and the volume controller, which updates phases with a delay. For tests of the disk pool
 * with hundreds of claims. e2e/cluster uses the real API.
 */
import { randomUUID } from 'node:crypto'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { z } from 'zod'

const Resource = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), uid: z.string().optional(), resourceVersion: z.string().optional() }),
  spec: z.looseObject({ claimRef: z.looseObject({ uid: z.string().nullish() }).optional() }).prefault({}),
  status: z.looseObject({ phase: z.string().optional() }).optional(),
})
type Resource = z.infer<typeof Resource>

export interface VolumeApi extends AsyncDisposable {
  readonly port: number
  readonly volumes: ReadonlyMap<string, Resource>
  /** Number of patches that were refused because of a concurrent change. */
  readonly conflicts: number
}

interface Said {
  readonly status: number
  readonly body: unknown
}

/** `lagMs`: the delay of the controller. Milliseconds. */
export async function openVolumeApi(lagMs: number): Promise<VolumeApi> {
  const store = new Store()
  const controller = setInterval(() => store.reconcile(), lagMs)
  const server = http.createServer((request, response) => {
    void text(request).then((body) => {
      const said = store.answer(request.method ?? '', request.url ?? '', body === '' ? undefined : JSON.parse(body))
      response.writeHead(said.status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(said.body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    volumes: store.volumes,
    get conflicts() {
      return store.conflicts
    },
    async [Symbol.asyncDispose]() {
      clearInterval(controller)
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

class Store {
  readonly volumes = new Map<string, Resource>()
  readonly #claims = new Map<string, Resource>()
  conflicts = 0
  #version = 0

  answer(method: string, url: string, body: unknown): Said {
    const [, kind, name, part] =
      /\/(persistentvolumes|persistentvolumeclaims)(?:\/([^/?]+))?(?:\/(status))?(?:\?|$)/.exec(url) ?? []
    const all = kind === 'persistentvolumes' ? this.volumes : this.#claims
    if (kind === undefined) return refusal(404, 'NotFound')
    if (method === 'POST') return this.#create(all, Resource.parse(body))
    if (name === undefined)
      return { status: 200, body: { metadata: { resourceVersion: String(this.#version) }, items: [...all.values()] } }
    const found = all.get(name)
    if (found === undefined) return refusal(404, 'NotFound')
    if (method === 'DELETE') all.delete(name)
    if (method !== 'PATCH') return { status: 200, body: found }
    return this.#patch(
      all,
      found,
      part === 'status' ? { status: pick(body, 'status') } : { ...toObject(body), status: undefined },
    )
  }

  /** Phases follow the facts. */
  reconcile(): void {
    const uids = new Set([...this.#claims.values()].map(({ metadata }) => metadata.uid))
    for (const volume of this.volumes.values()) {
      const { claimRef } = volume.spec
      const phase = claimRef === undefined ? 'Available' : uids.has(claimRef.uid ?? '') ? 'Bound' : 'Released'
      if (volume.status?.phase !== phase) this.#put(this.volumes, { ...volume, status: { phase } })
    }
  }

  #create(all: Map<string, Resource>, made: Resource): Said {
    if (all.has(made.metadata.name)) return refusal(409, 'AlreadyExists')
    return {
      status: 201,
      body: this.#put(all, { ...made, metadata: { ...made.metadata, uid: randomUUID() }, status: { phase: 'Pending' } }),
    }
  }

  #patch(all: Map<string, Resource>, before: Resource, patch: Record<string, unknown>): Said {
    const after = Resource.parse(merge(before, JSON.parse(JSON.stringify(patch))))
    if (after.metadata.resourceVersion !== before.metadata.resourceVersion) {
      this.conflicts += 1
      return refusal(409, 'Conflict')
    }
    return { status: 200, body: this.#put(all, after) }
  }

  #put(all: Map<string, Resource>, resource: Resource): Resource {
    this.#version += 1
    const stored = { ...resource, metadata: { ...resource.metadata, resourceVersion: String(this.#version) } }
    all.set(resource.metadata.name, stored)
    return stored
  }
}

function refusal(code: number, reason: string): Said {
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

function toObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}

function pick(value: unknown, key: string): unknown {
  return toObject(value)[key]
}
