/** Termination policies: builds that end because another one begins or ends (pipeline language 1.4). */
import { matchesPattern, PatternError, type Reason } from '@windlass/plan'
import type { TerminationPolicy } from '@windlass/protocol'
import { storedForms } from '../annotations/annotations.ts'
import { readPipelineSettings } from '../pipelines/settings.ts'
import { listAnnotations, listLiveAnnotated } from '../store/annotations.ts'
import { listLiveOfPipeline } from '../store/builds.ts'
import { findPipeline } from '../store/pipelines.ts'
import { editBuild, saveBuild, type BuildEdit } from './edit.ts'
import { endEarly } from './terminate.ts'

type OnBranch = Extract<TerminationPolicy, { type: 'branch' }>

/** A new build ends the earlier ones of its pipeline that its policies name. Builds are made one at a time, so that the later one wins. */
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
      for (const id of await listLiveOfPipeline(tx.query, { pipelineId: build.pipeline_id, before: build.number, ...same }))
        ids.add(id)
    } else for (const id of await findAnnotatedAlike(edit, policy)) ids.add(id)
  }
  const message = `Build ${build.number} took its place.`
  await endAll(edit, [...ids].toSorted(), { reason: 'superseded', message })
}

/** Without a pattern every branch is covered. A pattern that cannot be used covers none. */
function coversBranch({ branchName }: OnBranch, branch: string | null): boolean {
  if (branchName === undefined) return true
  try {
    return branch !== null && matchesPattern(branchName, '', branch)
  } catch (error) {
    if (error instanceof PatternError) return false
    throw error
  }
}

/** Earlier builds of the pipeline that carry the annotation of the policy with the same value as this one. */
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
  const ofPipeline = await listLiveOfPipeline(tx.query, { pipelineId: build.pipeline_id, before: build.number })
  return alike.filter((id) => ofPipeline.includes(id))
}

/** A build of a pipeline with such a policy ends before its time: what it started ends with it. */
export async function endChildren(edit: BuildEdit, ended: ReadonlySet<string>): Promise<void> {
  const { build, tx } = edit
  if (build.pipeline_id === null) return
  const pipeline = await findPipeline(tx.query, build.account_id, build.pipeline_id)
  for (const policy of readPipelineSettings(pipeline).terminationPolicy) {
    if (policy.type !== 'annotation' || policy.event !== 'onTerminate') continue
    const values = [JSON.stringify(build.id)]
    const children = await listLiveAnnotated(tx.query, { accountId: build.account_id, name: policy.key, values })
    const message = `Build ${build.number}, which started it, was terminated.`
    await endAll(
      edit,
      // Annotations may lead in a circle.
      children.filter((id) => !ended.has(id)),
      { reason: 'parent-terminated', message, ended },
    )
  }
}

async function endAll(
  { tx, now }: BuildEdit,
  ids: readonly string[],
  cause: { reason: Reason; message: string; ended?: ReadonlySet<string> },
): Promise<void> {
  for (const id of ids) {
    const other = await editBuild(tx, id, now)
    if (other === undefined) continue
    await endEarly(other, 'cancel', cause)
    await saveBuild(other)
  }
}
