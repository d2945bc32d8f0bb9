/** Repetition of a build with its document, variables and commits, whatever has changed since, from the start or from the failed step. */
import type { BuildPlanRow, BuildRow } from '../../store/schema/schema.ts'
import type { Compiled } from '@windlass/pipeline'
import type { MainClone, Plan } from '@windlass/plan'
import type { AccountSettings, PipelineSettings } from '@windlass/protocol'
import { readAccountSettings } from '../../account/settings.ts'
import type { App } from '../../app.ts'
import { compileSourced } from '../../documents/resolve-source.ts'
import { readPipelineSettings } from '../../pipelines/settings.ts'
import { findBuild, findBuildPlan } from '../../store/builds/builds.ts'
import { findPipeline } from '../../store/pipelines/pipelines.ts'
import { findProject } from '../../store/pipelines/projects.ts'
import { CommitTarget } from '../../statuses/commit-target.ts'
import { buildUrl } from './build-url.ts'
import { openSecrets } from './build-secrets.ts'
import { carryOver } from './carry-over.ts'
import { readStepTypes } from './compile-document.ts'
import { requireFound } from '../lifecycle/require-found.ts'
import { Layers } from './layers.ts'
import { chooseMainClone, repeatMainClone, requireRepositoryScope, type MainCloneFacts } from './main-clone.ts'
import { chooseRuntime, systemVariables, type Prepared, type Request } from './prepare.ts'
import { readRequest, type BuildRequest } from './request.ts'
import { readPlan, readSnapshot } from './snapshot.ts'

/**
 * Prepares a build with the document, variables and commit of an earlier one. Fields of the request take precedence. With `restartFrom` the plan is
 * unchanged, and the results of earlier steps are taken over. Throws `not-found`, `restart-forbidden`, `restart-impossible`.
 */
export async function repeatBuild(app: App, { id, request, initiator, trigger, access }: Request): Promise<Prepared> {
  const { query } = app.store
  const before = requireFound(await findBuild(query, app.accountId, request.restartOf ?? ''), `build ${request.restartOf}`)
  const stored = requireFound(await findBuildPlan(query, before.id), `plan of build ${before.id}`)
  const { restartOf: _again, restartFrom: _from, debug: _held, ...asked } = readRequest(stored)
  const branch = request.branch ?? before.branch ?? undefined
  const revision = request.revision ?? (request.branch === undefined ? (before.revision ?? undefined) : undefined)
  const pipeline = before.pipeline_id === null ? undefined : await findPipeline(query, app.accountId, before.pipeline_id)
  const runtime = await chooseRuntime(app, request.runtime ?? before.runtime ?? undefined, access)
  const settings = readPipelineSettings(pipeline)
  const account = await readAccountSettings(query, app.accountId)
  const old = readPlan(stored)
  const git = request.git ?? asked.git
  const keepsRepository = (request.git === undefined ? asked : request).keepsRepository
  const limits = documentLimits(asked, request)
  const gathered = new Layers()
  const system = systemVariables(app, {
    id,
    initiator,
    trigger,
    name: before.pipeline ?? undefined,
    branch,
    revision,
    git,
  })
  for (const layer of old?.variables ?? []) {
    if (layer.level === 'system') gathered.add({ level: 'system' }, system)
    else gathered.layers.push(layer)
  }
  gathered.add({ level: 'build' }, request.variables)
  const compiled = await compileSourced(
    app,
    { text: stored.document, file: asked.file ?? 'pipeline.yaml' },
    {
      variables: old?.variables ?? [],
      frozen: readStepTypes(stored),
      branch,
      revision,
      keepsDocument: limits.now,
      fetched: stored.fetched ?? undefined,
      mainClone: repeatClone(old, { settings, account, branch, revision, git, keepsRepository, layers: gathered.layers }),
    },
  )
  if (old === undefined && request.git !== undefined)
    requireRepositoryScope(compiled.plan, settings, { account, git, keepsRepository, layers: gathered.layers })
  const { plan, problems, carried } = await planRepeat(app, before, {
    old,
    from: request.restartFrom,
    isPermitted: settings.permitRestartFromFailedSteps ?? account.permitRestartFromFailedSteps,
    keepsCommit: request.branch === undefined && request.revision === undefined,
    compiled,
  })
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
      git,
      keepsRepository,
      keepsDocument: limits.later,
      variables: { ...asked.variables, ...request.variables },
      only: request.only ?? asked.only,
      skip: request.skip ?? asked.skip,
      machine: { ...asked.machine, ...request.machine },
      noCache: asked.noCache || request.noCache,
      noCfCache: asked.noCfCache || request.noCfCache,
      // The later steps need what the earlier ones left on the volume.
      resetVolume: carried === undefined && (asked.resetVolume || request.resetVolume),
    },
    deliveryId: stored.delivery_id ?? undefined,
    commitTarget: revision === before.revision ? repeatTarget(stored, buildUrl(app, id)) : undefined,
    triggerName: before.trigger_name ?? undefined,
    settings,
    account,
    carried,
  }
}

/** Returns where the repeated build is reported, with the link to the new one. The message of the new one replaces that of the repeated one. */
function repeatTarget({ build_id: id, commit_target: stored }: BuildPlanRow, url: string): CommitTarget | undefined {
  if (stored === null) return undefined
  const target = CommitTarget.parse(JSON.parse(stored))
  return { ...target, first: target.first ?? id, url }
}

/**
 * Returns whether the document is kept now, and in later repetitions, which use the variables of this one. A caller who may not run commands can
 * repeat a build of another caller, but cannot move its document.
 */
function documentLimits(
  asked: Pick<BuildRequest, 'keepsDocument' | 'keepsRepository'>,
  { keepsRepository: isLimited = false, branch, revision, variables }: Request['request'],
): { readonly now: boolean; readonly later: boolean } {
  const wasLimited = asked.keepsDocument ?? asked.keepsRepository ?? false
  const isMoved = branch !== undefined || revision !== undefined
  const now = wasLimited || (isLimited && isMoved)
  return { now, later: now || (isLimited && Object.keys(variables).length > 0) }
}

interface RepeatedClone extends MainCloneFacts {
  readonly settings: PipelineSettings
  readonly account: AccountSettings
}

/** Returns the automatic clone of the earlier build, at the commit of this one. A build without a plan has no recorded clone. */
function repeatClone(old: Plan | undefined, { settings, account, ...facts }: RepeatedClone): MainClone | undefined {
  if (old === undefined) return chooseMainClone(settings, account, facts)
  return old.mainClone === undefined ? undefined : repeatMainClone(old.mainClone, facts)
}

interface RepeatInput {
  readonly old: Plan | undefined
  readonly from: string | undefined
  readonly isPermitted: boolean
  readonly keepsCommit: boolean
  readonly compiled: Compiled
}

async function planRepeat(
  app: App,
  before: BuildRow,
  { old, from, isPermitted, keepsCommit, compiled }: RepeatInput,
): Promise<Pick<Prepared, 'plan' | 'problems' | 'carried'>> {
  const { problems } = compiled
  if (from !== undefined) return { plan: old, problems, carried: await carryOver(app, before, { plan: old, from, isPermitted }) }
  return { plan: keepsCommit ? await pinCommits(app, before, { old, plan: compiled.plan }) : compiled.plan, problems }
}

/** Pins every clone step that succeeded before to the commit that it cloned then. */
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
