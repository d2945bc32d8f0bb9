/**
 * Runs releases: looks at those that have not ended, and stores what follows. The new state, and the errands that it waits for, are one transaction, which is given up if the release has changed meanwhile,
 * so two servers can look at the same release.
 */
import { attempt, newId } from '@windlass/kit'
import type { ReleaseStatus } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { updateApplication } from '../../store/runtimes/applications.ts'
import { deleteErrands, deleteErrandsOf, insertErrand, listErrands, postponeErrand } from '../../store/runtimes/errands.ts'
import { listLiveReleases, lockRelease, RELEASE_TOPIC, updateRelease } from '../../store/runtimes/releases.ts'
import type { ReleaseRow } from '../../store/schema/schema.ts'
import type { Tx } from '../../store/store.ts'
import { viewApplications } from '../applications/show-applications.ts'
import { findDefined, listEnvironments, PRODUCTS } from '../products/definitions.ts'
import { environmentOf, isOfProduct } from '../products/membership.ts'
import { listPlacedApplications } from '../products/placed.ts'
import { advanceRelease } from './advance.ts'
import { startAutomaticReleases } from './automatic.ts'
import { readBuilds, startBuilds } from './builds.ts'
import { readRelease, type StoredRelease } from './stored-release.ts'
import { toSeen, type Effects, type World } from './world.ts'

/** How often releases are looked at without news. Milliseconds. */
const LOOK_MS = 5_000
/** Pause after each look: many reports at once are one reason to look. Milliseconds. */
const PAUSE_MS = 250

/** Runs releases until the server closes. */
export async function releaseLoop(app: App): Promise<void> {
  using watch = app.store.watch(RELEASE_TOPIC)
  while (!app.closing.aborted) {
    await attempt(app.log, 'automatic releases', () => startAutomaticReleases(app))
    await attempt(app.log, 'releases', () => advanceReleases(app))
    await app.clock.sleep(PAUSE_MS, app.closing).catch(() => undefined)
    await watch.next(LOOK_MS, app.closing)
  }
}

/** Looks at every release that has not ended, once. */
export async function advanceReleases(app: App): Promise<void> {
  const live = await listLiveReleases(app.store.query, app.accountId)
  if (live.length === 0) return
  const places = await readPlaces(app)
  for (const row of live) {
    const sameProduct = live.filter(({ product }) => product === row.product)
    const active = sameProduct.find(({ status }) => status !== 'queued') ?? sameProduct[0] ?? row
    const isQueued = row.status === 'queued' && row !== active
    // One that cannot be stored does not hold up the others.
    await attempt(app.log, `release ${row.id}`, () => (isQueued ? queueBehind(app, row, active) : advanceOne(app, row, places)))
  }
}

/** Says for what a queued release waits. */
async function queueBehind(app: App, row: ReleaseRow, active: ReleaseRow): Promise<void> {
  const { state } = readRelease(row)
  const why = `Waits for the release ${active.number} of the product, which has not ended.`
  if (state.why === why) return
  await store(app, row, { status: 'queued', state: { ...state, why }, effects: noEffects() })
}

async function advanceOne(app: App, row: ReleaseRow, places: Places): Promise<void> {
  const { state } = readRelease(row)
  const world = await readWorld(app, { row, state, ...places })
  const names = { id: row.id, product: row.product, number: row.number }
  // What it waited for in the queue is over.
  if (row.status === 'queued') state.why = undefined
  const status = advanceRelease({ release: state, names }, world)
  const isStored = await store(app, row, { status, state, effects: world.effects })
  if (isStored) await startBuilds(app, row.id)
}

function noEffects(): Effects {
  return { created: [], deleted: [], postponed: [], versions: [] }
}

/** Where applications are; the same for all releases of a look. */
interface Places {
  readonly environments: Awaited<ReturnType<typeof listEnvironments>>
  readonly all: Awaited<ReturnType<typeof listPlacedApplications>>
}

async function readPlaces({ store: { query }, accountId }: App): Promise<Places> {
  return { environments: await listEnvironments(query, accountId), all: await listPlacedApplications(query, accountId) }
}

interface Looked extends Places {
  readonly row: ReleaseRow
  readonly state: StoredRelease
}

async function readWorld(app: App, { row, state, environments, all }: Looked): Promise<World> {
  const {
    store: { query },
    accountId,
    clock,
  } = app
  const errands = await listErrands(query, row.id)
  const product = await findDefined(query, { accountId, kind: PRODUCTS, name: row.product })
  const placed = all.filter((application) => product !== undefined && isOfProduct(application, product))
  const promoted = state.steps.flatMap(({ promotions }) => promotions).map(({ applicationId }) => applicationId)
  const now = clock.now()
  return {
    now,
    targetsOf: (environment) => placed.filter((one) => environmentOf(one, environments)?.name === environment),
    applications: await viewApplications(app, [...new Set([...placed.map(({ id }) => id), ...promoted])]),
    errands: new Map(errands.map((errand) => [errand.id, toSeen(errand)])),
    builds: await readBuilds(app, state),
    newId: () => newId(now),
    context: state.context,
    effects: noEffects(),
  }
}

interface Change {
  readonly status: ReleaseStatus
  readonly state: StoredRelease
  readonly effects: Effects
}

/** The release, or an errand of it, has changed since it was read. */
class Changed extends Error {}

const ENDED: ReadonlySet<ReleaseStatus> = new Set(['succeeded', 'failed', 'terminated'])

/** Stores what has changed. Returns false if the release has changed meanwhile: it is looked at again then. */
async function store(app: App, row: ReleaseRow, { status, state, effects }: Change): Promise<boolean> {
  const text = JSON.stringify(state)
  const { created, deleted, postponed } = effects
  if (text === row.state && status === row.status && created.length + deleted.length + postponed.length === 0) return true
  const now = app.clock.now()
  try {
    await app.store.write(async (tx) => {
      const locked = await lockRelease(tx, app.accountId, row.id)
      if (locked?.state !== row.state || locked.status !== row.status) throw new Changed()
      await updateRelease(tx, row.id, {
        status,
        state: text,
        started_at: row.started_at ?? (status === 'queued' ? null : now),
        ended_at: ENDED.has(status) ? now : null,
      })
      await storeErrands(tx, row, effects, now)
      // Questions can be open when nobody needs their answers anymore.
      if (ENDED.has(status)) await deleteErrandsOf(tx, row.id)
      for (const { applicationId, version } of effects.versions)
        await updateApplication(tx, applicationId, { promoted_version: version })
      // The next step, or the next release of the product, can begin.
      tx.wake(RELEASE_TOPIC)
    })
    return true
  } catch (error) {
    if (error instanceof Changed) return false
    throw error
  }
}

async function storeErrands(tx: Tx, row: ReleaseRow, { created, deleted, postponed }: Effects, now: number): Promise<void> {
  // An errand that an app-proxy took meanwhile may have an effect, so it is not deleted.
  if ((await deleteErrands(tx, deleted, now)) < deleted.length) throw new Changed()
  for (const { id, dueAt } of postponed) await postponeErrand(tx, id, dueAt)
  for (const { id, runtimeId, work, dueAt } of created)
    await insertErrand(tx, {
      id,
      account_id: row.account_id,
      runtime_id: runtimeId,
      release_id: row.id,
      work: JSON.stringify(work),
      due_at: dueAt,
      created_at: now,
    })
}
