/**
 * List, then watch, then list again when the thread is lost. Yields what is there, what changed and what went, and never ends by itself.
 * A consumer that acts on each object alone needs nothing else: repeated and late changes are normal.
 */
import type { IncomingMessage } from 'node:http'
import { backoffMs, isAbort, type Clock, type Logger } from '@windlass/kit'
import { z } from 'zod'
import { Status } from './http.ts'
import { KubeObject } from './objects.ts'

export type Change =
  /** The object is there, in this form. */
  | { readonly type: 'set'; readonly object: KubeObject }
  /** The object is gone; its last form, or only its metadata when it vanished unseen. */
  | { readonly type: 'gone'; readonly object: KubeObject }
  /** Everything there is has been yielded. */
  | { readonly type: 'synced' }

export interface WatchOptions {
  readonly selection: { readonly kind: string }
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly log: Logger
  /** Called whenever the API server was heard: liveness. */
  readonly onHeard?: () => void
}

export interface WatchSource {
  list(): Promise<{ readonly objects: readonly KubeObject[]; readonly resourceVersion: string }>
  open(resourceVersion: string, timeoutSeconds: number): Promise<IncomingMessage>
}

/** The API server ends a watch after this time; a bookmark comes about every minute. */
const WATCH_SECONDS = 300
/** With nothing heard for so long, not even a bookmark, the connection is taken for dead. */
const SILENCE_MS = 150_000

const WatchEvent = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.looseObject({}),
})

export async function* watchObjects(source: WatchSource, options: WatchOptions): AsyncGenerator<Change> {
  const { signal, clock, log } = options
  const thread = new WatchThread(source, options)
  for (let failures = 0; !signal.aborted;) {
    try {
      if (thread.isLost) yield* thread.relist()
      yield* thread.follow()
      failures = 0
    } catch (error) {
      if (signal.aborted || isAbort(error)) return
      failures += 1
      log.warn({ err: error, kind: options.selection.kind }, 'watch interrupted')
      await clock.sleep(backoffMs({ baseMs: 200, maxMs: 10_000 }, failures), signal).catch(() => undefined)
    }
  }
}

/** Where a watch is: what it knows to exist, and the version it has seen. */
class WatchThread {
  readonly #source: WatchSource
  readonly #options: WatchOptions
  /** Metadata only: enough to say that an object vanished between two lists. */
  readonly #known = new Map<string, KubeObject>()
  #resourceVersion: string | undefined

  constructor(source: WatchSource, options: WatchOptions) {
    this.#source = source
    this.#options = options
  }

  get isLost(): boolean {
    return this.#resourceVersion === undefined
  }

  async *relist(): AsyncGenerator<Change> {
    const { objects, resourceVersion } = await this.#source.list()
    this.#options.onHeard?.()
    const vanished = new Map(this.#known)
    for (const object of objects) {
      vanished.delete(keyOf(object))
      this.#remember(object)
      yield { type: 'set', object }
    }
    for (const [key, object] of vanished) {
      this.#known.delete(key)
      yield { type: 'gone', object }
    }
    this.#resourceVersion = resourceVersion
    yield { type: 'synced' }
  }

  async *follow(): AsyncGenerator<Change> {
    const response = await this.#source.open(this.#resourceVersion ?? '0', WATCH_SECONDS)
    if (response.statusCode !== 200) {
      response.destroy()
      this.#resourceVersion = undefined
      throw new Error(`the API server answered ${response.statusCode} to a watch`)
    }
    response.socket.setTimeout(SILENCE_MS, () => response.destroy(new Error(`nothing heard for ${SILENCE_MS} ms`)))
    for await (const line of linesOf(response)) {
      this.#options.onHeard?.()
      const { type, object: raw } = WatchEvent.parse(JSON.parse(line))
      if (type === 'ERROR') {
        const status = Status.safeParse(raw)
        this.#resourceVersion = undefined
        // 410: the version is too old, which is normal after a pause.
        if (status.success && status.data.code === 410) return
        throw new Error(status.success ? (status.data.message ?? 'watch error') : 'watch error')
      }
      // With metadata alone the kind on the wire is that of the excerpt.
      const object = { ...KubeObject.parse(raw), kind: this.#options.selection.kind }
      this.#resourceVersion = object.metadata.resourceVersion ?? this.#resourceVersion
      if (type === 'BOOKMARK') continue
      if (type === 'DELETED') this.#known.delete(keyOf(object))
      else this.#remember(object)
      yield { type: type === 'DELETED' ? 'gone' : 'set', object }
    }
  }

  #remember(object: KubeObject): void {
    const { name, namespace, uid, labels, annotations } = object.metadata
    const metadata = { name, namespace, uid, labels, annotations }
    this.#known.set(keyOf(object), { apiVersion: object.apiVersion, kind: object.kind, metadata })
  }
}

/** An object made again under its old name is another object. */
function keyOf(object: KubeObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}/${object.metadata.uid ?? ''}`
}

async function* linesOf(stream: IncomingMessage): AsyncGenerator<string> {
  let rest: Buffer[] = []
  for await (const part of stream) {
    let chunk: Buffer = Buffer.isBuffer(part) ? part : Buffer.from(part)
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10)) {
      yield Buffer.concat([...rest, chunk.subarray(0, end)]).toString('utf8')
      rest = []
      chunk = chunk.subarray(end + 1)
    }
    if (chunk.length > 0) rest.push(chunk)
  }
}
