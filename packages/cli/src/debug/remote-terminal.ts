/** A terminal in a build on a server. Keys are sent in numbered parts, output is streamed; both resume after a connection loss. */
import { backoffMs, pauseMs, systemClock } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import { KeySender } from '@windlass/client/terminal'
import { TerminalEnd, type TerminalRecord } from '@windlass/protocol'

export interface RemoteTerminal {
  readonly client: ApiClient
  readonly buildId: string
  readonly record: TerminalRecord
  readonly signal: AbortSignal
}

const BACKOFF = { baseMs: 100, maxMs: 2_000 }

export interface Shown {
  /** Number of the last output part shown. */
  seq: number
}

/** Yields the output, each byte once, and returns how the terminal ended. Throws the server's fault if it rejects the call. */
export async function* showOutput(
  { client, buildId, record, signal }: RemoteTerminal,
  shown: Shown,
): AsyncGenerator<Buffer, TerminalEnd | undefined> {
  for (let misses = 0; !signal.aborted; misses += 1) {
    let reason: unknown
    try {
      const query = { after: shown.seq }
      for await (const { event, data, id } of client.debug.followTerminal(buildId, record.id, { query, signal })) {
        misses = 0
        if (event === 'end') return TerminalEnd.parse(JSON.parse(data))
        const seq = Number(id)
        if (seq <= shown.seq) continue
        yield Buffer.from(data, 'base64')
        shown.seq = seq
      }
    } catch (error) {
      if (signal.aborted) return undefined
      if (!isFault(error) || !error.retryable) throw error
      reason = error
    }
    await systemClock.sleep(pauseMs(BACKOFF, misses + 1, reason), signal).catch(() => undefined)
  }
  return undefined
}

/** Returns the sender of keys and sizes of a terminal. */
export function openKeySender({ client, buildId, record, signal }: RemoteTerminal): KeySender {
  const pause = (failures: number): Promise<void> => systemClock.sleep(backoffMs(BACKOFF, failures), signal)
  return new KeySender({ client, buildId, terminal: record.id, inputSeq: record.inputSeq, signal, pause })
}
