/** One direction of a terminal as server-sent events: each part once and in order, starting after any number, and `end` after the last. */
import type { FastifyReply } from 'fastify'
import type { TerminalEnd } from '@windlass/protocol'
import type { App } from '../app.ts'
import { openEventStream } from '../feed/event-stream.ts'
import { findAttempt, isLiveAttempt } from '../store/builds/attempts.ts'
import type { TerminalPartRow, TerminalRow } from '../store/schema/schema.ts'
import { findTerminal, listParts, terminalTopic, updateTerminal } from '../store/builds/terminals.ts'

/** Interval in which an idle stream sends a comment and records that the reader is still there. Milliseconds. */
export const SEEN_MS = 5_000

export interface TerminalStream {
  readonly terminal: TerminalRow
  readonly direction: TerminalPartRow['direction']
  readonly after: number
  readonly signal: AbortSignal
}

/** Writes the stream to the reply; resolves when the terminal has ended or the reader has disconnected. */
export async function streamTerminal(app: App, reply: FastifyReply, stream: TerminalStream): Promise<void> {
  const { terminal, direction, signal } = stream
  const out = openEventStream(app, reply, signal)
  const name = direction === 'in' ? 'input' : 'output'
  using watch = app.store.watch(terminalTopic(terminal.id))
  let seenAt = app.clock.monotonic()
  try {
    for (let position = stream.after; !signal.aborted && !out.isOld();) {
      // Read the row before the parts: a terminal ends after its last part.
      const row = await findTerminal(app.store.query, terminal.id)
      const parts = await listParts(app.store.query, { terminal_id: terminal.id, direction }, position)
      for (const { seq, data } of parts) {
        position = seq
        await out.write(`id: ${seq}\nevent: ${name}\ndata: ${data}\n\n`)
      }
      if (parts.length > 0) continue
      const end = await findEnd(app, row)
      if (end !== undefined) {
        await out.write(`event: end\ndata: ${JSON.stringify(end)}\n\n`)
        break
      }
      await watch.next(Math.min(SEEN_MS, app.store.pollMs), signal)
      // The store may wake more often than that.
      if (app.clock.monotonic() - seenAt < SEEN_MS || signal.aborted) continue
      seenAt = app.clock.monotonic()
      await out.write(': still here\n\n')
      if (direction === 'out') await app.store.write((tx) => updateTerminal(tx, terminal.id, { seen_at: app.clock.now() }))
    }
  } catch (error) {
    if (!signal.aborted) app.log.warn({ err: error, terminal: terminal.id }, 'the stream of a terminal failed')
  } finally {
    out.end()
  }
}

/** Returns the end of a terminal; undefined while it is open. Checks the attempt too, because an engine that died cannot report the end. */
export async function findEnd(app: App, row: TerminalRow | undefined): Promise<TerminalEnd | undefined> {
  if (row === undefined) return { message: 'The terminal no longer exists.' }
  if (row.ended_at !== null) {
    return { ...(row.exit_code !== null && { exitCode: row.exit_code }), ...(row.message !== null && { message: row.message }) }
  }
  const attempt = await findAttempt(app.store.query, row.build_id, row.attempt)
  const isOver = attempt === undefined || !isLiveAttempt(attempt.status)
  return isOver ? { message: 'The attempt has ended.' } : undefined
}
