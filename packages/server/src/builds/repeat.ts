/** A build once more: its document, variables and commits, whatever has changed since; from its beginning or from where it failed. */
import type { BuildRow } from '../store/schema.ts'
import type { Compiled } from '@windlass/pipeline'
import type { Plan } from '@windlass/plan'
import { readAccountSettings } from '../account/settings.ts'
import type { App } from '../app.ts'
import { compileSourced } from '../documents/resolve-source.ts'
import { readPipelineSettings } from '../pipelines/settings.ts'
import { findBuild, findBuildPlan } from '../store/builds.ts'
import { findPipeline } from '../store/pipelines.ts'
import { findProject } from '../store/projects.ts'
import { openSecrets } from './build-secrets.ts'
import { carryOver } from './carry-over.ts'
import { readStepTypes } from './compile-document.ts'
import { requireFound } from './require-found.ts'
import { Layers } from './layers.ts'
import { chooseRuntime, systemVariables, type Prepared, type Request } from './prepare.ts'
import { readRequest } from './request.ts'
import { readPlan, readSnapshot } from './snapshot.ts'

/**
 * The same document, variables and commit once more. What the request itself says wins. With `restartFrom` the plan is the very same, and
 * what earlier steps gave is taken over. Throws `not-found`, `restart-forbidden`, `restart-impossible`.
 */
export async function repeatBuild(app: App, { id, request, initiator }: Request): Promise<Prepared> {
  const { query } = app.store
  const before = requireFound(await findBuild(query, app.accountId, request.restartOf ?? ''), `build ${request.restartOf}`)
  const stored = requireFound(await findBuildPlan(query, before.id), `plan of build ${before.id}`)
  const { restartOf: _again, restartFrom: _from, debug: _held, ...asked } = readRequest(stored)
  const branch = request.branch ?? before.branch ?? undefined
  const revision = request.revision ?? (request.branch === undefined ? (before.revision ?? undefined) : undefined)
  const pipeline = before.pipeline_id === null ? undefined : await findPipeline(query, app.accountId, before.pipeline_id)
  const runtime = await chooseRuntime(app, request.runtime ?? before.runtime ?? undefined)
  const settings = readPipelineSettings(pipeline)
  const account = await readAccountSettings(query, app.accountId)
  const old = readPlan(stored)
  const compiled = await compileSourced(
    app,
    { text: stored.document, file: asked.file ?? 'pipeline.yaml' },
    { variables: old?.variables ?? [], frozen: readStepTypes(stored), branch, revision, fetched: stored.fetched ?? undefined },
  )
  const { plan, problems, carried } = await planAgain(app, before, {
    old,
    from: request.restartFrom,
    isPermitted: settings.permitRestartFromFailedSteps ?? account.permitRestartFromFailedSteps,
    keepsCommit: request.branch === undefined && request.revision === undefined,
    compiled,
  })
  const gathered = new Layers()
  const system = systemVariables(app, {
    id,
    initiator,
    name: before.pipeline ?? undefined,
    branch,
    revision,
    git: request.git ?? asked.git,
  })
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
    problems,
    stepTypes: compiled.stepTypes,
    fetched: compiled.fetched,
    missing: undefined,
    secrets: gathered.secrets,
    fills: {
      ...asked,
      variables: { ...asked.variables, ...request.variables },
      only: request.only ?? asked.only,
      skip: request.skip ?? asked.skip,
      machine: { ...asked.machine, ...request.machine },
      noCache: asked.noCache || request.noCache,
      noCfCache: asked.noCfCache || request.noCfCache,
      // What the steps before left on the volume is what the later ones need.
      resetVolume: carried === undefined && (asked.resetVolume || request.resetVolume),
    },
    settings,
    account,
    carried,
  }
}

interface Again {
  readonly old: Plan | undefined
  readonly from: string | undefined
  readonly isPermitted: boolean
  readonly keepsCommit: boolean
  readonly compiled: Compiled
}

async function planAgain(
  app: App,
  before: BuildRow,
  { old, from, isPermitted, keepsCommit, compiled }: Again,
): Promise<Pick<Prepared, 'plan' | 'problems' | 'carried'>> {
  const { problems } = compiled
  if (from !== undefined) return { plan: old, problems, carried: await carryOver(app, before, { plan: old, from, isPermitted }) }
  return { plan: keepsCommit ? await pinCommits(app, before, { old, plan: compiled.plan }) : compiled.plan, problems }
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
