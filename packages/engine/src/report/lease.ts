/** Keeps the attempt's lease alive and hears what the server wants of it. */
import { backoffMs, isFault, ticks, type Clock, type Logger } from '@windlass/kit'
import { CommandList, HeartbeatAnswer, type Client, type Command } from '@windlass/protocol'

export interface LeaseOptions {
  /** Carries the attempt token. */
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

const HOLD_MS = 25_000
const AWAY = { baseMs: 200, maxMs: 5_000 }

/** Sends heartbeats until `signal` is aborted. Rejects when the server refuses them for good: another attempt has taken over. */
export async function keepLease({ client, clock, log, signal }: LeaseOptions, everyMs: number): Promise<void> {
  for await (const _ of ticks(everyMs, { clock, signal, jitter: 0.1 })) {
    try {
      await client.call('POST', '/v1/engine/heartbeat', HeartbeatAnswer, { body: {}, signal, timeoutMs: everyMs })
    } catch (error) {
      if (signal.aborted) return
      if (isFault(error) && !error.retryable) throw error
      log.debug({ err: error }, 'heartbeat not heard')
    }
  }
}

/** Commands as they come, each once, over a poll that the server holds open; ends when `signal` is aborted. */
export async function* listen({ client, clock, log, signal }: LeaseOptions): AsyncGenerator<Command> {
  let after = 0
  for (let misses = 0; !signal.aborted;) {
    try {
      const query = { after, waitMs: HOLD_MS }
      const { commands } = await client.call('GET', '/v1/engine/commands', CommandList, {
        query,
        signal,
        timeoutMs: HOLD_MS + 15_000,
      })
      misses = 0
      for (const command of commands) {
        after = Math.max(after, command.id)
        yield command
      }
    } catch (error) {
      if (signal.aborted) return
      // Heartbeats find out whether the attempt is over; here it is enough to slow down.
      misses += 1
      log.debug({ err: error, misses }, 'command poll failed')
      await clock.sleep(backoffMs(AWAY, misses), signal).catch(() => undefined)
    }
  }
}
