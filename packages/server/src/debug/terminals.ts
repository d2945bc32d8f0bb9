/** Terminals in held steps: opened by a person, carried through the store, ended by the engine. */
import { fault, newId } from '@windlass/kit'
import type { TerminalEnd, TerminalInput, TerminalInputBatch, TerminalOutput, TerminalRecord } from '@windlass/protocol'
import type { App } from '../app.ts'
import { editBuild, record, saveBuild } from '../builds/edit.ts'
import type { AttemptKey } from '../builds/engine-claim.ts'
import { insertCommand } from '../store/commands.ts'
import type { TerminalPartRow, TerminalRow } from '../store/schema.ts'
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
} from '../store/terminals.ts'
import type { Tx } from '../store/store.ts'
import { editOpenBuild, requireHeld } from './debug.ts'
import { toRecord } from './record.ts'

/** Bytes on their way in one direction; whoever adds to them waits beyond. */
const MOST_BYTES = 262_144
/** Somebody who was heard of that recently still looks. */
const WATCHED_MS = 15_000
/** A writer of output waits so long for the reader; then the oldest output goes. */
const PATIENCE_MS = 20_000
const MOST_OPEN = 20

/** Asks the engine for a terminal; its output says whether it could be had. Throws `not-found`, `build-final`, `not-held`, `rate-limited`. */
export async function openTerminal(
  app: App,
  id: string,
  { input, by }: { input: TerminalInput; by: string },
): Promise<TerminalRecord> {
  const { step: wanted, ...shape } = input
  return app.store.write(async (tx) => {
    const edit = await editOpenBuild(app, await editBuild(tx, id, app.clock.now()), id)
    const { step, phase } = await requireHeld(tx.query, id, wanted)
    const open = (await listTerminals(tx.query, id)).filter(({ ended_at: endedAt }) => endedAt === null)
    if (open.length >= MOST_OPEN) throw fault('rate-limited', { message: `The build has ${MOST_OPEN} open terminals already.` })
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
    return toRecord(row)
  })
}

/** The terminal of a build. Throws `not-found`. */
export async function getTerminal(app: App, buildId: string, id: string): Promise<TerminalRow> {
  const row = await findTerminal(app.store.query, id)
  if (row === undefined || row.build_id !== buildId || row.account_id !== app.accountId)
    throw fault('not-found', { message: `There is no terminal ${id} of build ${buildId}.` })
  return row
}

/** Stores keys and sizes, once each; answers the number of the last one. Throws `not-found`, `rate-limited` when the engine does not take them. */
export async function typeInto(app: App, { build_id: buildId, id }: TerminalRow, batch: TerminalInputBatch): Promise<number> {
  return app.store.write(async (tx) => {
    const row = await requireLocked(tx, id)
    if (batch.ackSeq !== undefined) await deleteParts(tx, { terminal_id: id, direction: 'out' }, batch.ackSeq)
    const parts = batch.parts
      .map((part, index): TerminalPartRow => {
        const data = JSON.stringify(part)
        return { terminal_id: id, build_id: buildId, direction: 'in', seq: batch.seq + index, data, bytes: data.length }
      })
      .filter(({ seq }) => seq > row.in_seq)
    if (parts.length > 0 && (await countPartBytes(tx.query, { terminal_id: id, direction: 'in' })) > MOST_BYTES)
      throw fault('rate-limited', { message: 'The engine does not take keys as fast as they come.' })
    const isNext = parts[0]?.seq === row.in_seq + 1
    if (isNext && row.ended_at === null) await insertParts(tx, parts)
    const last = isNext ? (parts.at(-1)?.seq ?? row.in_seq) : row.in_seq
    await updateTerminal(tx, id, { in_seq: last, seen_at: app.clock.now() })
    return last
  })
}

/**
 * Stores output, once each; answers the number of the last one. Holds the call while too much is on its way to somebody who looks; what
 * nobody looks at loses its oldest parts. Throws `not-found`.
 */
export async function takeOutput(
  app: App,
  key: AttemptKey,
  { id, output, signal }: { id: string; output: TerminalOutput; signal: AbortSignal },
): Promise<number> {
  const until = app.clock.monotonic() + PATIENCE_MS
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

/** Undefined when there is no room yet. */
async function storeOutput(app: App, tx: Tx, { key, id, output, mustStore }: Storing): Promise<number | undefined> {
  const row = await requireLocked(tx, id)
  if (row.build_id !== key.buildId || row.attempt !== key.attempt) throw notFound(id)
  await deleteParts(tx, { terminal_id: id, direction: 'in' }, output.ackSeq)
  if (output.seq !== row.out_seq + 1 || row.ended_at !== null) return row.out_seq
  const side = { terminal_id: id, direction: 'out' } as const
  if (output.output !== undefined && (await countPartBytes(tx.query, side)) > MOST_BYTES) {
    const isWatched = app.clock.now() - row.seen_at < WATCHED_MS
    if (isWatched && !mustStore) return undefined
    await deleteParts(tx, side, (await listParts(tx.query, side, 0))[0]?.seq ?? 0)
  }
  const data = output.output ?? ''
  if (data !== '') await insertParts(tx, [{ ...side, build_id: row.build_id, seq: output.seq, data, bytes: data.length }])
  await updateTerminal(tx, id, { out_seq: output.seq })
  if (output.end !== undefined) await endTerminal(app, tx, { row, end: output.end })
  return output.seq
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
  return fault('not-found', { message: `There is no terminal ${id}.` })
}
