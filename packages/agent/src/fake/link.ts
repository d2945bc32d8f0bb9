/**
 * A fake engine's line to the server: the same calls with the same rules of repetition as a real engine's. Everything is sent until the
 * server has it; a stale attempt ends the line.
 */
import { createHash } from 'node:crypto'
import { isAbort, isFault, retry, sha256, type Clock, type Fault } from '@windlass/kit'
import {
  CommandList,
  EngineClaimed,
  EventAck,
  FrameAck,
  HeartbeatAnswer,
  PROTOCOL_VERSION,
  type Client,
  type Command,
  type EngineEvent,
  type EngineEventBody,
} from '@windlass/protocol'
import { z } from 'zod'

export interface Link {
  readonly claimed: EngineClaimed
  /** Numbers an event and queues it. */
  event(body: EngineEventBody): void
  /** Appends bytes to a stream and queues them. */
  log(stream: string, bytes: Buffer): void
  /** Whole length and hash of every stream so far. */
  streams(): Record<string, { bytes: number; sha256: string }>
  /** Sends what is queued, frames before events; resolves when the server has it all. */
  flush(signal: AbortSignal): Promise<void>
  heartbeat(signal: AbortSignal): Promise<void>
  /** The next commands, by a held poll. */
  commands(waitMs: number, signal: AbortSignal): Promise<readonly Command[]>
}

export interface LinkOptions {
  readonly client: Client
  readonly clock: Clock
  readonly claimKey: string
  readonly frameBytes: number
}

interface Stream {
  readonly name: string
  readonly hash: ReturnType<typeof createHash>
  bytes: Buffer
  /** Offset of the first byte of `bytes`; what came before is stored. */
  offset: number
}

/** Exchanges the credential for an attempt. Throws `claim-used` and the like; waits out a server that is away. */
export async function openLink(options: LinkOptions, signal: AbortSignal): Promise<Link> {
  const body = { protocol: PROTOCOL_VERSION, version: 'fake', features: [], claimKey: options.claimKey }
  const claimed = await patiently(options.clock, signal, () =>
    options.client.call('POST', '/v1/engine/claim', EngineClaimed, { body, signal }),
  )
  return new FakeLink(options, claimed)
}

async function patiently<T>(clock: Clock, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  return retry({ clock, signal, baseMs: 50, maxMs: 2_000, retryIf: isPassing }, call)
}

function isPassing(error: unknown): boolean {
  return !isAbort(error) && (!isFault(error) || error.retryable) && !isFault(error, 'log-offset', 'log-incomplete')
}

class FakeLink implements Link {
  readonly claimed: EngineClaimed
  readonly #options: LinkOptions
  readonly #client: Client
  readonly #streams = new Map<string, Stream>()
  #events: EngineEvent[] = []
  #seq = 0
  #afterCommand = 0

  constructor(options: LinkOptions, claimed: EngineClaimed) {
    this.#options = options
    this.claimed = claimed
    this.#client = options.client.withToken(claimed.token)
  }

  event(body: EngineEventBody): void {
    this.#seq += 1
    this.#events.push({ ...body, seq: this.#seq, at: this.#options.clock.now() })
  }

  log(name: string, bytes: Buffer): void {
    const stream = this.#streams.get(name) ?? { name, hash: createHash('sha256'), bytes: Buffer.alloc(0), offset: 0 }
    this.#streams.set(name, stream)
    stream.hash.update(bytes)
    stream.bytes = Buffer.concat([stream.bytes, bytes])
  }

  streams(): Record<string, { bytes: number; sha256: string }> {
    const ends = [...this.#streams.values()].map((stream): [string, { bytes: number; sha256: string }] => [
      stream.name,
      { bytes: stream.offset + stream.bytes.length, sha256: stream.hash.copy().digest('hex') },
    ])
    return Object.fromEntries(ends)
  }

  async flush(signal: AbortSignal): Promise<void> {
    for (const stream of this.#streams.values()) while (stream.bytes.length > 0) await this.#sendFrame(stream, signal)
    while (this.#events.length > 0) {
      const body = { events: this.#events.slice(0, 500) }
      const { ackSeq } = await this.#patiently(signal, () =>
        this.#client.call('POST', '/v1/engine/events', EventAck, { body, signal }),
      )
      this.#events = this.#events.filter((event) => event.seq > ackSeq)
    }
  }

  async heartbeat(signal: AbortSignal): Promise<void> {
    await this.#client.call('POST', '/v1/engine/heartbeat', HeartbeatAnswer, { body: {}, signal, timeoutMs: 10_000 })
  }

  async commands(waitMs: number, signal: AbortSignal): Promise<readonly Command[]> {
    const query = { after: this.#afterCommand, waitMs }
    const { commands } = await this.#client.call('GET', '/v1/engine/commands', CommandList, {
      query,
      signal,
      timeoutMs: waitMs + 15_000,
    })
    this.#afterCommand = Math.max(this.#afterCommand, ...commands.map(({ id }) => id))
    return commands
  }

  async #sendFrame(stream: Stream, signal: AbortSignal): Promise<void> {
    const frame = stream.bytes.subarray(0, this.#options.frameBytes)
    const headers = {
      'x-windlass-stream': stream.name,
      'x-windlass-offset': String(stream.offset),
      'x-windlass-sha256': sha256(frame),
      'x-windlass-at': String(this.#options.clock.now()),
    }
    const end = await this.#patiently(signal, async () => {
      try {
        return (await this.#client.call('POST', '/v1/engine/logs', FrameAck, { body: frame, headers, signal })).offset
      } catch (error) {
        if (isFault(error, 'log-offset')) return storedEnd(error)
        throw error
      }
    })
    stream.bytes = stream.bytes.subarray(Math.max(0, Math.min(stream.bytes.length, end - stream.offset)))
    stream.offset = Math.max(stream.offset, end)
  }

  #patiently<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    return patiently(this.#options.clock, signal, call)
  }
}

const Offset = z.int().nonnegative()

function storedEnd(error: Fault): number {
  return Offset.parse(error.details['offset'])
}
