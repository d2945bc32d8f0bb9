/** A build once more: its document, variables and commits, whatever has changed since. */
import type { Plan } from '@windlass/plan'
import type { App } from '../app.ts'
import { findBuild, findBuildPlan } from '../store/builds.ts'
import { findPipeline } from '../store/pipelines.ts'
import { findProject } from '../store/projects.ts'
import type { BuildRow } from '../store/schema.ts'
import { openSecrets } from './build-secrets.ts'
import { requireFound } from './require-found.ts'
import { Layers } from './layers.ts'
import { chooseRuntime, compileCached, systemVariables, type Prepared, type Request } from './prepare.ts'
import { readRequest } from './request.ts'
import { readPlan, readSnapshot } from './snapshot.ts'

/** The same document, variables and commit once more. What the request itself says wins. */
export async function repeatBuild(app: App, { id, request, initiator }: Request): Promise<Prepared> {
  const { query } = app.store
  const before = requireFound(await findBuild(query, app.accountId, request.restartOf ?? ''), `build ${request.restartOf}`)
  const stored = requireFound(await findBuildPlan(query, before.id), `plan of build ${before.id}`)
  const { restartOf: _again, ...asked } = readRequest(stored)
  const branch = request.branch ?? before.branch ?? undefined
  const revision = request.revision ?? (request.branch === undefined ? (before.revision ?? undefined) : undefined)
  const pipeline = before.pipeline_id === null ? undefined : await findPipeline(query, app.accountId, before.pipeline_id)
  const runtime = await chooseRuntime(app, request.runtime ?? before.runtime ?? undefined)
  const compiled = compileCached(stored.document, asked.file ?? 'pipeline.yaml')
  const old = readPlan(stored)
  const keepsCommit = request.branch === undefined && request.revision === undefined
  const plan = keepsCommit ? await pinCommits(app, before, { old, plan: compiled.plan }) : compiled.plan
  const gathered = new Layers()
  const system = systemVariables(app, { id, initiator, name: before.pipeline ?? undefined, branch, revision })
  for (const layer of old?.variables ?? []) {
    if (layer.level === 'system') gathered.add({ level: 'system' }, system)
    else gathered.layers.push(layer)
  }
  gathered.add({ level: 'build' }, request.variables)
  Object.assign(gathered.secrets, openSecrets(app.vault, before, stored.secrets))
  gathered.addSecrets({ level: 'build' }, request.secrets)
  return {
    document: stored.document,
    pipeline,
    project: before.project_id === null ? undefined : await findProject(query, app.accountId, before.project_id),
    name: before.pipeline ?? undefined,
    runtime: runtime?.name,
    branch,
    revision,
    plan: plan === undefined ? undefined : { ...plan, variables: gathered.layers },
    problems: compiled.problems,
    missing: undefined,
    secrets: gathered.secrets,
    repeats: { ...asked, variables: { ...asked.variables, ...request.variables } },
  }
}

/** Every clone that had succeeded takes the commit it took then. */
async function pinCommits(
  app: App,
  before: BuildRow,
  { old, plan }: { old: Plan | undefined; plan: Plan | undefined },
): Promise<Plan | undefined> {
  if (old === undefined || plan === undefined) return plan
  const { steps } = await readSnapshot(app, app.store.query, { build: before, plan: old, open: false })
  return {
    ...plan,
    steps: plan.steps.map((step) => {
      const state = steps[step.name]
      const commit = state?.status === 'success' ? state.members['revision'] : undefined
      return step.action.kind !== 'git-clone' || commit === undefined || commit === ''
        ? step
        : { ...step, action: { ...step.action, revision: commit } }
    }),
  }
}
