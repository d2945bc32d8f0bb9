/** Terminals in held steps: opened by a user, relayed through the store, ended by the engine. */
import { fault, newId } from '@windlass/kit'
import type { TerminalEnd, TerminalInput, TerminalInputBatch, TerminalOutput, TerminalRecord } from '@windlass/protocol'
import type { App } from '../app.ts'
import { editBuild, record, saveBuild } from '../builds/lifecycle/edit.ts'
import { findAttempt, isLiveAttempt, type AttemptKey } from '../store/builds/attempts.ts'
import { insertCommand } from '../store/builds/commands.ts'
import type { TerminalPartRow, TerminalRow } from '../store/schema/schema.ts'
import {
  countPartBytes,
  deleteParts,
  findTerminal,
  insertParts,
  insertTerminal,
  listParts,
  listTerminals,
  lockTerminal,
  terminalTopic,
  updateTerminal,
} from '../store/builds/terminals.ts'
import type { Tx, Within } from '../store/store.ts'
import { editOpenBuild, requireHeld } from './debug.ts'
import { toRecord } from './record.ts'

/** Maximum unread input. Writers of more must wait. Bytes. */
const MAX_UNREAD_BYTES = 262_144
/** Output that is kept for readers, also after one has shown it: a page that is loaded again, or another person. Bytes. */
const KEPT_BYTES = 262_144
/** A reader that called within this time still reads the terminal. Milliseconds. */
const WATCHED_MS = 15_000
/** Output waits this long for the reader; after that, the oldest output is dropped. Milliseconds. */
const OUTPUT_WAIT_MS = 20_000
const MAX_OPEN = 20

/**
 * Requests a terminal from the engine; its output tells whether it could be opened. `within` runs in the same transaction. Throws `not-found`,
 * `build-final`, `not-held`, `rate-limited`.
 */
export async function openTerminal(
  app: App,
  id: string,
  { input, by }: { input: TerminalInput; by: string },
  within?: Within<TerminalRecord>,
): Promise<TerminalRecord> {
  const { step: wanted, ...shape } = input
  return app.store.write(async (tx) => {
    const edit = await editOpenBuild(app, await editBuild(tx, id, app.clock.now()), id)
    const { step, phase } = await requireHeld(tx.query, id, wanted)
    const open = (await listTerminals(tx.query, id)).filter(({ ended_at: endedAt }) => endedAt === null)
    if (open.length >= MAX_OPEN) throw fault('rate-limited', { message: `The build already has ${MAX_OPEN} open terminals.` })
    const row: TerminalRow = {
      id: newId(edit.now),
      account_id: edit.build.account_id,
      build_id: id,
      attempt: edit.build.attempt,
      step,
      phase,
      opened_by: by,
      message: null,
      exit_code: null,
      in_seq: 0,
      out_seq: 0,
      ack_seq: 0,
      out_bytes: 0,
      seen_at: edit.now,
      created_at: edit.now,
      ended_at: null,
    }
    await insertTerminal(tx, row)
    await insertCommand(
      tx,
      { build_id: id, attempt: row.attempt, at: edit.now },
      { type: 'terminal', terminal: row.id, step, ...shape },
    )
    record(edit, { type: 'terminal.opened', data: { terminal: row.id, step, phase, by, command: shape.command } })
    await saveBuild(edit)
    const terminal = toRecord(row)
    await within?.(tx, terminal)
    return terminal
  })
}

/** Returns the terminal of a build, or of one attempt of it. Throws `not-found`. */
export async function getTerminal(
  app: App,
  { buildId, attempt }: { buildId: string; attempt?: number },
  id: string,
): Promise<TerminalRow> {
  const row = await findTerminal(app.store.query, id)
  const isOfOther = row?.build_id !== buildId || row.account_id !== app.accountId
  if (isOfOther || (attempt !== undefined && row.attempt !== attempt))
    throw fault('not-found', { message: `Terminal ${id} of build ${buildId} does not exist.` })
  return row
}

/**
 * Stores key input and window sizes exactly once and returns the number of the last one. Throws `not-found`, `not-held` if the attempt has
 * ended, and `rate-limited` if the engine does not read the input.
 */
export async function writeInput(app: App, { build_id: buildId, id }: TerminalRow, batch: TerminalInputBatch): Promise<number> {
  return app.store.write(async (tx) => {
    const row = await requireLocked(tx, id)
    const parts = batch.parts
      .map((part, index): TerminalPartRow => {
        const data = JSON.stringify(part)
        return { terminal_id: id, build_id: buildId, direction: 'in', seq: batch.seq + index, data, bytes: data.length }
      })
      .filter(({ seq }) => seq > row.in_seq)
    if (parts.length > 0 && (await countPartBytes(tx.query, { terminal_id: id, direction: 'in' })) > MAX_UNREAD_BYTES)
      throw fault('rate-limited', { message: 'The engine reads input more slowly than it arrives.' })
    if (parts.length > 0 && row.ended_at === null) await requireAttempt(tx, row)
    const isNext = parts[0]?.seq === row.in_seq + 1
    if (isNext && row.ended_at === null) await insertParts(tx, parts)
    const last = isNext ? (parts.at(-1)?.seq ?? row.in_seq) : row.in_seq
    const shown = Math.min(Math.max(batch.ackSeq ?? 0, row.ack_seq), row.out_seq)
    await updateTerminal(tx, id, { in_seq: last, ack_seq: shown, seen_at: app.clock.now() })
    return last
  })
}

/** Throws `not-held` if the attempt has ended, because an engine that died cannot report the end of a terminal. */
async function requireAttempt(tx: Tx, { build_id: buildId, attempt: number }: TerminalRow): Promise<void> {
  const attempt = await findAttempt(tx.query, buildId, number)
  if (attempt === undefined || !isLiveAttempt(attempt.status))
    throw fault('not-held', { message: 'The attempt that this terminal belongs to has ended.' })
}

/**
 * Stores output exactly once and returns the number of the last part. The latest output is kept for readers. Waits while none of them has shown the
 * oldest part and a reader is connected. Without a reader, drops the oldest parts. Throws `not-found`.
 */
export async function takeOutput(
  app: App,
  key: AttemptKey,
  { id, output, signal }: { id: string; output: TerminalOutput; signal: AbortSignal },
): Promise<number> {
  const until = app.clock.monotonic() + OUTPUT_WAIT_MS
  using watch = app.store.watch(terminalTopic(id))
  for (;;) {
    const mustStore = app.clock.monotonic() >= until || signal.aborted
    const stored = await app.store.write((tx) => storeOutput(app, tx, { key, id, output, mustStore }))
    if (stored !== undefined) return stored
    await watch.next(Math.min(1_000, until - app.clock.monotonic()), signal)
  }
}

interface Storing {
  readonly key: AttemptKey
  readonly id: string
  readonly output: TerminalOutput
  readonly mustStore: boolean
}

/** Stores output; returns undefined if it has to wait for the reader. */
async function storeOutput(app: App, tx: Tx, { key, id, output, mustStore }: Storing): Promise<number | undefined> {
  const row = await requireLocked(tx, id)
  if (row.build_id !== key.buildId || row.attempt !== key.attempt) throw notFound(id)
  await deleteParts(tx, { terminal_id: id, direction: 'in' }, output.ackSeq)
  if (output.seq !== row.out_seq + 1 || row.ended_at !== null) return row.out_seq
  const data = output.output ?? ''
  const isWatched = app.clock.now() - row.seen_at < WATCHED_MS
  const kept = data === '' ? row.out_bytes : await makeRoom(tx, row, mustStore || !isWatched)
  if (kept === undefined) return undefined
  const part = { terminal_id: id, direction: 'out', build_id: row.build_id, seq: output.seq, data, bytes: data.length } as const
  if (data !== '') await insertParts(tx, [part])
  await updateTerminal(tx, id, { out_seq: output.seq, out_bytes: kept + data.length })
  if (output.end !== undefined) await endTerminal(app, tx, { row, end: output.end })
  return output.seq
}

/** Deletes the oldest output above the size that is kept. Returns the size of the rest; undefined if a reader would miss some. */
async function makeRoom(tx: Tx, row: TerminalRow, mayDrop: boolean): Promise<number | undefined> {
  if (row.out_bytes <= KEPT_BYTES) return row.out_bytes
  const kept = await dropOldest(tx, row, { bytes: row.out_bytes, mayDrop })
  if (kept !== undefined && kept <= KEPT_BYTES) return kept
  // A server of an earlier version stores and deletes output without changing the column.
  const bytes = await countPartBytes(tx.query, { terminal_id: row.id, direction: 'out' })
  return bytes <= KEPT_BYTES ? bytes : dropOldest(tx, row, { bytes, mayDrop })
}

/** Deletes the oldest output until at most `KEPT_BYTES` of `bytes` are left. Returns their size; undefined, with nothing deleted, if a reader would miss some. */
async function dropOldest(
  tx: Tx,
  row: TerminalRow,
  { bytes: size, mayDrop }: { readonly bytes: number; readonly mayDrop: boolean },
): Promise<number | undefined> {
  const side = { terminal_id: row.id, direction: 'out' } as const
  let kept = size
  let last = 0
  while (kept > KEPT_BYTES) {
    // A program that writes single characters makes many parts, which are read a page at a time.
    const parts = await listParts(tx.query, side, last)
    if (parts.length === 0) break
    for (const { seq, bytes } of parts) {
      if (kept <= KEPT_BYTES) break
      if (seq > row.ack_seq && !mayDrop) return undefined
      kept -= bytes
      last = seq
    }
  }
  if (last > 0) await deleteParts(tx, side, last)
  return kept
}

async function endTerminal(app: App, tx: Tx, { row, end }: { row: TerminalRow; end: TerminalEnd }): Promise<void> {
  const now = app.clock.now()
  await updateTerminal(tx, row.id, { ended_at: now, exit_code: end.exitCode ?? null, message: end.message ?? null })
  const edit = await editBuild(tx, row.build_id, now)
  if (edit === undefined) return
  record(edit, { type: 'terminal.ended', data: { terminal: row.id, step: row.step, ...end } })
  await saveBuild(edit)
}

async function requireLocked(tx: Tx, id: string): Promise<TerminalRow> {
  const row = await lockTerminal(tx, id)
  if (row === undefined) throw notFound(id)
  return row
}

function notFound(id: string): Error {
  return fault('not-found', { message: `Terminal ${id} does not exist.` })
}
