/**
 * Lists, then watches, and lists again when the watch cannot be resumed. Yields existing, changed and deleted objects, and never ends on
 * its own. Changes may be repeated or late, so a consumer must handle each object on its own.
 */
import type { IncomingMessage } from 'node:http'
import { backoffMs, isAbort, type Clock, type Logger } from '@windlass/kit'
import { z } from 'zod'
import { Status } from './http.ts'
import { KubeObject } from './objects.ts'

export type Change =
  /** The object exists in this state. */
  | { readonly type: 'set'; readonly object: KubeObject }
  /** The object is gone. Contains its last state, or only its metadata if its deletion was not seen. */
  | { readonly type: 'gone'; readonly object: KubeObject }
  /** All existing objects have been yielded. */
  | { readonly type: 'synced' }

export interface WatchOptions {
  readonly selection: { readonly kind: string }
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly log: Logger
  /** Called for every message of the API server. */
  readonly onHeard?: () => void
}

export interface WatchSource {
  list(): Promise<{ readonly objects: readonly KubeObject[]; readonly resourceVersion: string }>
  open(resourceVersion: string, timeoutSeconds: number): Promise<IncomingMessage>
}

/** Duration after which the API server ends a watch. Seconds. */
const WATCH_SECONDS = 300
/**
 * A watch that is silent for this long is reopened; the response shows that the API server is up. Silence is not a failure: the API server
 * sends a bookmark about every minute, but none for a kind that has not changed since the API server started. Milliseconds.
 */
const SILENCE_MS = 100_000
/**
 * A watch that ends sooner counts as a failure; otherwise an API server that ends each watch at once would be called in a loop.
 * Milliseconds.
 */
const SHORT_MS = 1_000

const WatchEvent = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.looseObject({}),
})
/** A bookmark contains only a version: it has no name, and its other fields may be null. */
const Bookmark = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) })

export async function* watchObjects(source: WatchSource, options: WatchOptions): AsyncGenerator<Change> {
  const { signal, clock, log } = options
  const { kind } = options.selection
  let failures = 0
  // Only a change or bookmark resets the count: an API server that accepts each watch and then breaks it is called at growing intervals.
  const onChange = (): void => {
    failures = 0
  }
  const thread = new WatchThread(source, { ...options, onChange })
  while (!signal.aborted) {
    const startedAt = clock.monotonic()
    try {
      if (thread.isLost) yield* thread.relist()
      yield* thread.follow()
      if (clock.monotonic() - startedAt >= SHORT_MS) continue
      failures += 1
    } catch (error) {
      if (signal.aborted || isAbort(error)) return
      failures += 1
      // Load balancers and restarts of the API server cut watches every day, so only the second consecutive failure is a warning.
      log[failures === 1 ? 'info' : 'warn']({ err: error, kind, failures }, 'watch interrupted')
    }
    await clock.sleep(backoffMs({ baseMs: 200, maxMs: 10_000 }, failures), signal).catch(() => undefined)
  }
}

interface ThreadOptions extends WatchOptions {
  /** Called for each change and bookmark of a watch. */
  readonly onChange: () => void
}

/** The state of a watch: the known objects and the version seen last. */
class WatchThread {
  readonly #source: WatchSource
  readonly #options: ThreadOptions
  /** Metadata only: enough to report an object that was deleted between two lists. */
  readonly #known = new Map<string, KubeObject>()
  #resourceVersion: string | undefined

  constructor(source: WatchSource, options: ThreadOptions) {
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

  /** Follows one watch to its end. */
  async *follow(): AsyncGenerator<Change> {
    const response = await this.#source.open(this.#resourceVersion ?? '0', WATCH_SECONDS)
    if (response.statusCode !== 200) {
      response.destroy()
      this.#resourceVersion = undefined
      throw new Error(`the API server answered ${response.statusCode} to a watch`)
    }
    this.#options.onHeard?.()
    let isSilent = false
    response.socket.setTimeout(SILENCE_MS, () => {
      isSilent = true
      response.destroy()
    })
    try {
      for await (const line of linesOf(response)) {
        this.#options.onHeard?.()
        const read = this.#read(line)
        if (read === 'expired') return
        this.#options.onChange()
        if (read !== 'bookmark') yield read
      }
    } catch (error) {
      if (!isSilent) throw error
    }
  }

  /** Reads a line. After an invalid line the objects are listed again, because a watch from the same version would send it again. */
  #read(line: string): Change | 'bookmark' | 'expired' {
    try {
      const { type, object: raw } = WatchEvent.parse(JSON.parse(line))
      if (type === 'ERROR') return this.#expire(raw)
      if (type === 'BOOKMARK') {
        this.#resourceVersion = Bookmark.parse(raw).metadata.resourceVersion
        return 'bookmark'
      }
      // With metadata only, the kind on the wire is PartialObjectMetadata.
      const object = { ...KubeObject.parse(raw), kind: this.#options.selection.kind }
      this.#resourceVersion = object.metadata.resourceVersion ?? this.#resourceVersion
      if (type === 'DELETED') this.#known.delete(keyOf(object))
      else this.#remember(object)
      return { type: type === 'DELETED' ? 'gone' : 'set', object }
    } catch (error) {
      this.#resourceVersion = undefined
      throw error
    }
  }

  /** Handles an error of the API server. 410 means that the version is too old, which is normal after a pause; other errors are thrown. */
  #expire(raw: Record<string, unknown>): 'expired' {
    this.#resourceVersion = undefined
    const status = Status.safeParse(raw)
    if (status.success && status.data.code === 410) return 'expired'
    throw new Error(status.success ? (status.data.message ?? 'watch error') : 'watch error')
  }

  #remember(object: KubeObject): void {
    const { name, namespace, uid, labels, annotations } = object.metadata
    const metadata = { name, namespace, uid, labels, annotations }
    this.#known.set(keyOf(object), { apiVersion: object.apiVersion, kind: object.kind, metadata })
  }
}

/** Returns the key of an object. With the uid, an object that is created again under its name is a different one. */
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
