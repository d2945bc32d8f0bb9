/** An HTTP server that answers like the API server of a cluster, for Secrets, ConfigMaps and applications of Argo CD. What it has is in memory. */
import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import type { KubeObject } from '@windlass/kube'

export interface KubeApi extends AsyncDisposable {
  readonly url: string
  /** Objects by `secrets/NAME`, `configmaps/NAME` or `applications/NAME`, in their namespace. */
  readonly objects: Map<string, KubeObject>
  /** Called before each change; may change objects first, as another client would. */
  beforePatch: (name: string) => void
}

export const NAMESPACE = 'prod-runtime'
const PATH = new RegExp(
  `^/api(?:s/argoproj\\.io)?/v1(?:alpha1)?/namespaces/${NAMESPACE}/(secrets|configmaps|applications)(?:/([a-z0-9.-]+))?$`,
)

export async function startKubeApi(): Promise<KubeApi> {
  const objects = new Map<string, KubeObject>()
  let version = 0
  const stamped = (object: KubeObject): KubeObject => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: String((version += 1)) },
  })
  const server = http.createServer((request, response) => {
    void answer(request).then(
      ([status, body]) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })

  async function answer(request: http.IncomingMessage): Promise<readonly [number, unknown]> {
    const url = new URL(request.url ?? '/', 'http://kube.test')
    const [, kind = '', name] = PATH.exec(url.pathname) ?? []
    if (kind === '') return failed(403, 'Forbidden')
    const sent = await text(request)
    const body: KubeObject | undefined = sent === '' ? undefined : JSON.parse(sent)
    if (request.method === 'POST' && body !== undefined) {
      const key = `${kind}/${body.metadata.name}`
      if (objects.has(key)) return failed(409, 'AlreadyExists')
      objects.set(key, stamped(body))
      return [201, objects.get(key)]
    }
    if (name === undefined) return [200, listOf(kind, url.searchParams, request.headers.accept ?? '')]
    const key = `${kind}/${name}`
    if (request.method === 'PATCH' && objects.has(key)) api.beforePatch(name)
    const found = objects.get(key)
    if (found === undefined) return failed(404, 'NotFound')
    if (request.method === 'DELETE') objects.delete(key)
    if (request.method === 'PATCH' && body !== undefined) {
      const wanted = body.metadata.resourceVersion
      if (wanted !== undefined && wanted !== found.metadata.resourceVersion) return failed(409, 'Conflict')
      objects.set(key, stamped(merged(found, body) as KubeObject))
    }
    return [200, objects.get(key) ?? found]
  }

  function listOf(kind: string, query: URLSearchParams, accept: string): object {
    const labels = (query.get('labelSelector') ?? '').split(',').map((label) => label.split('='))
    const items = [...objects]
      .filter(([key]) => key.startsWith(`${kind}/`))
      .map(([, object]) => object)
      .filter(({ metadata }) => labels.every(([label = '', value]) => metadata.labels?.[label] === value))
    const isBare = accept.includes('PartialObjectMetadataList')
    return { metadata: { resourceVersion: String(version) }, items: isBare ? items.map(({ metadata }) => ({ metadata })) : items }
  }

  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const api: KubeApi = {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    objects,
    beforePatch: () => undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
  return api
}

function failed(code: number, reason: string): readonly [number, unknown] {
  return [code, { kind: 'Status', apiVersion: 'v1', reason, message: `${reason}, says the API server`, code }]
}

/** Merges a patch (RFC 7386). */
function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const result: Record<string, unknown> = { ...(target as Record<string, unknown>) }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = merged(result[key], value)
  }
  return result
}
