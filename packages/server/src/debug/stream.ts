/** One direction of a terminal as server-sent events: each part once, in order, from any number on, and `end` after the last. */
import type { FastifyReply } from 'fastify'
import type { TerminalEnd } from '@windlass/protocol'
import type { App } from '../app.ts'
import { openEventStream, sendEvent } from '../feed/event-stream.ts'
import { findAttempt } from '../store/attempts.ts'
import type { TerminalPartRow, TerminalRow } from '../store/schema.ts'
import { findTerminal, listParts, terminalTopic, updateTerminal } from '../store/terminals.ts'

/** A comment is sent in silence, and a sign of the reader noted. Milliseconds. */
const NOTE_MS = 5_000

export interface TerminalStream {
  readonly terminal: TerminalRow
  readonly direction: TerminalPartRow['direction']
  readonly after: number
  readonly signal: AbortSignal
}

/** Writes the stream to the reply; resolves when the terminal has ended or the reader went away. */
export async function streamTerminal(app: App, reply: FastifyReply, stream: TerminalStream): Promise<void> {
  const { terminal, direction, signal } = stream
  const raw = openEventStream(reply)
  const name = direction === 'in' ? 'input' : 'output'
  using watch = app.store.watch(terminalTopic(terminal.id))
  try {
    for (let position = stream.after; !signal.aborted;) {
      // Read before the parts: what ends a terminal comes after its last part.
      const row = await findTerminal(app.store.query, terminal.id)
      const parts = await listParts(app.store.query, { terminal_id: terminal.id, direction }, position)
      for (const { seq, data } of parts) {
        position = seq
        await sendEvent(raw, `id: ${seq}\nevent: ${name}\ndata: ${data}\n\n`, signal)
      }
      if (parts.length > 0) continue
      const end = await findEnd(app, row)
      if (end !== undefined) {
        await sendEvent(raw, `event: end\ndata: ${JSON.stringify(end)}\n\n`, signal)
        break
      }
      const before = app.clock.monotonic()
      await watch.next(Math.min(NOTE_MS, app.store.pollMs), signal)
      if (app.clock.monotonic() - before < NOTE_MS || signal.aborted) continue
      await sendEvent(raw, ': still here\n\n', signal)
      if (direction === 'out') await app.store.write((tx) => updateTerminal(tx, terminal.id, { seen_at: app.clock.now() }))
    }
  } catch (error) {
    if (!signal.aborted) app.log.warn({ err: error, terminal: terminal.id }, 'a terminal was cut off')
  } finally {
    raw.end()
  }
}

/** Undefined while it is open. An engine that died cannot say that a terminal is over. */
async function findEnd(app: App, row: TerminalRow | undefined): Promise<TerminalEnd | undefined> {
  if (row === undefined) return { message: 'The terminal is gone.' }
  if (row.ended_at !== null) {
    return { ...(row.exit_code !== null && { exitCode: row.exit_code }), ...(row.message !== null && { message: row.message }) }
  }
  const attempt = await findAttempt(app.store.query, row.build_id, row.attempt)
  const isOver = attempt === undefined || attempt.status === 'lost' || attempt.status === 'ended'
  return isOver ? { message: 'The attempt has ended.' } : undefined
}
