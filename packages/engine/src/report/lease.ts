/** Keeps the attempt's lease alive and receives the commands of the server. */
import { backoffMs, endsWork, ticks, type Clock, type Logger } from '@windlass/kit'
import { engineCalls } from '@windlass/client/engine'
import type { Client, Command, Heartbeat } from '@windlass/protocol'

export interface LeaseOptions {
  /** Has the attempt token. */
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

const HOLD_MS = 25_000
const BACKOFF = { baseMs: 200, maxMs: 5_000 }

export interface HeartbeatOptions extends LeaseOptions {
  readonly everyMs: number
  /** Returns the next heartbeat. */
  readonly describe: () => Heartbeat
  /** Whether the end of the attempt is written. A refusal after that may follow from this end, and only the drain knows whether the server has taken it. */
  readonly hasEnd: () => boolean
}

/**
 * Sends heartbeats until `signal` is aborted. If the server reports the end of the attempt (`endsWork`), it rejects, or resolves if the end is written. After any
 * other response or a failure, the next heartbeat is sent as usual: only the server ends the lease.
 */
export async function keepLease({ client, clock, log, signal, everyMs, describe, hasEnd }: HeartbeatOptions): Promise<void> {
  const server = engineCalls(client)
  for await (const _ of ticks(everyMs, { clock, signal, jitter: 0.1 })) {
    try {
      await server.heartbeat(describe(), { signal, timeoutMs: everyMs })
    } catch (error) {
      if (signal.aborted) return
      if (endsWork('attempt', error) && hasEnd()) return
      if (endsWork('attempt', error)) throw error
      log.debug({ err: error }, 'heartbeat failed')
    }
  }
}

/** Yields each command once, over a long poll. Ends when `signal` is aborted. */
export async function* listen({ client, clock, log, signal }: LeaseOptions): AsyncGenerator<Command> {
  const server = engineCalls(client)
  let after = 0
  for (let misses = 0; !signal.aborted;) {
    try {
      const query = { after, waitMs: HOLD_MS }
      const { commands } = await server.commands({ query, signal, timeoutMs: HOLD_MS + 15_000 })
      misses = 0
      for (const command of commands) {
        after = Math.max(after, command.id)
        yield command
      }
    } catch (error) {
      if (signal.aborted) return
      // Heartbeats detect the end of the attempt; here it is enough to slow down.
      misses += 1
      log.debug({ err: error, misses }, 'command poll failed')
      await clock.sleep(backoffMs(BACKOFF, misses), signal).catch(() => undefined)
    }
  }
}
