/**
 * A cluster with Argo CD, for tests without a cluster: an HTTP server that answers like its API server for applications, and like the server of Argo CD. The controller of Argo CD is
 * played: it begins an operation and ends a comparison by itself, and the test says how an operation ends. The group `argocd` has the real ones.
 */
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { playRollouts, type PlayedRollouts } from './played-rollouts.ts'

export const NAMESPACE = 'argocd'
export const ARGO_TOKEN = 'token-of-argo-cd'

/** An Application, as far as the controller changes it. */
export interface Manifest {
  metadata: { name: string; resourceVersion?: string; annotations?: Record<string, string>; [field: string]: unknown }
  spec: Record<string, unknown>
  operation?: Operation | undefined
  status: Record<string, unknown> & { operationState?: OperationState | null; history?: object[] }
  [field: string]: unknown
}

interface Operation {
  readonly sync?: Readonly<Record<string, unknown>>
  readonly initiatedBy?: object
}

interface OperationState {
  readonly phase: string
  readonly operation: Operation
  readonly startedAt: string
  readonly finishedAt?: string
  readonly message?: string
  readonly syncResult?: object
}

export interface ArgoCluster extends AsyncDisposable {
  readonly url: string
  /** Operations in the order in which they were written, without who started them. */
  readonly operations: Readonly<Record<string, unknown>>[]
  /** Kinds of comparisons that were asked for. */
  readonly refreshes: string[]
  /** What the server of Argo CD answers, by the last part of the path; `application` for the application itself. A number is the status of a refusal. */
  readonly answers: Map<ArgoPart, object | number | ((query: URLSearchParams) => object | number)>
  /** The logs of containers, as their nodes have them, by `POD/CONTAINER`. */
  readonly logs: Map<string, readonly { readonly at: string; readonly text: string }[]>
  /** Rollouts of all applications. */
  readonly rollouts: PlayedRollouts
  put(app: object): void
  get(name: string): Manifest
  /** Changes an application, as the controller does. */
  change(name: string, change: (app: Manifest) => void): void
  /** Ends the operation that runs. */
  finish(name: string, end: { readonly phase: string; readonly message?: string; readonly syncResult?: object }): void
}

const PATH = new RegExp(`^/apis/argoproj.io/v1alpha1/namespaces/${NAMESPACE}/applications(?:/([a-z0-9.-]+))?$`)
/** The server of Argo CD. */
const ARGO_API = '/api/v1/'
const ARGO = /^\/api\/v1\/applications\/([a-z0-9.-]+)(?:\/(resource-tree|managed-resources|resource|events|logs))?$/
/** The parts whose answers a test gives. */
type ArgoPart = 'application' | 'resource-tree' | 'managed-resources' | 'resource' | 'events'
const REFRESH = 'argocd.argoproj.io/refresh'

export async function startArgoCluster(): Promise<ArgoCluster> {
  const apps = new Map<string, Manifest>()
  const watchers = new Set<(app: Manifest) => void>()
  let version = 100

  const save = (app: Manifest): void => {
    version += 1
    app.metadata.resourceVersion = String(version)
    apps.set(app.metadata.name, app)
    for (const tell of watchers) tell(app)
  }
  const change: ArgoCluster['change'] = (name, edit) => {
    const app = structuredClone(cluster.get(name))
    edit(app)
    save(app)
  }

  /** What the controller does after a change of somebody else. */
  function react(name: string): void {
    const app = apps.get(name)
    if (app === undefined) return
    const { operation } = app
    const kind = app.metadata.annotations?.[REFRESH]
    if (operation !== undefined && operation !== null) {
      cluster.operations.push(operation.sync ?? {})
      change(name, (one) => {
        delete one.operation
        one.status.operationState = { phase: 'Running', operation, startedAt: new Date().toISOString() }
      })
    }
    if (kind !== undefined) {
      cluster.refreshes.push(kind)
      change(name, (one) => void delete one.metadata.annotations?.[REFRESH])
    }
    if (app.status.operationState?.phase === 'Terminating')
      cluster.finish(name, { phase: 'Failed', message: 'Operation terminated' })
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://cluster.test')
    const reply = (status: number, body: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (url.pathname.startsWith(ARGO_API) && request.headers.authorization !== `Bearer ${ARGO_TOKEN}`)
      return reply(401, { message: 'no session information' })
    const ofRollouts = await cluster.rollouts.answer(url, request)
    if (ofRollouts !== undefined) return reply(200, ofRollouts)
    const [, argoName, part = 'application'] = ARGO.exec(url.pathname) ?? []
    if (argoName !== undefined) {
      if (part === 'logs') return sendLog(url.searchParams, response)
      const given = cluster.answers.get(part as ArgoPart)
      const body = typeof given === 'function' ? given(url.searchParams) : given
      if (typeof body === 'number')
        return reply(body, { error: 'permission denied', code: 7, message: 'permission denied: applications, get' })
      return reply(200, body ?? {})
    }
    const [isApplications, name] = PATH.exec(url.pathname) ?? []
    // Nothing else is in the namespace.
    if (isApplications === undefined) return reply(200, { metadata: { resourceVersion: '1' }, items: [] })
    if (name === undefined) return list(url.searchParams, { request, response, reply })
    const app = apps.get(name)
    if (app === undefined) return reply(404, { kind: 'Status', apiVersion: 'v1', reason: 'NotFound', code: 404 })
    if (request.method !== 'PATCH') return reply(200, app)
    const patch: Manifest = JSON.parse(await text(request))
    if (patch.metadata.resourceVersion !== apps.get(name)?.metadata.resourceVersion)
      return reply(409, { kind: 'Status', apiVersion: 'v1', reason: 'Conflict', code: 409 })
    // The patch of an object is one.
    save(merged(app, patch) as Manifest)
    reply(200, apps.get(name) ?? {})
    return void setImmediate(() => react(name))
  }

  function sendLog(query: URLSearchParams, response: ServerResponse): void {
    const podName = query.get('podName') ?? ''
    // Argo CD answers for a pod that is gone as for one that has written nothing.
    const lines = cluster.logs.get(`${podName}/${query.get('container') ?? ''}`) ?? []
    const from = Date.now() - Number(query.get('sinceSeconds') ?? Infinity) * 1000
    const shown = lines.filter(({ at }) => Date.parse(at) >= from).slice(-Number(query.get('tailLines')))
    const entries = [...shown.map(({ at, text: content }) => ({ content, timeStampStr: at, podName })), { last: true }]
    response.writeHead(200, { 'content-type': 'application/json' })
    return void response.end(entries.map((result) => `${JSON.stringify({ result })}\n`).join(''))
  }

  interface Listing {
    readonly request: IncomingMessage
    readonly response: ServerResponse
    readonly reply: (status: number, body: object) => void
  }

  function list(query: URLSearchParams, { request, response, reply }: Listing): void {
    const wanted = /^metadata\.name=(.+)$/.exec(query.get('fieldSelector') ?? '')?.[1]
    const isWanted = ({ metadata }: Manifest): boolean => wanted === undefined || metadata.name === wanted
    if (query.get('watch') !== 'true')
      return reply(200, { metadata: { resourceVersion: String(version) }, items: [...apps.values()].filter(isWanted) })
    const since = Number(query.get('resourceVersion') ?? 0)
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    const tell = (app: Manifest): void => {
      if (isWanted(app)) response.write(`${JSON.stringify({ type: 'MODIFIED', object: app })}\n`)
    }
    for (const app of apps.values()) if (Number(app.metadata.resourceVersion) > since) tell(app)
    watchers.add(tell)
    request.once('close', () => watchers.delete(tell))
  }

  const server = http.createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const cluster: ArgoCluster = {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    operations: [],
    refreshes: [],
    answers: new Map(),
    logs: new Map(),
    rollouts: playRollouts(),
    put: (app) => save(structuredClone(app) as Manifest),
    get(name) {
      const app = apps.get(name)
      if (app === undefined) throw new Error(`there is no application ${name}`)
      return app
    },
    change,
    finish(name, end) {
      change(name, ({ status }) => {
        const state = status.operationState
        if (state === undefined || state === null) throw new Error('no operation is in progress')
        status.operationState = { ...state, ...end, finishedAt: new Date().toISOString() }
      })
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
  return cluster
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
