/**
 * The token that the steps of a build find as CF_API_KEY: it may read, start builds (whose parent this build becomes) and terminate those, and is
 * worth nothing once the build has ended. It is made from the master key each time, and stored nowhere.
 */
import { sha256 } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import type { Vault } from '../secrets/vault.ts'
import type { Query } from '../store/store.ts'
import type { Actor } from './actor.ts'

type Deriver = Pick<Vault, 'derive'>

function secretOf(vault: Deriver, buildId: string): string {
  return vault.derive(`build-token/${buildId}`)
}

/** The token of a build. */
export function buildToken(vault: Deriver, buildId: string): string {
  return `${buildId}.${secretOf(vault, buildId)}`
}

/** Whose token it is by its id, with the hash of its secret; undefined when there is no such build, or it has ended. */
export async function findBuildToken(
  query: Query,
  vault: Deriver,
  id: string,
): Promise<{ actor: Actor; hash: string } | undefined> {
  const row = await query
    .selectFrom('build')
    .select(['account_id', 'number', 'status', 'started_at'])
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined || isFinalBuild(row.status) || row.started_at === null) return undefined
  const actor = { kind: 'build', id, accountId: row.account_id, buildId: id, name: `build ${row.number}` } as const
  return { actor, hash: sha256(secretOf(vault, id)) }
}
