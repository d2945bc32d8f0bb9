import { once } from 'node:events'
import http from 'node:http'
import { silentLog } from '@windlass/kit'
import { openKube, type Kube } from '@windlass/kube'

export interface KubeCall {
  /** Such as `POST pods/engine-1` or `DELETE persistentvolumeclaims/x`. */
  readonly line: string
  readonly method: string
  /** The collection, such as `pods`. */
  readonly plural: string
  readonly name: string
  readonly body: unknown
  readonly contentType: string | undefined
  readonly token: string | undefined
}

/** Replaces the usual answer to a call: a status, and the reason that the API server would give, or the page of a proxy in front of it. */
export type Answer = { readonly status: number; readonly reason?: string; readonly page?: string } | undefined

/** An API server with one node that keeps pods and claims in memory and fails calls on demand. */
export interface FakeKube extends AsyncDisposable {
  readonly url: string
  readonly calls: KubeCall[]
  /** Returns the calls that change objects, without those that list, watch and read. */
  writes(): KubeCall[]
  /** Calls in progress now, and their maximum so far. */
  readonly inFlight: { now: number; most: number }
  readonly objects: Map<string, Record<string, unknown>>
  /** Decides about a call before it is carried out; may wait. */
  intercept: (call: KubeCall) => Answer | Promise<Answer>
  /** Allocatable cores of its node. */
  cores: number
  /** True while watches get no changes, as on a connection that is open at one end only. */
  isSilent: boolean
  /** Sets fields of an object, such as its status, and tells the watches. */
  change(key: string, fields: Record<string, unknown>): void
  /** Removes an object and tells the watches. */
  remove(key: string): void
  kube(): Kube
}

/** Enough for every test that is not about them. */
const CORES = 1_000

export async function openFakeKube(): Promise<FakeKube> {
  const calls: KubeCall[] = []
  const objects = new Map<string, Record<string, unknown>>()
  const watches = new Set<{ readonly plural: string; readonly response: http.ServerResponse }>()
  const inFlight = { now: 0, most: 0 }
  const kubes: Kube[] = []
  let version = 1
  const server = http.createServer((request, response) => {
    void answer(request).then(({ status, body, watched }) => {
      inFlight.now -= 1
      if (watched !== undefined) return openWatch(watched, response)
      const isPage = typeof body === 'string'
      const type = isPage ? 'text/html' : 'application/json'
      response.writeHead(status, { 'content-type': type }).end(isPage ? body : JSON.stringify(body))
    })
  })

  function openWatch(plural: string, response: http.ServerResponse): void {
    const watch = { plural, response }
    watches.add(watch)
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    response.on('close', () => watches.delete(watch))
  }

  function tellWatches(key: string, type: string, object: Record<string, unknown>): void {
    if (fake.isSilent) return
    for (const { plural, response } of watches)
      if (key.startsWith(`${plural}/`)) response.write(`${JSON.stringify({ type, object })}\n`)
  }

  async function answer(request: http.IncomingMessage): Promise<{ status: number; body: unknown; watched?: string }> {
    inFlight.now += 1
    inFlight.most = Math.max(inFlight.most, inFlight.now)
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const text = Buffer.concat(parts).toString('utf8')
    const call = toCall(request, text === '' ? undefined : JSON.parse(text))
    calls.push(call)
    const override = await fake.intercept(call)
    if (override?.page !== undefined) return { status: override.status, body: override.page }
    if (override !== undefined) return refuse(override.status, override.reason ?? '', `${call.line} is refused`)
    if (/[?&]watch=true/.test(request.url ?? '')) return { status: 200, body: undefined, watched: call.plural }
    return carryOut(call)
  }

  function carryOut({ method, plural, name, body }: KubeCall): { status: number; body: unknown } {
    const key = `${plural}/${name}`
    const found = objects.get(key)
    if (method === 'POST') {
      if (found !== undefined) return refuse(409, 'AlreadyExists', `${key} already exists`)
      const object = withVersion(body as Record<string, unknown>)
      objects.set(key, object)
      tellWatches(key, 'ADDED', object)
      return { status: 201, body: object }
    }
    if (method === 'GET' && name === '') {
      const items =
        plural === 'nodes'
          ? [toNode(fake.cores)]
          : [...objects].filter(([each]) => each.startsWith(`${plural}/`)).map(([, object]) => object)
      return { status: 200, body: { metadata: { resourceVersion: String(version) }, items } }
    }
    if (plural === 'nodes' && method === 'GET')
      return { status: 200, body: { apiVersion: 'v1', kind: 'Node', ...toNode(fake.cores) } }
    if (found === undefined) return refuse(404, 'NotFound', `${key} not found`)
    if (method === 'DELETE') fake.remove(key)
    if (method === 'PATCH' && !Array.isArray(body)) {
      interface Known {
        readonly resourceVersion: string
        readonly annotations?: object
        readonly labels?: object
      }
      const patch = body as { metadata?: Partial<Known>; spec?: object; data?: object }
      const known = found['metadata'] as Known
      if (patch.metadata?.resourceVersion !== undefined && patch.metadata.resourceVersion !== known.resourceVersion)
        return refuse(409, 'Conflict', `${key} was changed`)
      const metadata = {
        ...known,
        annotations: { ...known.annotations, ...patch.metadata?.annotations },
        labels: { ...known.labels, ...patch.metadata?.labels },
      }
      const data = patch.data === undefined ? {} : { data: { ...(found['data'] as object), ...patch.data } }
      objects.set(key, withVersion({ ...found, metadata, spec: { ...(found['spec'] as object), ...patch.spec }, ...data }))
    }
    return { status: 200, body: objects.get(key) ?? found }
  }

  function withVersion(object: Record<string, unknown>): Record<string, unknown> {
    version += 1
    const metadata = object['metadata'] as { readonly uid?: string }
    return { ...object, metadata: { uid: `uid-${version}`, ...metadata, resourceVersion: String(version) } }
  }

  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  const fake: FakeKube = {
    url,
    calls,
    writes: () => calls.filter(({ method }) => method !== 'GET'),
    inFlight,
    objects,
    intercept: () => undefined,
    cores: CORES,
    isSilent: false,
    change(key, fields) {
      const object = withVersion({ ...objects.get(key), ...fields })
      objects.set(key, object)
      tellWatches(key, 'MODIFIED', object)
    },
    remove(key) {
      const object = objects.get(key)
      objects.delete(key)
      if (object !== undefined) tellWatches(key, 'DELETED', object)
    },
    kube() {
      const kube = openKube({ access: { server: url, insecure: false, namespace: 'builds' }, log: silentLog })
      kubes.push(kube)
      return kube
    },
    async [Symbol.asyncDispose]() {
      for (const kube of kubes) kube.close()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return fake
}

/** Returns a node that is ready. */
function toNode(cores: number): Record<string, unknown> {
  const status = { allocatable: { cpu: String(cores) }, conditions: [{ type: 'Ready', status: 'True' }] }
  return { metadata: { name: 'node-1' }, status }
}

function toCall(request: http.IncomingMessage, body: unknown): KubeCall {
  const [path = ''] = (request.url ?? '').split('?')
  const [plural = '', named] = path
    .replace(/^\/(api|apis\/[^/]+)\/v1\/(namespaces\/[^/]+\/)?/, '')
    .split('/')
    .map(decodeURIComponent)
  const given = (body as { metadata?: { name?: string } } | undefined)?.metadata?.name
  const name = named ?? given ?? ''
  const method = request.method ?? ''
  const { authorization, 'content-type': contentType } = request.headers
  return {
    line: `${method} ${plural}/${name}`,
    method,
    plural,
    name,
    body,
    contentType,
    token: authorization?.replace('Bearer ', ''),
  }
}

function refuse(status: number, reason: string, message: string): { status: number; body: unknown } {
  return { status, body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, reason, code: status } }
}
