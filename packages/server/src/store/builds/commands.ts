import type { Command } from '@windlass/protocol'
import type { CommandRow } from '../schema/schema.ts'
import { prepared } from '../database/prepared.ts'
import type { Query, Tx } from '../store.ts'

/** Returns the topic that an engine watches while it waits for commands. */
export function commandTopic(buildId: string): string {
  return `commands:${buildId}`
}

type Body<C> = C extends { id: number } ? Omit<C, 'id' | 'at'> : never
/** A command before it is numbered. */
export type NewCommand = Body<Command>

/** Numbers and stores the command; the build row must be locked. */
export async function insertCommand(
  tx: Tx,
  to: Pick<CommandRow, 'build_id' | 'attempt' | 'at'>,
  { type, ...fields }: NewCommand,
): Promise<void> {
  const last = await tx.query
    .selectFrom('command')
    .select((expression) => expression.fn.max('id').as('id'))
    .where('build_id', '=', to.build_id)
    .executeTakeFirst()
  await tx.query
    .insertInto('command')
    .values({ ...to, id: (last?.id ?? 0) + 1, type, data: JSON.stringify(fields) })
    .execute()
  tx.wake(commandTopic(to.build_id))
}

const listAfter = prepared((query: Query, buildId: string, attempt: number, after: number) =>
  query
    .selectFrom('command')
    .selectAll()
    .where('build_id', '=', buildId)
    .where('attempt', '=', attempt)
    .where('id', '>', after)
    .orderBy('id'),
)

/** Lists commands for an attempt after the given number. */
export async function listCommands(
  query: Query,
  key: { buildId: string; attempt: number; after: number },
): Promise<CommandRow[]> {
  return listAfter(query, key.buildId, key.attempt, key.after)
}

const listOfType = prepared((query: Query, buildId: string, type: Command['type']) =>
  query.selectFrom('command').selectAll().where('build_id', '=', buildId).where('type', '=', type).orderBy('id'),
)

/** Lists all commands of a type that a build ever got, oldest first. */
export async function listAllCommands(query: Query, buildId: string, type: Command['type']): Promise<CommandRow[]> {
  return listOfType(query, buildId, type)
}
