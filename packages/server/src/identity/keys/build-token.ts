/**
 * The token that the steps of a build get as CF_API_KEY; `step-rights.ts` lists what it may do. It belongs to one attempt and is invalid once that
 * attempt has ended. It is derived from the master key of the attempt each time and never stored.
 */
import { sha256 } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import { isLiveAttempt, type AttemptKey } from '../../store/builds/attempts.ts'
import type { Vault } from '../../secrets/vault.ts'
import type { Query } from '../../store/store.ts'
import type { StepActor } from '../actor.ts'

type Deriver = Pick<Vault, 'derive'>

function secretOf(vault: Deriver, keyId: string, { buildId, attempt }: AttemptKey): string {
  return vault.derive(keyId, `build-token/${buildId}/${attempt}`)
}

/** Derives the token of an attempt. `keyId` is the id of the master key that the attempt was created with. */
export function buildToken(vault: Deriver, keyId: string, attempt: AttemptKey): string {
  return `${attempt.buildId}.${secretOf(vault, keyId, attempt)}`
}

/** Finds the build of a token id, with the hash of the secret of its current attempt; undefined if no attempt is running. */
export async function findBuildToken(
  query: Query,
  vault: Deriver,
  id: string,
): Promise<{ actor: StepActor; hash: string } | undefined> {
  const row = await query
    .selectFrom('build')
    .innerJoin('attempt', (join) => join.onRef('attempt.build_id', '=', 'build.id').onRef('attempt.number', '=', 'build.attempt'))
    .select(['build.account_id', 'build.number', 'build.status', 'build.attempt', 'build.pipeline_id', 'build.pipeline'])
    .select(['build.project_id', 'attempt.status as attempt_status', 'attempt.claim_key', 'attempt.key_id'])
    .where('build.id', '=', id)
    .executeTakeFirst()
  if (row === undefined || isFinalBuild(row.status) || row.claim_key === null || !isLiveAttempt(row.attempt_status))
    return undefined
  const { account_id: accountId, attempt, pipeline_id: pipelineId, project_id: projectId } = row
  const pipeline = pipelineId === null ? null : row.pipeline
  const actor = {
    kind: 'build',
    id,
    accountId,
    buildId: id,
    attempt,
    name: `build ${row.number}`,
    pipelineId,
    pipeline,
    projectId,
  } as const
  return { actor, hash: sha256(secretOf(vault, row.key_id, { buildId: id, attempt })) }
}
