import { insertRuntimeVersion, listRuntimes, saveRuntime } from '../store/runtimes/runtimes.ts'
import type { AgentRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'

/** Removes the agent from the runtimes that name it, except those in `kept`. Each of them gets a version, so that its ETag changes. */
export async function detachRuntimes(
  tx: Tx,
  { account_id: accountId, name }: Pick<AgentRow, 'account_id' | 'name'>,
  { kept, by, now }: { readonly kept: readonly string[]; readonly by: string; readonly now: number },
): Promise<void> {
  const detached = (await listRuntimes(tx.query, accountId)).filter((row) => row.agent === name && !kept.includes(row.name))
  for (const row of detached) {
    const version = row.version + 1
    await saveRuntime(tx, { ...row, agent: null, version, changed_by: by, updated_at: now })
    const { id, layer } = row
    const description = `detached from the agent ${name}`
    await insertRuntimeVersion(tx, {
      account_id: accountId,
      runtime_id: id,
      version,
      layer,
      changed_by: by,
      description,
      created_at: now,
    })
  }
}
