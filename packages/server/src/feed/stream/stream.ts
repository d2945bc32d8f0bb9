/** The event stream of a page (docs/development/adr/0107): several topics over one connection, with one cursor. */
import type { FastifyReply } from 'fastify'
import { Fault } from '@windlass/kit'
import { parseStreamTopic, VERSION, type StreamEventData, type StreamEventName, type StreamTopic } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { getTerminal } from '../../debug/terminals.ts'
import { hidden, requireRight, type Actor } from '../../identity/actor.ts'
import { placeOfBuild } from '../../identity/place-of.ts'
import { COMMAND_SCOPE, requireScope } from '../../identity/scopes.ts'
import { requireStream } from '../../logs/stream-right.ts'
import { openEventStream, type EventStream } from '../event-stream.ts'
import { ACCOUNT_KEY, openAccountSource } from './account-source.ts'
import { openBuildSource } from './build-source.ts'
import { readCursor, writeCursor, type AccountPlace, type Cursor } from './cursor.ts'
import { openLogSource } from './log-source.ts'
import type { Progress, Source } from './source.ts'
import { openTerminalSource } from './terminal-source.ts'
import { watchAll, type Watches } from './watches.ts'

/** Interval of comments that keep an idle connection open through proxies. Milliseconds. */
const KEEP_ALIVE_MS = 15_000

export interface StreamRequest {
  readonly actor: Actor
  readonly topics: readonly string[]
  /** `id` of an event of an earlier stream. */
  readonly cursor: string | undefined
  readonly signal: AbortSignal
}

/** Writes the events of the topics to the reply. Resolves when the reader disconnects, the server closes, or the stream is too old. */
export async function streamTopics(app: App, reply: FastifyReply, request: StreamRequest): Promise<void> {
  const out = openEventStream(app, reply, request.signal)
  using sources = new Sources(app, out, request)
  try {
    await sources.open()
    while (!request.signal.aborted && !out.isOld()) {
      const wait = await sources.turn()
      if (wait === 0 || request.signal.aborted) continue
      await sources.rest(Math.min(wait, KEEP_ALIVE_MS))
    }
  } catch (error) {
    if (!request.signal.aborted) app.log.warn({ err: error }, 'the event stream of a page failed')
  } finally {
    out.end()
  }
}

/** A topic that belongs to a build. */
type BuildTopic = Exclude<StreamTopic, { kind: 'account' }>

/** A source and when it has its turns. Milliseconds of the monotonic clock. */
interface Entry {
  readonly source: Source
  ranAt: number
  dueAt: number
}

class Sources implements Disposable {
  readonly #watches: Watches
  readonly #app: App
  readonly #out: EventStream
  readonly #request: StreamRequest
  readonly #cursor: Cursor
  readonly #sources = new Map<string, Entry>()
  /** Positions of topics that have ended. */
  readonly #ended = new Map<string, number>()
  readonly #owned: Disposable[] = []
  #account: () => AccountPlace | undefined
  #writtenAt: number

  constructor(app: App, out: EventStream, request: StreamRequest) {
    this.#app = app
    this.#out = out
    this.#request = request
    this.#cursor = readCursor(request.cursor)
    // A stream without the topic hands the time on to a later one that has it.
    this.#account = () => this.#cursor.account
    this.#watches = watchAll(app.store, app.clock)
    this.#writtenAt = app.clock.monotonic()
  }

  /** Sends the first event, and a problem for each topic that the caller cannot follow. */
  async open(): Promise<void> {
    const topics = this.#request.topics.flatMap((text) => parseStreamTopic(text) ?? [])
    if (topics.some(({ kind }) => kind === 'account')) await this.#openAccount()
    await this.#send('open', { version: VERSION })
    for (const topic of topics) {
      if (topic.kind === 'account' || this.#sources.has(topic.key)) continue
      await this.#guard(topic.key, async () => {
        await this.#requireTopic(topic)
        this.#add(this.#openSource(topic))
      })
    }
  }

  /** Lets each topic that is due send something. Returns how long to wait; 0 if there is more to send. Milliseconds. */
  async turn(): Promise<number> {
    const { clock, store } = this.#app
    let next = Number.POSITIVE_INFINITY
    for (const entry of this.#sources.values()) {
      const { source } = entry
      if (this.#request.signal.aborted) break
      const startedAt = clock.monotonic()
      if (entry.dueAt <= startedAt) {
        const progress = await this.#guard(source.key, () => source.next((event, data) => this.#send(event, data)))
        if (progress === 'end' || progress === undefined) {
          this.#remove(source)
          continue
        }
        entry.ranAt = startedAt
        entry.dueAt = progress === 'more' ? startedAt : clock.monotonic() + Math.min(progress, store.pollMs)
      }
      next = Math.min(next, entry.dueAt)
    }
    return Math.max(0, next - clock.monotonic())
  }

  /** Waits for at most `ms`, or until a topic is woken. The sources of woken topics are then due. */
  async rest(ms: number): Promise<void> {
    const woken = await this.#watches.next(ms, this.#request.signal)
    for (const entry of this.#sources.values()) {
      const { source, ranAt, dueAt } = entry
      if (source.wakes.some((topic) => woken.has(topic))) entry.dueAt = Math.min(dueAt, ranAt + source.restMs)
    }
    await this.#keepAlive()
  }

  async #keepAlive(): Promise<void> {
    if (this.#app.clock.monotonic() - this.#writtenAt < KEEP_ALIVE_MS) return
    await this.#write(': still here\n\n')
  }

  [Symbol.dispose](): void {
    this.#watches[Symbol.dispose]()
    for (const owned of this.#owned) owned[Symbol.dispose]()
  }

  /** Throws `not-found`, `forbidden` or `scope-missing` unless the caller may follow the topic. */
  async #requireTopic(topic: BuildTopic): Promise<void> {
    const { actor } = this.#request
    const place = await placeOfBuild(this.#app, topic.build)
    if (place === undefined) throw hidden()
    if (topic.kind !== 'terminal') return requireStream(actor, place, topic.kind === 'log' ? topic.stream : undefined)
    requireRight(actor, 'debug-builds', place)
    requireScope(actor, COMMAND_SCOPE)
    await getTerminal(this.#app, { buildId: topic.build }, topic.terminal)
  }

  #openSource(topic: BuildTopic): Source {
    const position = Math.max(topic.position, this.#cursor.positionOf(topic.key) ?? 0)
    if (topic.kind === 'build') return openBuildSource(this.#app, { ...topic, position })
    return topic.kind === 'log'
      ? openLogSource(this.#app, { ...topic, position })
      : openTerminalSource(this.#app, { ...topic, position })
  }

  async #openAccount(): Promise<void> {
    const source = openAccountSource(this.#app, {
      actor: this.#request.actor,
      cursor: this.#cursor.account,
      onChange: () => this.#watches.wake(ACCOUNT_KEY),
    })
    this.#owned.push(source)
    this.#account = source.place
    await source.ready()
    this.#add(source)
  }

  #add(source: Source): void {
    this.#sources.set(source.key, { source, ranAt: 0, dueAt: 0 })
    for (const topic of source.wakes) this.#watches.add(topic)
  }

  #remove(source: Source): void {
    this.#sources.delete(source.key)
    const position = source.position()
    if (position !== undefined) this.#ended.set(source.key, position)
  }

  /** Runs `work` and turns a fault of the topic into an event. Returns undefined if there was one. */
  async #guard(topic: string, work: () => Promise<Progress | void>): Promise<Progress | undefined> {
    try {
      return (await work()) ?? undefined
    } catch (error) {
      if (!(error instanceof Fault) || !TOPIC_FAULTS.has(error.code)) throw error
      const { code, message, hint } = error
      await this.#send('problem', { topic, code, message, hint })
      return undefined
    }
  }

  async #send<N extends StreamEventName>(event: N, data: StreamEventData<N>): Promise<void> {
    await this.#write(`id: ${this.#writeCursor()}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  async #write(text: string): Promise<void> {
    await this.#out.write(text)
    this.#writtenAt = this.#app.clock.monotonic()
  }

  #writeCursor(): string {
    const positions = new Map(this.#ended)
    for (const [key, { source }] of this.#sources) {
      const position = source.position()
      if (position !== undefined) positions.set(key, position)
    }
    return writeCursor({ account: this.#account(), positions })
  }
}

/** Faults that concern one topic. All others end the stream. */
const TOPIC_FAULTS: ReadonlySet<string> = new Set(['not-found', 'forbidden', 'scope-missing'])
