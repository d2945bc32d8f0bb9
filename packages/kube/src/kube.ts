/** The client over REST. Watching is in `watch.ts`, commands in containers are in `exec.ts`. */
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { defined, fault, isFault, retry, systemClock, type Clock, type Logger } from '@windlass/kit'
import type { WebSocket } from 'ws'
import { z } from 'zod'
import type {
  DeleteOptions,
  FollowLogsOptions,
  Kube,
  KubeOptions,
  LogsOptions,
  PatchOptions,
  Right,
  Selection,
  ServicePort,
} from './client.ts'
import type { ClusterAccess } from './config.ts'
import { createOrAdopt } from './create-or-adopt.ts'
import { attach, execute, type Attachment, type AttachOptions, type ExecOptions, type Execution } from './exec.ts'
import { openKubeHttp, toAnswer, type KubeAnswer, type KubeHttp, type KubeRequest } from './http.ts'
import { rateLimit } from './limit.ts'
import { KINDS, KubeObject, pathOf, refOf, type ObjectRef } from './objects.ts'
import { refusal } from './refusal.ts'
import { watchObjects, type Change, type WatchOptions } from './watch.ts'
import { openSocket, type SocketRequest } from './websocket.ts'

/** Media types for metadata only, of a list and of the changes of a watch. */
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
const PATCH_FORM = { merge: 'application/merge-patch+json', json: 'application/json-patch+json' } as const
/** Attempts of a call that the API server refuses as too busy; after them the caller gets the error. */
const BUSY_ATTEMPTS = 5
/** Time for the answer of a Service. Milliseconds. */
const SERVICE_MS = 15_000
/** Maximum number of objects per page of a list. */
const PAGE = 500

/** Opens a client of a cluster; sends nothing yet. */
export function openKube(options: KubeOptions): Kube {
  return new RestKube(options)
}

const ListPage = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().optional() }),
  // Null in an empty list of metadata.
  items: z.array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) })).nullish(),
})

class RestKube implements Kube {
  readonly namespace: string
  readonly #access: ClusterAccess
  readonly #http: KubeHttp
  readonly #clock: Clock
  readonly #log: Logger
  readonly #limit: ReturnType<typeof rateLimit>

  constructor(options: KubeOptions) {
    this.namespace = options.access.namespace
    this.#access = options.access
    this.#http = openKubeHttp(options.access)
    this.#clock = options.clock ?? systemClock
    this.#log = options.log
    this.#limit = rateLimit({ qps: options.qps ?? 200, burst: options.burst ?? 400, clock: this.#clock })
  }

  async apply(object: KubeObject, sameLabels: readonly string[], signal?: AbortSignal): Promise<KubeObject> {
    const isSame = (existing: KubeObject): boolean =>
      sameLabels.every((label) => existing.metadata.labels?.[label] === object.metadata.labels?.[label])
    return (await createOrAdopt(this, object, isSame, signal)).object
  }

  async create(object: KubeObject, signal?: AbortSignal): Promise<KubeObject> {
    const path = pathOf({ ...refOf(object), name: undefined })
    return toObject(await this.#call({ method: 'POST', path, body: object, signal }))
  }

  async find(ref: ObjectRef, signal?: AbortSignal): Promise<KubeObject | undefined> {
    return orAbsent(async () => toObject(await this.#call({ method: 'GET', path: pathOf(ref), signal })))
  }

  async list(selection: Selection, signal?: AbortSignal): Promise<KubeObject[]> {
    return (await this.#list(selection, signal)).objects
  }

  async #list(selection: Selection, signal?: AbortSignal): Promise<{ objects: KubeObject[]; resourceVersion: string }> {
    const objects: KubeObject[] = []
    let next: string | undefined
    for (;;) {
      const query = toQuery({ ...selectors(selection), limit: PAGE, continue: next })
      const accept = selection.content === 'metadata' ? METADATA_LIST : undefined
      const answer = await this.#call({ method: 'GET', path: pathOf(selection) + query, signal, accept })
      const page = ListPage.parse(JSON.parse(answer.text))
      // Items of a list have no kind and version.
      for (const item of page.items ?? []) {
        // They name each field of the object, such as all nodes of a workflow, and the whole list is held.
        const { managedFields: _fields, ...metadata } = item.metadata
        const { apiVersion } = KINDS[selection.kind]
        const kept = selection.content === 'metadata' ? { metadata } : item
        objects.push(KubeObject.parse({ ...kept, apiVersion, kind: selection.kind }))
      }
      next = page.metadata.continue
      if (next === undefined || next === '') return { objects, resourceVersion: page.metadata.resourceVersion }
    }
  }

  async delete(ref: ObjectRef, { graceSeconds, uid, signal }: DeleteOptions = {}): Promise<boolean> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: 'Background',
      ...defined({ gracePeriodSeconds: graceSeconds }),
      ...(uid !== undefined && { preconditions: { uid } }),
    }
    const answer = await orAbsent(() => this.#call({ method: 'DELETE', path: pathOf(ref), body, signal }))
    return answer !== undefined
  }

  async patch(
    ref: ObjectRef,
    patch: Record<string, unknown> | readonly unknown[],
    { part, form = 'merge', signal }: PatchOptions = {},
  ): Promise<KubeObject> {
    const path = pathOf(ref) + (part === undefined ? '' : `/${part}`)
    return toObject(await this.#call({ method: 'PATCH', path, body: patch, contentType: PATCH_FORM[form], signal }))
  }

  watch(selection: Selection, options: Omit<WatchOptions, 'selection' | 'clock' | 'log'>): AsyncGenerator<Change> {
    const source = {
      list: () => this.#list(selection, options.signal),
      open: (resourceVersion: string, timeoutSeconds: number) => {
        const query = { ...selectors(selection), watch: true, allowWatchBookmarks: true, resourceVersion, timeoutSeconds }
        const accept = selection.content === 'metadata' ? METADATA : undefined
        return this.#http.stream({ method: 'GET', path: pathOf(selection) + toQuery(query), signal: options.signal, accept })
      },
    }
    return watchObjects(source, { ...options, selection, clock: this.#clock, log: this.#log })
  }

  async logs(pod: ObjectRef, { container, tailLines, previous, signal }: LogsOptions): Promise<string> {
    const query = toQuery({ container, tailLines, limitBytes: 65_536, ...(previous === true && { previous: true }) })
    return (await this.#call({ method: 'GET', path: `${pathOf(pod)}/log${query}`, signal })).text
  }

  followLogs(pod: ObjectRef, { signal, follow = true, ...where }: FollowLogsOptions): Promise<Readable> {
    const request = {
      method: 'GET',
      path: `${pathOf(pod)}/log${toQuery({ ...where, follow, timestamps: true })}`,
      signal,
    } as const
    return this.#paced(request, async () => {
      const answer = await this.#http.stream(request)
      return (answer.statusCode ?? 0) < 300 ? answer : this.#refuse(toAnswer(answer, await text(answer)), request)
    })
  }

  exec(pod: ObjectRef, options: ExecOptions): Promise<Execution> {
    return execute((request) => this.#connect(request), this.#clock, pod, options)
  }

  attach(pod: ObjectRef, options: AttachOptions = {}): Promise<Attachment> {
    return attach((request) => this.#connect(request), this.#clock, pod, options)
  }

  async events(ref: ObjectRef): Promise<string[]> {
    const fields = `involvedObject.kind=${ref.kind},involvedObject.name=${ref.name}`
    const found = await this.list({ kind: 'Event', namespace: ref.namespace, fields })
    const shaped = found.map((event) => EventShape.parse(event)).toSorted((a, b) => timeOf(a).localeCompare(timeOf(b)))
    return shaped.map(({ reason, message }) => `${reason}: ${message}`)
  }

  async version(): Promise<string> {
    const answer = await this.#call({ method: 'GET', path: '/version' })
    return z.object({ gitVersion: z.string() }).parse(JSON.parse(answer.text)).gitVersion
  }

  async fromService({ namespace, name, port, isSecure }: ServicePort, path: string): Promise<string> {
    const service = `${pathOf({ kind: 'Service', namespace })}/${isSecure ? 'https' : 'http'}:${encodeURIComponent(name)}:${port}`
    const answer = await this.#call({ method: 'GET', path: `${service}/proxy${encodeURI(path)}`, timeoutMs: SERVICE_MS })
    return answer.text
  }

  async can(right: Right): Promise<boolean> {
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: right },
    }
    const answer = await this.#call({ method: 'POST', path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', body })
    return z.object({ status: z.object({ allowed: z.boolean() }) }).parse(JSON.parse(answer.text)).status.allowed
  }

  async issueToken(account: ObjectRef, seconds: number): Promise<{ token: string; expiresAt: string }> {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: seconds } }
    const answer = await this.#call({ method: 'POST', path: `${pathOf(account)}/token`, body })
    const { status } = z
      .object({ status: z.object({ token: z.string(), expirationTimestamp: z.string() }) })
      .parse(JSON.parse(answer.text))
    return { token: status.token, expiresAt: status.expirationTimestamp }
  }

  close(): void {
    this.#http.close()
  }

  #call(request: KubeRequest): Promise<KubeAnswer> {
    return this.#paced(request, async () => {
      const answer = await this.#http.send(request)
      return answer.status < 300 ? answer : this.#refuse(answer, request)
    })
  }

  #connect(request: SocketRequest): Promise<WebSocket> {
    const { path, signal } = request
    return this.#paced({ method: 'GET', path, signal }, async () => {
      const opened = await openSocket(this.#access, request)
      return 'status' in opened ? this.#refuse(opened, { method: 'GET', path, signal }) : opened
    })
  }

  /** Makes one call under the rate limit. Retries if the API server is too busy. */
  async #paced<T>(request: KubeRequest, work: () => Promise<T>): Promise<T> {
    const wait = { clock: this.#clock, signal: request.signal, tries: BUSY_ATTEMPTS, baseMs: 100, maxMs: 2_000 }
    return retry({ ...wait, retryIf: (error) => error instanceof BusyError }, async () => {
      await this.#limit.pass(request.method === 'DELETE', request.signal)
      return work()
    }).catch((error: unknown) => {
      if (error instanceof BusyError) throw fault('cluster-unreachable', { message: 'The Kubernetes API is too busy.' }, error)
      throw error
    })
  }

  /** Throws the fault of an answer. */
  async #refuse(answer: KubeAnswer, request: KubeRequest): Promise<never> {
    if (answer.status !== 429) throw refusal(answer, { ...request, access: this.#access, now: this.#clock.now() })
    await this.#clock.sleep(Math.min(answer.retryAfterMs ?? 0, 10_000), request.signal)
    throw new BusyError(answer.text)
  }
}

class BusyError extends Error {}

const EventShape = z.looseObject({
  reason: z.string().default(''),
  message: z.string().default(''),
  lastTimestamp: z.string().nullish(),
  eventTime: z.string().nullish(),
})

function timeOf(event: z.infer<typeof EventShape>): string {
  return event.lastTimestamp ?? event.eventTime ?? ''
}

function toObject(answer: KubeAnswer): KubeObject {
  return KubeObject.parse(JSON.parse(answer.text))
}

async function orAbsent<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    if (isFault(error, 'not-found')) return undefined
    throw error
  }
}

function selectors(selection: Selection): Record<string, string | undefined> {
  return { labelSelector: selection.labels, fieldSelector: selection.fields }
}

function toQuery(query: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined)
  if (pairs.length === 0) return ''
  return '?' + pairs.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join('&')
}
