/**
 * The promotion of one application, as a state machine: each call looks at what is known now and goes on as far as that allows. Calling it again without news changes nothing, so a crash
 * between two calls costs nothing.
 */
import { backoffMs, defined } from '@windlass/kit'
import type { Application, ErrandResult, ErrandWork, PromotionState } from '@windlass/protocol'
import { runHook } from './hooks.ts'
import type { StoredPromotion, StoredRelease, StoredSource, StoredStep } from './stored-release.ts'
import type { World } from './world.ts'

const RETRY = { baseMs: 2_000, maxMs: 60_000 }
/** Tries of one errand, which take about a quarter of an hour. */
const MAX_TRIES = 20
/** How often an open pull request is looked at. Milliseconds. */
const PULL_MS = 10_000
/** How long an errand can wait until its app-proxy is missed. Milliseconds. */
const PATIENCE_MS = 30_000
const MINUTE_MS = 60_000

/** A promotion that is to go on, in its release. */
export interface Going {
  readonly promotion: StoredPromotion
  readonly step: StoredStep
  readonly release: StoredRelease
  readonly source: StoredSource | undefined
  /** Fields for messages and hooks. */
  readonly names: { readonly id: string; readonly product: string; readonly number: number }
}

export function isEnded(state: PromotionState): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'terminated'
}

/** Goes on until the promotion waits or has ended. */
export function advancePromotion(going: Going, world: World): void {
  const { promotion } = going
  for (let before: PromotionState | undefined; before !== promotion.state && !isEnded(promotion.state);) {
    before = promotion.state
    STATES[promotion.state]?.(going, world)
  }
}

type Advance = (going: Going, world: World) => void

const STATES: Partial<Readonly<Record<PromotionState, Advance>>> = {
  pending: (going, world) => enter(going.promotion, 'before', world),
  before: runBefore,
  committing: takeChange,
  suspended: followPull,
  syncing: awaitSync,
  after: runAfter,
}

function enter(promotion: StoredPromotion, state: PromotionState, { now }: World, why?: string): void {
  promotion.state = state
  promotion.why = why
  promotion.changedAt = now
}

function fail(promotion: StoredPromotion, world: World, why: string): void {
  enter(promotion, 'failed', world, why)
}

/** Parameters of builds before and after a promotion, with the names of public runtimes. */
function variablesOf({ promotion, names }: Going): Record<string, string> {
  const [runtime = '', namespace = '', name = ''] = promotion.application.split('/')
  const { repo, path, revision } = promotion.target
  return {
    RUNTIME: runtime,
    APP_NAMESPACE: namespace,
    APP_NAME: name,
    REPO_URL: repo,
    BRANCH: revision,
    PATH_IN_REPO: path,
    PRODUCT_NAME: names.product,
    RELEASE_ID: names.id,
    ...(promotion.revision !== undefined && { COMMIT_SHA: promotion.revision }),
  }
}

function runBefore(going: Going, world: World): void {
  const { promotion, step, source } = going
  const done = runHook(
    { builds: promotion.builds, hook: 'before', pipeline: step.policy.preAction, variables: variablesOf(going) },
    world,
  )
  if (done === 'waits') promotion.why = `Waits for a build of the pipeline "${step.policy.preAction}".`
  else if (done !== 'succeeded') fail(promotion, world, done.why)
  else if (promotion.action === 'none') enter(promotion, 'syncing', world)
  else if (source === undefined)
    fail(promotion, world, `The release has no application from which "${promotion.application}" could get the change.`)
  else {
    ask(promotion, world, changeOf(going, source))
    enter(promotion, 'committing', world)
  }
}

function changeOf({ promotion, names, release }: Going, source: StoredSource): ErrandWork {
  const { product, number, id } = names
  const { versionSource, promotion: files } = source
  return {
    kind: 'promote',
    change: promotion.change,
    source: source.place,
    target: promotion.target,
    promotion: files,
    action: promotion.action === 'pr' ? 'pr' : 'commit',
    title: `Promote ${product} to ${promotion.application}`,
    description: `Release ${number} of ${product}, from ${source.application} at ${source.place.revision}\n\nPromoted-by: ${release.createdBy}\nWindlass-Release: ${id}`,
    ...defined({ versionSource }),
  }
}

/** Creates an errand, and waits for it. */
function ask(promotion: StoredPromotion, { effects, now, newId }: World, work: ErrandWork, inMs = 0): void {
  const id = newId()
  effects.created.push({ id, runtimeId: promotion.runtimeId, work, dueAt: now + inMs })
  promotion.errand = id
}

/** Returns the result of the errand, which is deleted then. Undefined while it is not known; `why` says why. */
function takeResult<K extends ErrandWork['kind']>(
  promotion: StoredPromotion,
  kind: K,
  world: World,
): Extract<ErrandResult, { kind: K }> | undefined {
  const { effects, errands, now } = world
  const { errand: id } = promotion
  // It was created by this call.
  if (id === undefined || effects.created.some((one) => one.id === id)) return undefined
  const errand = errands.get(id)
  const runtime = `GitOps runtime "${promotion.application.split('/')[0] ?? ''}"`
  function giveUp(why: string): undefined {
    if (errand !== undefined) effects.deleted.push(errand.id)
    promotion.errand = undefined
    fail(promotion, world, why)
  }
  // Errands are deleted with their runtime.
  if (errand === undefined) return giveUp(`The ${runtime} was deleted.`)
  const { result, tries } = errand
  if (result === undefined) {
    // Questions change nothing. What they are about, such as an open pull request, has its own end.
    if (kind === 'promote' && tries >= MAX_TRIES && errand.dueAt <= now)
      return giveUp(`The app-proxy of the ${runtime} has begun this ${tries} times, and has not finished it. See its log.`)
    if (now - errand.dueAt > PATIENCE_MS)
      promotion.why = `Waits for the app-proxy of the ${runtime}, which has not asked for work since ${new Date(errand.dueAt).toISOString()}.`
    else if (errand.state === 'taken' && tries > 1)
      promotion.why = `The app-proxy of the ${runtime} has not finished this in time. It is tried again (try ${tries}).`
    return undefined
  }
  if (result.kind === 'failed') {
    const said = [result.message, result.hint].filter((text) => text !== undefined).join(' ')
    const isLast = kind === 'promote' && tries >= MAX_TRIES
    if (!result.mayRetry || isLast) return giveUp(said)
    effects.postponed.push({ id: errand.id, dueAt: now + backoffMs(RETRY, tries) })
    const count = kind === 'promote' ? `${tries} of ${MAX_TRIES} tries` : `after ${tries} tries`
    promotion.why = `${said} It is tried again (${count}).`
    return undefined
  }
  if (!isKind(result, kind)) return giveUp(`The app-proxy of the ${runtime} has answered another question than "${kind}".`)
  effects.deleted.push(errand.id)
  promotion.errand = undefined
  return result
}

function isKind<K extends ErrandResult['kind']>(result: ErrandResult, kind: K): result is Extract<ErrandResult, { kind: K }> {
  return result.kind === kind
}

function takeChange(going: Going, world: World): void {
  const { promotion } = going
  const result = takeResult(promotion, 'promote', world)
  if (result === undefined) return
  const { revision, isNew, pull, version } = result
  Object.assign(promotion, { isNew, ...defined({ version }) })
  if (pull === undefined) {
    promotion.revision = revision
    enter(promotion, 'syncing', world)
  } else {
    promotion.pull = pull
    lookAtPull(promotion, world, PULL_MS)
    enter(promotion, 'suspended', world, `Waits for the pull request ${pull.url} to be merged.`)
  }
}

function lookAtPull(promotion: StoredPromotion, world: World, inMs: number): void {
  if (promotion.pull === undefined) return
  ask(promotion, world, { kind: 'pull', repo: promotion.target.repo, number: promotion.pull.number }, inMs)
}

function followPull(going: Going, world: World): void {
  const { promotion } = going
  const result = takeResult(promotion, 'pull', world)
  if (result === undefined) return
  const page = promotion.pull?.url ?? ''
  if (result.state === 'closed') return fail(promotion, world, `The pull request ${page} was closed and not merged.`)
  if (result.state === 'merged') {
    promotion.revision = result.revision
    return enter(promotion, 'syncing', world)
  }
  promotion.why = `Waits for the pull request ${page} to be merged.`
  return lookAtPull(promotion, world, PULL_MS)
}

/** Waits until the application has the commit, and is synced and healthy. */
function awaitSync(going: Going, world: World): void {
  const { promotion, release } = going
  promotion.syncingAt ??= world.now
  const application = world.applications.get(promotion.applicationId)
  const why = whyNotSynced(promotion, application, world)
  if (promotion.state !== 'syncing') return
  if (why === undefined) return enter(promotion, 'after', world)
  const isLate = world.now - promotion.syncingAt >= release.timeoutMinutes * MINUTE_MS
  if (!isLate) promotion.why = why
  else fail(promotion, world, `${why} It has waited for ${release.timeoutMinutes} min.`)
}

/** Returns why the application does not have the change yet; undefined if it has. */
function whyNotSynced(promotion: StoredPromotion, application: Application | undefined, world: World): string | undefined {
  const { revision } = promotion
  if (application === undefined) return `The application "${promotion.application}" does not exist anymore.`
  const { operation, revisions, sync, health, isAutomatic, silentSince } = application
  if (silentSince !== undefined) return application.why
  const failed = operation?.phase === 'failed' || operation?.phase === 'error'
  if (sync !== 'synced')
    return isAutomatic
      ? `Waits for Argo CD to sync "${promotion.application}".${failed ? ` ${application.why ?? ''}`.trimEnd() : ''}`
      : `The application "${promotion.application}" is not synced, and does not sync by itself. Sync it.`
  const [at = ''] = revisions
  if (revision !== undefined && at !== revision && !hasChange(promotion, at, world))
    return `Waits for Argo CD to see the commit ${revision.slice(0, 12)} in "${promotion.application}".`
  if (operation?.phase === 'running') return `Waits for the sync of "${promotion.application}" to end.`
  return health === 'healthy'
    ? undefined
    : `Waits for "${promotion.application}" to be healthy. ${application.why ?? ''}`.trimEnd()
}

/** Returns true if the commit of the application has the change in its history. A commit is asked for once. */
function hasChange(promotion: StoredPromotion, at: string, world: World): boolean {
  const { checked, revision = '', target, before } = promotion
  // The commit from before the change cannot have it.
  if (at === '' || (at === before && promotion.isNew === true)) return false
  if (checked?.revision === at && checked.contains !== undefined) return checked.contains
  const result = takeResult(promotion, 'contains', world)
  if (result !== undefined && checked !== undefined) checked.contains = result.contains
  if (checked?.revision === at && checked.contains !== undefined) return checked.contains
  // An earlier question is answered first.
  if (promotion.errand !== undefined || promotion.state !== 'syncing') return false
  ask(promotion, world, { kind: 'contains', place: { ...target, revision: at }, commit: revision })
  promotion.checked = { revision: at }
  return false
}

function runAfter(going: Going, world: World): void {
  const { promotion, step } = going
  const done = runHook(
    { builds: promotion.builds, hook: 'after', pipeline: step.policy.postAction, variables: variablesOf(going) },
    world,
  )
  if (done === 'waits') promotion.why = `Waits for a build of the pipeline "${step.policy.postAction}".`
  else if (done === 'succeeded') {
    const { applicationId, version } = promotion
    if (version !== undefined) world.effects.versions.push({ applicationId, version })
    enter(promotion, 'succeeded', world)
  } else fail(promotion, world, done.why)
}
