/** Creates releases: what a release follows is decided and stored here, once. */
import { defined, fault, newId, type Fault } from '@windlass/kit'
import type {
  Application,
  EnvironmentInput,
  FlowStep,
  ProductInput,
  Release,
  ReleaseInput,
  ReleaseTrigger,
} from '@windlass/protocol'
import type { App } from '../../app.ts'
import { noteSubject } from '../../audit/call.ts'
import { lockAccount } from '../../store/account/accounts.ts'
import { findLastRelease, insertRelease, listLiveReleases, RELEASE_TOPIC } from '../../store/runtimes/releases.ts'
import type { ReleaseRow } from '../../store/schema/schema.ts'
import type { Query, Tx, Within } from '../../store/store.ts'
import { viewApplications } from '../applications/show-applications.ts'
import {
  getDefined,
  listDefined,
  listEnvironments,
  findDefined,
  FLOWS,
  POLICIES,
  PRODUCTS,
  TEMPLATES,
  unknownDefinition,
  type Defined,
} from '../products/definitions.ts'
import { componentOf, environmentOf, isOfProduct, nameOfApplication } from '../products/membership.ts'
import { listPlacedApplications, type PlacedRow } from '../products/placed.ts'
import { MAX_TARGETS, problemOfSources } from './advance.ts'
import { markTermination } from './change.ts'
import { resolvePolicy, type NamedPolicy } from './policy.ts'
import { toRelease } from './show-releases.ts'
import type { StoredRelease, StoredSource } from './stored-release.ts'
import { templateOf } from './template.ts'

/** Releases of a product that wait for the one that runs. */
export const MAX_QUEUED = 50
/** Timeout of a release without a flow. Minutes. */
const TIMEOUT_MINUTES = 60

export interface Start {
  readonly product: string
  readonly input: ReleaseInput
  readonly by: string
  /** The commit that starts it. */
  readonly trigger?: ReleaseTrigger
}

/** A new release, and the earlier ones that it ends. */
export interface Started {
  readonly release: Release
  readonly ended: readonly Release[]
}

/**
 * Creates a release. `within` runs in the same transaction, before the earlier releases end. Throws `not-found`, and `conflict` if an application in the environment from which is promoted is not healthy and synced or cannot be promoted.
 */
export async function startRelease(app: App, start: Start, within?: Within<Started>): Promise<Release> {
  const planned = await planRelease(app, start)
  return app.store.write(async (tx) => {
    // Two releases would get the same number.
    await lockAccount(tx, app.accountId)
    const now = app.clock.now()
    const last = await findLastRelease(tx.query, app.accountId, start.product)
    const row: ReleaseRow = {
      id: newId(now),
      account_id: app.accountId,
      product: start.product,
      number: (last?.number ?? 0) + 1,
      status: 'queued',
      state: JSON.stringify(planned.state),
      created_at: now,
      started_at: null,
      ended_at: null,
    }
    const release = toRelease(row)
    const ending = await findEnding(tx, app.accountId, planned.product)
    await within?.(tx, { release, ended: ending.rows.map(toRelease) })
    for (const earlier of ending.rows) await markTermination(tx, earlier, { why: ending.why, now })
    await insertRelease(tx, row)
    noteSubject(`release ${row.number} of product ${start.product}`)
    tx.wake(RELEASE_TOPIC)
    return release
  })
}

interface Ending {
  readonly rows: readonly ReleaseRow[]
  readonly why: string
}

/** Finds the earlier releases of the product that end: all of them if newer ones terminate them, or the oldest of a queue that is full. */
async function findEnding(tx: Tx, accountId: string, product: Defined<ProductInput>): Promise<Ending> {
  const live = await listLiveReleases(tx.query, accountId, product.name)
  if (product.concurrency === 'terminate') return { rows: live, why: 'A newer release of the product has begun.' }
  const queued = live.filter(({ status }) => status === 'queued')
  const rows = queued.slice(0, Math.max(0, queued.length - MAX_QUEUED + 1))
  return { rows, why: `More than ${MAX_QUEUED} releases of the product wait.` }
}

interface Planned {
  readonly product: Defined<ProductInput>
  readonly state: StoredRelease
}

async function planRelease(app: App, { product: name, input, by, trigger }: Start): Promise<Planned> {
  const { accountId } = app
  const { query } = app.store
  const product = await getDefined(query, { accountId, kind: PRODUCTS, name })
  const environments = await listEnvironments(query, accountId)
  const flow = await chooseFlow(app, { product, input })
  const policies = await listDefined(query, accountId, POLICIES)
  const sources = await listSources(app, query, { product, environments, from: flow.triggerEnvironment })
  return {
    product,
    state: {
      from: flow.triggerEnvironment,
      createdBy: by,
      timeoutMinutes: flow.timeoutMinutes,
      sources,
      steps: flow.steps.map((step) => toStep(step, { product: name, environments, policies })),
      hooks: flow.hooks ?? {},
      builds: [],
      context: {},
      ...defined({ flow: flow.name, trigger }),
    },
  }
}

interface Choice {
  readonly product: Defined<ProductInput>
  readonly input: ReleaseInput
}

interface Flow {
  readonly name?: string
  readonly triggerEnvironment: string
  readonly steps: readonly FlowStep[]
  readonly hooks?: StoredRelease['hooks'] | undefined
  readonly timeoutMinutes: number
}

async function chooseFlow({ store, accountId }: App, { product, input }: Choice): Promise<Flow> {
  const { from, to } = input
  if (from !== undefined && to !== undefined)
    return { triggerEnvironment: from, steps: [{ environment: to, dependsOn: [] }], timeoutMinutes: TIMEOUT_MINUTES }
  const name = input.flow ?? product.promotionFlows[0]?.name
  if (name === undefined)
    throw fault('request-invalid', {
      message: `The product "${product.name}" has no promotion flow.`,
      hint: 'Add one to the product, or name the environments with --from and --to.',
    })
  if (!product.promotionFlows.some((flow) => flow.name === name))
    throw fault('not-found', {
      message: `The product "${product.name}" does not have the promotion flow "${name}".`,
      hint: `Use one of ${product.promotionFlows.map((flow) => flow.name).join(', ') || 'none'}.`,
    })
  return (await findDefined(store.query, { accountId, kind: FLOWS, name })) ?? unknownDefinition('promotion-flow', name)
}

interface StepPlan {
  readonly product: string
  readonly environments: readonly Defined<EnvironmentInput>[]
  readonly policies: readonly NamedPolicy[]
}

function toStep({ environment: name, dependsOn, policy, hooks = {} }: FlowStep, plan: StepPlan): StoredRelease['steps'][number] {
  const { product, environments, policies } = plan
  const kind = requireEnvironment(environments, name).kind
  return {
    environment: name,
    kind,
    dependsOn: [...dependsOn],
    policy: resolvePolicy({ product, environment: name, kind }, policy, policies),
    hooks,
    state: 'pending',
    isPlanned: false,
    promotions: [],
    builds: [],
  }
}

function requireEnvironment(environments: readonly Defined<EnvironmentInput>[], name: string): Defined<EnvironmentInput> {
  return environments.find((environment) => environment.name === name) ?? unknownDefinition('environment', name)
}

interface Origin {
  readonly product: Defined<ProductInput>
  readonly environments: readonly Defined<EnvironmentInput>[]
  readonly from: string
}

/** Reads the applications from which is promoted, at the commits that they have now. */
async function listSources(app: App, query: Query, { product, environments, from }: Origin): Promise<StoredSource[]> {
  requireEnvironment(environments, from)
  const placed = (await listPlacedApplications(query, app.accountId)).filter(
    (one) => isOfProduct(one, product) && environmentOf(one, environments)?.name === from,
  )
  if (placed.length === 0)
    throw fault('conflict', {
      message: `The product "${product.name}" has no application in the environment "${from}".`,
      hint: `Give its applications the label codefresh.io/product: ${product.name}, or name them in the product.`,
    })
  const shown = await viewApplications(
    app,
    placed.map(({ id }) => id),
  )
  if (placed.length > MAX_TARGETS)
    throw cannotPromote(`The product "${product.name}" has more than ${MAX_TARGETS} applications in the environment "${from}".`)
  const same = findSame(placed, from)
  if (same !== undefined) throw cannotPromote(same)
  const templates = await listDefined(query, app.accountId, TEMPLATES)
  return placed.map((one) => toSource(one, shown.get(one.id), { product, from, templates }))
}

/** Returns which applications are the same component; undefined without any. Which of them is promoted would be chance. */
function findSame(placed: readonly PlacedRow[], from: string): string | undefined {
  const known = new Map<string, string>()
  for (const one of placed) {
    const component = componentOf(one, from)
    const name = nameOfApplication(one)
    const other = known.get(component)
    if (other !== undefined)
      return `The applications "${other}" and "${name}" are both the component "${component}" of the product. Give them different labels windlass.io/component.`
    known.set(component, name)
  }
  return undefined
}

interface SourcePlan extends Pick<Origin, 'product' | 'from'> {
  readonly templates: Parameters<typeof templateOf>[1]
}

function toSource(
  placed: PlacedRow,
  application: Application | undefined,
  { product, from, templates }: SourcePlan,
): StoredSource {
  const name = nameOfApplication(placed)
  const [place, ...more] = application?.sources ?? []
  const problem = problemOfSources(name, { place, more: more.length }) ?? (application && problemOfState(name, application))
  if (problem !== undefined) throw cannotPromote(problem)
  const template = templateOf(product, templates, application?.labels ?? {})
  if (template === undefined) return unknownDefinition('promotion-template', product.promotionTemplateRef ?? '')
  const { versionSource, promotion } = template
  return {
    application: name,
    component: componentOf(placed, from),
    place: { repo: place?.repo ?? '', path: place?.path ?? '', revision: application?.revisions[0] ?? '' },
    promotion,
    ...(versionSource !== undefined && { versionSource }),
  }
}

/** What is not healthy here must not go to the next environment. */
function problemOfState(name: string, { health, sync, revisions, why = '' }: Application): string | undefined {
  if (health === 'healthy' && sync === 'synced' && revisions[0] !== undefined) return undefined
  return `The application "${name}" is ${health} and ${sync}. ${why}`.trimEnd()
}

function cannotPromote(message: string): Fault {
  return fault('conflict', { message, hint: 'Start the release again when this is corrected.' })
}
