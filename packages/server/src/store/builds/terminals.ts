import type { TerminalPartRow, TerminalRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** Returns the topic that both sides of a terminal watch. */
export function terminalTopic(id: string): string {
  return `terminal:${id}`
}

export async function insertTerminal(tx: Tx, row: TerminalRow): Promise<void> {
  await tx.query.insertInto('terminal').values(row).execute()
}

export async function findTerminal(query: Query, id: string): Promise<TerminalRow | undefined> {
  return query.selectFrom('terminal').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Finds a terminal and locks it until the end of the transaction. */
export async function lockTerminal(tx: Tx, id: string): Promise<TerminalRow | undefined> {
  return tx.query.selectFrom('terminal').selectAll().where('id', '=', id).$call(tx.forUpdate).executeTakeFirst()
}

/** Lists the terminals of a build, oldest first. */
export async function listTerminals(query: Query, buildId: string): Promise<TerminalRow[]> {
  return query.selectFrom('terminal').selectAll().where('build_id', '=', buildId).orderBy('created_at').orderBy('id').execute()
}

export async function updateTerminal(tx: Tx, id: string, changes: Partial<TerminalRow>): Promise<void> {
  await tx.query.updateTable('terminal').set(changes).where('id', '=', id).execute()
  tx.wake(terminalTopic(id))
}

export async function insertParts(tx: Tx, parts: readonly TerminalPartRow[]): Promise<void> {
  if (parts.length > 0)
    await tx.query
      .insertInto('terminal_part')
      .values([...parts])
      .execute()
}

type Side = Pick<TerminalPartRow, 'terminal_id' | 'direction'>

/** Lists parts after a number, in order. */
export async function listParts(query: Query, side: Side, after: number): Promise<TerminalPartRow[]> {
  return query
    .selectFrom('terminal_part')
    .selectAll()
    .where('terminal_id', '=', side.terminal_id)
    .where('direction', '=', side.direction)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(100)
    .execute()
}

/** Deletes parts up to a number. */
export async function deleteParts(tx: Tx, side: Side, upTo: number): Promise<void> {
  await tx.query
    .deleteFrom('terminal_part')
    .where('terminal_id', '=', side.terminal_id)
    .where('direction', '=', side.direction)
    .where('seq', '<=', upTo)
    .execute()
}

/** Counts the unread bytes in one direction. */
export async function countPartBytes(query: Query, side: Side): Promise<number> {
  const row = await query
    .selectFrom('terminal_part')
    .select((of) => of.fn.sum<number>('bytes').as('bytes'))
    .where('terminal_id', '=', side.terminal_id)
    .where('direction', '=', side.direction)
    .executeTakeFirst()
  return Number(row?.bytes ?? 0)
}

/** Deletes the output of terminals that ended before a time, or whose build did: an engine that died reports no end. Their recordings are in the log. */
export async function deleteEndedOutput(tx: Tx, before: number): Promise<void> {
  const ended = tx.query.selectFrom('terminal').select('id').where('ended_at', '<', before)
  await tx.query.deleteFrom('terminal_part').where('terminal_id', 'in', ended).execute()
  await tx.query
    .deleteFrom('terminal_part')
    .where((of) =>
      of.exists(
        of
          .selectFrom('build')
          .select('build.id')
          .whereRef('build.id', '=', 'terminal_part.build_id')
          .where('finished_at', '<', before),
      ),
    )
    .execute()
}
