/** Termination policies: builds that end because another build starts or ends. */
import { matchesPattern, PatternError } from '@windlass/plan'
import type { TerminationPolicy } from '@windlass/protocol'
import { storedForms } from '../../annotations/annotations.ts'
import { listAnnotations, listLiveAnnotated } from '../../store/builds/annotations.ts'
import { listLiveOfPipeline } from '../../store/builds/builds.ts'
import type { BuildEdit } from './edit.ts'
import { endAll } from './ends/terminate.ts'

type OnBranch = Extract<TerminationPolicy, { type: 'branch' }>

/** Ends the earlier builds that the policies of a new build cover. Builds are created one at a time, so the later one wins. */
export async function supersede(edit: BuildEdit, policies: readonly TerminationPolicy[]): Promise<void> {
  const { build, tx } = edit
  if (build.pipeline_id === null) return
  const ids = new Set<string>()
  for (const policy of policies.filter(({ event }) => event === 'onCreate')) {
    if (policy.type === 'branch') {
      if (!coversBranch(policy, build.branch)) continue
      const same = {
        ...(!policy.ignoreBranch && { branch: build.branch }),
        ...(!policy.ignoreTrigger && { triggerName: build.trigger_name }),
      }
      for (const id of await listLiveOfPipeline(tx.query, {
        accountId: build.account_id,
        pipelineId: build.pipeline_id,
        before: build.number,
        ...same,
      }))
        ids.add(id)
    } else for (const id of await findAnnotatedAlike(edit, policy)) ids.add(id)
  }
  const message = `Superseded by build ${build.number}.`
  await endAll(edit, [...ids].toSorted(), { reason: 'superseded', message })
}

/** True if the policy covers the branch. Without a pattern it covers every branch, with an invalid pattern none. */
function coversBranch({ branchName }: OnBranch, branch: string | null): boolean {
  if (branchName === undefined) return true
  try {
    return branch !== null && matchesPattern(branchName, '', branch)
  } catch (error) {
    if (error instanceof PatternError) return false
    throw error
  }
}

/** Returns the earlier builds of the pipeline whose annotation has the same value as that of this build. */
async function findAnnotatedAlike(
  { tx, build }: BuildEdit,
  { key, value }: Extract<TerminationPolicy, { type: 'annotation' }>,
): Promise<string[]> {
  const on = { account_id: build.account_id, entity: 'build', entity_id: build.id, kind: 'annotation' } as const
  const own = (await listAnnotations(tx.query, on)).find(({ name }) => name === key)?.value
  if (own === undefined || build.pipeline_id === null) return []
  const values = value === undefined ? [own] : storedForms(value).filter((form) => form === own)
  if (values.length === 0) return []
  const alike = await listLiveAnnotated(tx.query, { accountId: build.account_id, name: key, values })
  const ofPipeline = await listLiveOfPipeline(tx.query, {
    accountId: build.account_id,
    pipelineId: build.pipeline_id,
    before: build.number,
  })
  return alike.filter((id) => ofPipeline.includes(id))
}
