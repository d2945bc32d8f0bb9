/**
 * Kubernetes in a few verbs. Objects are plain JSON; the words of the API server reach the caller unchanged.
 * Not here: what the objects mean, and keeping an eye on them (`watch.ts`).
 */
import { fault, isFault, retry, systemClock, type Clock, type Logger } from '@windlass/kit'
import { z } from 'zod'
import type { ClusterAccess } from './config.ts'
import { openKubeHttp, Status, type KubeAnswer, type KubeHttp, type KubeRequest } from './http.ts'
import { rateLimit } from './limit.ts'
import { KINDS, KubeObject, pathOf, refOf, type Kind, type ObjectRef } from './objects.ts'
import { watchObjects, type Change, type WatchOptions } from './watch.ts'

export interface KubeOptions {
  readonly access: ClusterAccess
  readonly log: Logger
  readonly clock?: Clock
  /** Calls per second in the long run, and at once after a pause. */
  readonly qps?: number
  readonly burst?: number
}

export interface Selection {
  readonly kind: Kind
  readonly namespace?: string | undefined
  /** Such as `windlass.io/build=65…` or `windlass.io/build`. */
  readonly labels?: string | undefined
  /** Such as `involvedObject.name=x`. */
  readonly fields?: string | undefined
  /** `metadata`: the objects come without spec, data and status, which then never reach this process. */
  readonly content?: 'metadata' | undefined
}

/** What one may be allowed to do (SelfSubjectAccessReview, `resourceAttributes`). */
export interface Right {
  readonly verb: string
  /** API group; empty for the core one. */
  readonly group: string
  readonly resource: string
  readonly subresource?: string | undefined
  /** Absent: in the whole cluster. */
  readonly namespace?: string | undefined
}

export interface DeleteOptions {
  /** Seconds between TERM and KILL of a pod; 0 also drops the object without waiting for its node. */
  readonly graceSeconds?: number
  /** Delete only this incarnation of the name. */
  readonly uid?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export interface PatchOptions {
  /** The subresource to patch instead of the object. */
  readonly part?: 'status'
  /** `json`: the patch is a list of operations (RFC 6902). */
  readonly form?: 'merge' | 'json'
  readonly signal?: AbortSignal | undefined
}

export interface Kube {
  /** Namespace of the access. */
  readonly namespace: string
  /** Creates an object. One of that name that carries the same values for `sameLabels` counts as created; another is a `conflict`. */
  apply(object: KubeObject, sameLabels: readonly string[], signal?: AbortSignal): Promise<KubeObject>
  /** Creates an object; one of that name is a `conflict` whose `kubeReason` is `AlreadyExists`. */
  create(object: KubeObject, signal?: AbortSignal): Promise<KubeObject>
  find(ref: ObjectRef, signal?: AbortSignal): Promise<KubeObject | undefined>
  list(selection: Selection, signal?: AbortSignal): Promise<KubeObject[]>
  /** False when there was none. The object may linger in Terminating. */
  delete(ref: ObjectRef, options?: DeleteOptions): Promise<boolean>
  /** Merge patch (RFC 7386). With `metadata.resourceVersion` in it, a `conflict` says that the object was changed meanwhile. */
  patch(ref: ObjectRef, patch: Record<string, unknown> | readonly unknown[], options?: PatchOptions): Promise<KubeObject>
  /** Lists, then follows changes until the signal is aborted; survives everything in between. */
  watch(selection: Selection, options: Omit<WatchOptions, 'selection' | 'clock' | 'log'>): AsyncGenerator<Change>
  /** Last lines of a container: for diagnostics only, the kubelet drops lines of a busy one. */
  logs(pod: ObjectRef, options: { readonly container: string; readonly tailLines: number }): Promise<string>
  /** What the cluster said of an object, oldest first. */
  events(ref: ObjectRef): Promise<string[]>
  /** Version of the API server, e.g. `v1.34.4`. */
  version(): Promise<string>
  /** Whether the holder of this access has a right. */
  can(right: Right): Promise<boolean>
  /** A token of a service account for a time; the API server may answer with a shorter one. */
  issueToken(account: ObjectRef, seconds: number): Promise<{ token: string; expiresAt: string }>
  close(): void
}

/** Metadata alone, of a list and of what a watch tells. */
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
const PATCH_FORM = { merge: 'application/merge-patch+json', json: 'application/json-patch+json' } as const
/** A busy API server asks to wait; after this many times the caller decides. */
const BUSY_TRIES = 5
/** Most objects of one page of a list. */
const PAGE = 500

/** Opens a connection to a cluster; nothing is sent yet. */
export function openKube(options: KubeOptions): Kube {
  return new RestKube(options)
}

const ListPage = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().optional() }),
  // An empty list of excerpts has null.
  items: z.array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) })).nullish(),
})

class RestKube implements Kube {
  readonly namespace: string
  readonly #http: KubeHttp
  readonly #clock: Clock
  readonly #log: Logger
  readonly #limit: ReturnType<typeof rateLimit>

  constructor(options: KubeOptions) {
    this.namespace = options.access.namespace
    this.#http = openKubeHttp(options.access)
    this.#clock = options.clock ?? systemClock
    this.#log = options.log
    this.#limit = rateLimit({ qps: options.qps ?? 200, burst: options.burst ?? 400, clock: this.#clock })
  }

  async apply(object: KubeObject, sameLabels: readonly string[], signal?: AbortSignal): Promise<KubeObject> {
    const ref = refOf(object)
    try {
      return await this.create(object, signal)
    } catch (error) {
      if (!isFault(error, 'conflict')) throw error
      const existing = await this.find(ref, signal)
      const isOurs = sameLabels.every((label) => existing?.metadata.labels?.[label] === object.metadata.labels?.[label])
      if (existing === undefined || !isOurs || existing.metadata.deletionTimestamp !== undefined) throw error
      return existing
    }
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
      // Items of a list carry neither kind nor version.
      for (const item of page.items ?? [])
        objects.push(KubeObject.parse({ ...item, apiVersion: KINDS[selection.kind].apiVersion, kind: selection.kind }))
      next = page.metadata.continue
      if (next === undefined || next === '') return { objects, resourceVersion: page.metadata.resourceVersion }
    }
  }

  async delete(ref: ObjectRef, { graceSeconds, uid, signal }: DeleteOptions = {}): Promise<boolean> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: 'Background',
      ...(graceSeconds !== undefined && { gracePeriodSeconds: graceSeconds }),
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

  async logs(pod: ObjectRef, options: { readonly container: string; readonly tailLines: number }): Promise<string> {
    const query = toQuery({ container: options.container, tailLines: options.tailLines, limitBytes: 65_536 })
    return (await this.#call({ method: 'GET', path: `${pathOf(pod)}/log${query}` })).text
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

  /** One call under the rate limit; waits when the API server is too busy. */
  async #call(request: KubeRequest): Promise<KubeAnswer> {
    const wait = { clock: this.#clock, signal: request.signal, tries: BUSY_TRIES, baseMs: 100, maxMs: 2_000 }
    return retry({ ...wait, retryIf: (error) => error instanceof BusyError }, async () => {
      await this.#limit.pass(request.method === 'DELETE', request.signal)
      const answer = await this.#http.send(request)
      if (answer.status < 300) return answer
      if (answer.status === 429) {
        await this.#clock.sleep(Math.min(answer.retryAfterMs ?? 0, 10_000), request.signal)
        throw new BusyError(answer.text)
      }
      throw refusal(answer, request)
    }).catch((error: unknown) => {
      if (error instanceof BusyError) throw fault('cluster-unreachable', { message: 'The Kubernetes API is too busy.' }, error)
      throw error
    })
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

/** Turns a refusal into a fault that carries the API server's own words. */
function refusal(answer: KubeAnswer, request: KubeRequest): Error {
  const status = Status.safeParse(parseJson(answer.text))
  const words = status.success ? (status.data.message ?? answer.text) : answer.text.slice(0, 1000)
  const details = {
    message: words === '' ? `${request.method} ${request.path}: ${answer.status}` : words,
    httpStatus: answer.status,
    ...(status.success && status.data.reason !== undefined && { kubeReason: status.data.reason }),
  }
  if (answer.status === 404) return fault('not-found', details)
  if (answer.status === 409) return fault('conflict', details)
  if (answer.status >= 500) return fault('cluster-unreachable', details)
  return fault('cluster-refused', details)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
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
