/** The last reports of the checks of agents. */
import type { AgentCheckRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** Replaces the report of the same agent and source. */
export async function saveChecks(tx: Tx, row: AgentCheckRow): Promise<void> {
  await tx.query
    .insertInto('agent_check')
    .values(row)
    .onConflict((conflict) => conflict.columns(['agent_id', 'source']).doUpdateSet(row))
    .execute()
}

export async function listChecksOf(query: Query, agentId: string): Promise<AgentCheckRow[]> {
  return query.selectFrom('agent_check').selectAll().where('agent_id', '=', agentId).orderBy('source').execute()
}

/** Lists the reports of all agents since a time. */
export async function listChecks(query: Query, accountId: string, since: number): Promise<AgentCheckRow[]> {
  return query.selectFrom('agent_check').selectAll().where('account_id', '=', accountId).where('at', '>=', since).execute()
}
