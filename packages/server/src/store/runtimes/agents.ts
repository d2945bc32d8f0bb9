import type { AgentRow } from '../schema/schema.ts'
import { preparedOne, preparedWrite } from '../database/prepared.ts'
import type { Query, Tx } from '../store.ts'
import { deleteReportsOf } from './disks.ts'

export async function insertAgent(tx: Tx, agent: AgentRow): Promise<void> {
  await tx.query.insertInto('agent').values(agent).execute()
}

const findById = preparedOne((query: Query, id: string) => query.selectFrom('agent').selectAll().where('id', '=', id))

export async function findAgentById(query: Query, id: string): Promise<AgentRow | undefined> {
  return findById(query, id)
}

const lock = preparedOne((tx: Tx, id: string) =>
  tx.query.selectFrom('agent').selectAll().where('id', '=', id).$call(tx.forUpdate),
)

export async function lockAgent(tx: Tx, id: string): Promise<AgentRow | undefined> {
  return lock(tx, id)
}

/** Finds an agent by id or name. */
export async function findAgent(query: Query, accountId: string, name: string): Promise<AgentRow | undefined> {
  return query
    .selectFrom('agent')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((expression) => expression.or([expression('id', '=', name), expression('name', '=', name)]))
    .executeTakeFirst()
}

export async function listAgents(query: Query, accountId: string): Promise<AgentRow[]> {
  return query.selectFrom('agent').selectAll().where('account_id', '=', accountId).orderBy('name').execute()
}

const update = preparedWrite((tx, changes: Partial<AgentRow>, id: string) =>
  tx.query.updateTable('agent').set(changes).where('id', '=', id),
)

export async function updateAgent(tx: Tx, id: string, changes: Partial<AgentRow>): Promise<void> {
  await update(tx, changes, id)
}

/** Updates the runtimes that refer to the agent by its old name. */
export async function renameAgent(tx: Tx, agent: Pick<AgentRow, 'account_id' | 'name'>, name: string): Promise<void> {
  await tx.query
    .updateTable('runtime')
    .set({ agent: name })
    .where('account_id', '=', agent.account_id)
    .where('agent', '=', agent.name)
    .execute()
}

export async function deleteAgent(tx: Tx, id: string): Promise<void> {
  await deleteReportsOf(tx, id)
  await tx.query.deleteFrom('agent').where('id', '=', id).execute()
}

/** Returns the changes of an agent row after a call. A call after a pause of more than `suspectMs` restarts `heard_since`. */
export function calledAt(
  agent: Pick<AgentRow, 'last_seen_at' | 'heard_since'>,
  now: number,
  { suspectMs }: { suspectMs: number },
): Pick<AgentRow, 'last_seen_at' | 'heard_since'> {
  const isNew = agent.last_seen_at === null || now - agent.last_seen_at > suspectMs
  return { last_seen_at: now, heard_since: isNew ? now : agent.heard_since }
}

/** Returns true if the last call of the agent is within its lease. */
export function isOnline(agent: Pick<AgentRow, 'last_seen_at'>, now: number, leaseMs: number): boolean {
  return agent.last_seen_at !== null && agent.last_seen_at > now - leaseMs
}
