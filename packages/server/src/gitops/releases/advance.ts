/** A release as a state machine: steps begin when those before them have succeeded, and each promotes its applications. Pure apart from the draft and the effects that it fills. */
import { defined } from '@windlass/kit'
import type { ReleaseStatus, ReleaseStepState } from '@windlass/protocol'
import { componentOf, nameOfApplication } from '../products/membership.ts'
import { commonVersion } from '../products/versions.ts'
import { runHook, type HookOutcome } from './hooks.ts'
import { advancePromotion, isEnded, type Going } from './promotion.ts'
import type { StoredPromotion, StoredRelease, StoredStep } from './stored-release.ts'
import type { World } from './world.ts'

/** Applications of one environment that a release promotes. */
export const MAX_TARGETS = 200

/** Longest message for hooks: it is a variable of their steps. Characters. */
const MAX_ERROR = 4_000

export interface Draft {
  readonly release: StoredRelease
  readonly names: Going['names']
}

const ENDED: ReadonlySet<ReleaseStepState> = new Set(['succeeded', 'failed', 'terminated', 'skipped'])

/** Goes on with a release that runs. Returns its status. */
export function advanceRelease(draft: Draft, world: World): ReleaseStatus {
  const { release } = draft
  if (release.termination !== undefined) return terminate(draft, world)
  const started = runReleaseHook(draft, 'onStart', world)
  if (started === 'waits') return wait(release, `Waits for a build of the pipeline "${release.hooks.onStart}".`)
  if (started !== 'succeeded') return end(release, 'failed', started.why)
  // A step that ends lets others begin.
  for (let before = ''; before !== statesOf(release);) {
    before = statesOf(release)
    for (const step of release.steps) advanceStep(draft, step, world)
  }
  noteVersion(release)
  const open = release.steps.filter(({ state }) => !ENDED.has(state))
  const running = open.filter(({ state }) => state === 'running')
  const active = open.filter(({ state }) => state !== 'pending')
  if (active.length > 0) {
    release.why = active.flatMap((step) => step.why ?? [])[0]
    return running.length === 0 ? 'suspended' : 'running'
  }
  return finish(draft, world)
}

function statesOf({ steps }: StoredRelease): string {
  return steps.map(({ state }) => state).join()
}

function wait(release: StoredRelease, why: string): ReleaseStatus {
  release.why = why
  return 'running'
}

function end(release: StoredRelease, status: 'succeeded' | 'failed' | 'terminated', why: string | undefined): ReleaseStatus {
  release.why = why
  for (const step of release.steps) if (step.state === 'pending') step.state = 'skipped'
  return status
}

/** Ends a release whose steps have ended, after its last hook. */
function finish(draft: Draft, world: World): ReleaseStatus {
  const { release } = draft
  const failed = release.steps.filter(({ state }) => state === 'failed')
  const hook = failed.length === 0 ? 'onSuccess' : 'onFail'
  const why = failed.map(({ environment, why: said }) => `${environment}: ${said ?? 'failed'}`).join(' ')
  const done = runReleaseHook(draft, hook, world, why)
  if (done === 'waits') return wait(release, `Waits for a build of the pipeline "${release.hooks[hook]}".`)
  if (failed.length > 0) return end(release, 'failed', why)
  return done === 'succeeded' ? end(release, 'succeeded', undefined) : end(release, 'failed', done.why)
}

type HookName = 'onStart' | 'onSuccess' | 'onFail'

function runReleaseHook({ release, names }: Draft, hook: HookName, world: World, error?: string): HookOutcome {
  const failed = release.steps.filter(({ state }) => state === 'failed').map(({ environment }) => environment)
  const variables = hookVariables({ release, names }, { error, failed })
  return runHook({ builds: release.builds, hook, pipeline: release.hooks[hook], variables }, world)
}

interface HookError {
  readonly error: string | undefined
  readonly failed: readonly string[]
}

/** Parameters of hooks, with the names of public runtimes. */
function hookVariables({ release, names }: Draft, { error, failed }: HookError): Record<string, string> {
  const [source] = release.sources
  return {
    PRODUCT_NAME: names.product,
    RELEASE_ID: names.id,
    ...defined({
      PROMOTION_FLOW_NAME: release.flow,
      VERSION: release.version,
      COMMIT_SHA: source?.place.revision,
      ERROR_MESSAGE: error === '' ? undefined : error?.slice(0, MAX_ERROR),
      FAILED_ENVIRONMENTS: failed.length === 0 ? undefined : failed.join(','),
    }),
  }
}

function noteVersion(release: StoredRelease): void {
  const known = release.steps.flatMap(({ promotions }) => promotions).filter(({ version }) => version !== undefined)
  release.version = commonVersion(known) ?? release.version
}

function advanceStep(draft: Draft, step: StoredStep, world: World): void {
  if (step.state === 'pending') beginStep(draft, step)
  if (step.state !== 'running' && step.state !== 'suspended') return
  const started = runStepHook(draft, step, 'onStart', world)
  if (started === 'waits') return waitFor(step, step.hooks.onStart)
  if (started !== 'succeeded') return endStep(step, 'failed', started.why)
  if (!step.isPlanned) {
    const targets = world.targetsOf(step.environment)
    if (targets.length > MAX_TARGETS)
      return endStep(
        step,
        'failed',
        `The product has ${targets.length} applications in the environment "${step.environment}", and a release promotes at most ${MAX_TARGETS}.`,
      )
    addPromotions(draft, step, targets, world)
  }
  for (const promotion of step.promotions) {
    const source = draft.release.sources.find(({ application }) => application === promotion.from)
    advancePromotion({ promotion, step, release: draft.release, source, names: draft.names }, world)
  }
  settleStep(draft, step, world)
}

function waitFor(step: StoredStep, pipeline: string | undefined): void {
  step.state = 'running'
  step.why = `Waits for a build of the pipeline "${pipeline}".`
}

function endStep(step: StoredStep, state: 'succeeded' | 'failed', why: string | undefined): void {
  step.state = state
  step.why = why
}

function runStepHook(draft: Draft, step: StoredStep, hook: HookName, world: World): HookOutcome {
  const error = step.promotions.flatMap(({ state, why }) => (state === 'failed' ? (why ?? []) : [])).join(' ')
  const failed = hook === 'onFail' ? [step.environment] : []
  const variables = { ...hookVariables(draft, { error, failed }), ENVIRONMENT: step.environment }
  return runHook({ builds: step.builds, hook, pipeline: step.hooks[hook], variables }, world)
}

function beginStep({ release }: Draft, step: StoredStep): void {
  const needed = release.steps.filter(({ environment }) => step.dependsOn.includes(environment))
  if (needed.some(({ state }) => state === 'failed' || state === 'terminated' || state === 'skipped')) step.state = 'skipped'
  else if (needed.every(({ state }) => state === 'succeeded')) step.state = 'running'
}

/** Decides what a step promotes. The applications that are there when it begins count. */
function addPromotions({ release }: Draft, step: StoredStep, targets: ReturnType<World['targetsOf']>, world: World): void {
  step.isPlanned = true
  // A release that is tried again has promotions.
  const known = new Set(step.promotions.map(({ applicationId }) => applicationId))
  for (const target of targets.filter(({ id }) => !known.has(id))) {
    const component = componentOf(target, step.environment)
    const [only, ...others] = release.sources
    const isPair = others.length === 0 && targets.length === 1
    const source = isPair ? only : release.sources.find((one) => one.component === component)
    const name = nameOfApplication(target)
    const application = world.applications.get(target.id)
    const [place, ...more] = application?.sources ?? []
    const problem =
      source === undefined
        ? `The environment "${release.from}" has no application for "${name}". Give both the same label windlass.io/component.`
        : problemOfSources(name, { place, more: more.length })
    step.promotions.push({
      change: world.newId(),
      application: name,
      applicationId: target.id,
      runtimeId: target.runtime_id,
      from: source?.application ?? '',
      state: problem === undefined ? 'pending' : 'failed',
      action: step.policy.action,
      target: { repo: place?.repo ?? '', path: place?.path ?? '', revision: place?.revision ?? '' },
      builds: [],
      changedAt: world.now,
      ...defined({ before: application?.revisions[0], why: problem }),
    })
  }
}

interface Sources {
  readonly place: { readonly repo: string; readonly chart?: string | undefined; readonly path?: string | undefined } | undefined
  /** Number of further sources. */
  readonly more: number
}

/** Returns why an application cannot take part in a release; undefined if it can. */
export function problemOfSources(name: string, { place, more }: Sources): string | undefined {
  if (place === undefined) return `The application "${name}" has no source.`
  if (more > 0) return `The application "${name}" has several sources, and a promotion changes one folder.`
  return place.chart === undefined
    ? undefined
    : `The application "${name}" is the chart "${place.chart}", and not a folder of a repository.`
}

/** Finds out what became of a step from its promotions. */
function settleStep(draft: Draft, step: StoredStep, world: World): void {
  const { promotions, environment } = step
  if (promotions.length === 0)
    return endStep(step, 'failed', `The product has no application in the environment "${environment}".`)
  const open = promotions.filter(({ state }) => !isEnded(state))
  if (open.length > 0) {
    step.state = open.every(({ state }) => state === 'suspended') ? 'suspended' : 'running'
    step.why = open.flatMap(({ why }) => why ?? [])[0]
    return undefined
  }
  const failed = promotions.filter(({ state }) => state !== 'succeeded')
  const hook = failed.length === 0 ? 'onSuccess' : 'onFail'
  const done = runStepHook(draft, step, hook, world)
  if (done === 'waits') return waitFor(step, step.hooks[hook])
  if (failed.length > 0) return endStep(step, 'failed', failed.flatMap(({ why }) => why ?? []).join(' '))
  return done === 'succeeded' ? endStep(step, 'succeeded', undefined) : endStep(step, 'failed', done.why)
}

/** Ends what has not begun, and waits for errands that an app-proxy has taken: they may have an effect. */
function terminate({ release }: Draft, world: World): ReleaseStatus {
  const promotions = release.steps.flatMap((step) => step.promotions)
  for (const promotion of promotions) if (!isEnded(promotion.state)) endPromotion(promotion, world)
  const open = promotions.filter(({ state }) => !isEnded(state))
  if (open.length > 0) {
    release.why = 'Waits for the app-proxy to finish a change that it has begun.'
    return 'terminating'
  }
  for (const step of release.steps) if (!ENDED.has(step.state)) step.state = step.state === 'pending' ? 'skipped' : 'terminated'
  return end(release, 'terminated', release.termination)
}

function endPromotion(promotion: StoredPromotion, { errands, effects, now }: World): void {
  const errand = promotion.errand === undefined ? undefined : errands.get(promotion.errand)
  if (errand?.state === 'taken' && errand.dueAt > now) return
  if (errand !== undefined) effects.deleted.push(errand.id)
  if (errand?.result?.kind === 'promote') {
    promotion.revision = errand.result.revision
    Object.assign(promotion, defined({ pull: errand.result.pull }))
  }
  promotion.errand = undefined
  promotion.state = 'terminated'
  promotion.changedAt = now
}
