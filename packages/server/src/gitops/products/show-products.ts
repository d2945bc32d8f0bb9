/** Environments and products as callers see them: which applications they have, and which version is where. */
import { defined } from '@windlass/kit'
import {
  APPLICATION_HEALTHS,
  type Application,
  type Environment,
  type EnvironmentInput,
  type Product,
  type ProductApplication,
  type ProductInput,
  type ProductPlace,
} from '@windlass/protocol'
import type { App } from '../../app.ts'
import { viewApplications } from '../applications/show-applications.ts'
import { toSummary } from '../releases/show-releases.ts'
import { listLastReleases, listLiveReleases } from '../../store/runtimes/releases.ts'
import { listReleaseTriggers } from '../../store/runtimes/release-triggers.ts'
import type { ReleaseRow, ReleaseTriggerRow } from '../../store/schema/schema.ts'
import {
  ENVIRONMENTS,
  getDefined,
  listDefined,
  listEnvironments,
  PRODUCTS,
  unknownDefinition,
  type Defined,
} from './definitions.ts'
import { environmentOf, isOfProduct, nameOfApplication } from './membership.ts'
import { listPlacedApplications, type PlacedRow } from './placed.ts'
import { commonVersion, versionOf } from './versions.ts'
import { readRelease, type ReadRelease, type StoredStep } from '../releases/stored-release.ts'
import { nextOf, StoredTrigger, whyUnseen } from '../releases/stored-trigger.ts'

/** Lists environments in their order. */
export async function listShownEnvironments({ store, accountId }: App): Promise<Environment[]> {
  const environments = await listEnvironments(store.query, accountId)
  const placed = await listPlacedApplications(store.query, accountId)
  return environments.map((environment) => toEnvironment(environment, placed))
}

/** Throws `not-found`. */
export async function showEnvironment({ store, accountId }: App, name: string): Promise<Environment> {
  const environment = await getDefined(store.query, { accountId, kind: ENVIRONMENTS, name })
  return toEnvironment(environment, await listPlacedApplications(store.query, accountId))
}

function toEnvironment(environment: Defined<EnvironmentInput>, placed: readonly PlacedRow[]): Environment {
  const own = placed.filter((application) => environmentOf(application, [environment]) !== undefined)
  const healthy = own.filter(({ health, sync }) => health === 'healthy' && sync === 'synced')
  return { ...environment, applications: own.length, healthy: healthy.length }
}

/** Lists products by name. */
export async function listShownProducts(app: App): Promise<Product[]> {
  return viewProducts(app, await listDefined(app.store.query, app.accountId, PRODUCTS))
}

/** Throws `not-found`. */
export async function showProduct(app: App, name: string): Promise<Product> {
  const product = await getDefined(app.store.query, { accountId: app.accountId, kind: PRODUCTS, name })
  const [shown] = await viewProducts(app, [product])
  return shown ?? unknownDefinition('product', name)
}

/** What products share. */
interface View {
  readonly environments: readonly Defined<EnvironmentInput>[]
  readonly placed: readonly PlacedRow[]
  readonly shown: ReadonlyMap<string, Application>
  readonly live: readonly ReadRelease[]
  readonly last: ReadonlyMap<string, ReleaseRow>
  readonly triggers: readonly ReleaseTriggerRow[]
}

async function viewProducts(app: App, products: readonly Defined<ProductInput>[]): Promise<Product[]> {
  const { store, accountId } = app
  const placed = await listPlacedApplications(store.query, accountId)
  const own = placed.filter((application) => products.some((product) => isOfProduct(application, product)))
  const shown = await viewApplications(
    app,
    own.map(({ id }) => id),
  )
  const [only, ...others] = products
  const of = others.length === 0 ? only?.name : undefined
  const view = {
    environments: await listEnvironments(store.query, accountId),
    placed: own,
    shown,
    live: (await listLiveReleases(store.query, accountId, of)).map(readRelease),
    last: new Map((await listLastReleases(store.query, accountId, of)).map((row) => [row.product, row])),
    triggers: await listReleaseTriggers(store.query, accountId),
  }
  return products.map((product) => toProduct(product, view))
}

function toProduct(product: Defined<ProductInput>, { environments, placed, shown, live, last, triggers }: View): Product {
  const own = placed.filter((application) => isOfProduct(application, product))
  const placeOf = new Map(own.map((application) => [application.id, environmentOf(application, environments)?.name]))
  const places = environments.flatMap(({ name, kind }): ProductPlace[] => {
    const there = own.filter(({ id }) => placeOf.get(id) === name)
    const applications = there.flatMap((row) => toProductApplication(row, shown.get(row.id)))
    if (applications.length === 0) return []
    const release = live.find(({ row, state }) => row.product === product.name && changes(state.steps, name))
    const version = commonVersion(applications)
    const states = { health: worstOf(applications), sync: syncOf(applications) }
    return [{ environment: name, kind, ...states, applications, ...defined({ version, releaseId: release?.id }) }]
  })
  const elsewhere = own.filter(({ id }) => placeOf.get(id) === undefined)
  const release = last.get(product.name)
  return {
    ...product,
    environments: places,
    elsewhere: elsewhere.map(nameOfApplication),
    ...defined({ release: release && toSummary(release) }),
    ...toFollowed(product.name, own, triggers),
  }
}

/** Returns the first commit that will start a release of a product, and the applications whose last commit is not known. */
function toFollowed(
  product: string,
  own: readonly PlacedRow[],
  triggers: readonly ReleaseTriggerRow[],
): Pick<Product, 'next' | 'unseen'> {
  const followed = triggers.flatMap((row) => {
    const placed = row.product === product ? own.find(({ id }) => id === row.application_id) : undefined
    return placed === undefined
      ? []
      : [{ application: nameOfApplication(placed), trigger: StoredTrigger.parse(JSON.parse(row.state)) }]
  })
  const [next] = followed.flatMap(({ application, trigger }) => {
    const commit = nextOf(application, trigger)
    return commit === undefined ? [] : [{ ...commit, why: trigger.why ?? LOOKS }]
  })
  const unseen = followed.flatMap(({ application, trigger }) => {
    const why = whyUnseen(trigger)
    return why === undefined ? [] : [{ application, why }]
  })
  return { ...defined({ next }), ...(unseen.length > 0 && { unseen }) }
}

const LOOKS = 'It starts when the app-proxy has looked at all applications.'

/** Returns true if one of the steps changes an environment now. */
function changes(steps: readonly StoredStep[], environment: string): boolean {
  return steps.some((step) => step.environment === environment && (step.state === 'running' || step.state === 'suspended'))
}

function worstOf(applications: readonly ProductApplication[]): ProductPlace['health'] {
  return APPLICATION_HEALTHS.find((health) => applications.some((application) => application.health === health)) ?? 'unknown'
}

function syncOf(applications: readonly ProductApplication[]): ProductPlace['sync'] {
  if (applications.every(({ sync }) => sync === 'synced')) return 'synced'
  return applications.some(({ sync }) => sync === 'out-of-sync') ? 'out-of-sync' : 'unknown'
}

function toProductApplication(
  { promoted_version: promoted }: PlacedRow,
  application: Application | undefined,
): ProductApplication[] {
  if (application === undefined) return []
  const { runtime, namespace, name, health, sync, since, images, why, revisions } = application
  // The images are what runs. A release may be of something else than images.
  const version = versionOf(images) ?? (promoted === '' ? undefined : promoted)
  const [revision] = revisions
  return [{ runtime, namespace, name, health, sync, since, images, ...defined({ why, version, revision }) }]
}
