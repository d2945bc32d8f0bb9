/**
 * Starts releases by themselves: a product whose flows have selectors follows the commits of its applications. A commit of the repository counts if it changed the folder of the application, which
 * its app-proxy says. The first commit that is seen starts nothing. Two servers can look at the same time: every state is stored only over the one that was read.
 */
import { attempt, fault, isFault, newId } from '@windlass/kit'
import type { Application, EnvironmentInput, ProductInput, PromotionFlowInput, Release, ReleaseTrigger } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { deleteErrands, deleteErrandsOf, insertErrand, listErrands, postponeErrand } from '../../store/runtimes/errands.ts'
import {
  deleteReleaseTrigger,
  insertReleaseTrigger,
  listReleaseTriggers,
  updateReleaseTrigger,
} from '../../store/runtimes/release-triggers.ts'
import type { ReleaseTriggerRow } from '../../store/schema/schema.ts'
import { viewApplications } from '../applications/show-applications.ts'
import { FLOWS, listDefined, listEnvironments, PRODUCTS, type Defined } from '../products/definitions.ts'
import { environmentOf, isOfProduct, nameOfApplication } from '../products/membership.ts'
import { listPlacedApplications, type PlacedRow } from '../products/placed.ts'
import { startRelease } from './start.ts'
import { advanceTrigger, NEW_TRIGGER, nextOf, StoredTrigger, type TriggerEffects } from './stored-trigger.ts'
import { selectsCommit } from './trigger-selectors.ts'
import { toSeen } from './world.ts'

type Product = Defined<ProductInput>

/** An application of a product in an environment from which an automatic flow promotes. */
interface Member {
  readonly product: Product
  readonly environment: string
  readonly placed: PlacedRow
  readonly application: Application | undefined
}

interface Definitions {
  readonly flows: readonly Defined<PromotionFlowInput>[]
  readonly environments: readonly Defined<EnvironmentInput>[]
}

interface Followed extends Member {
  readonly row: ReleaseTriggerRow
  readonly trigger: StoredTrigger
}

type Group<T> = readonly [T, ...T[]]

/** Looks at all products once, and starts the releases that their commits ask for. */
export async function startAutomaticReleases(app: App): Promise<void> {
  const { query } = app.store
  const products = (await listDefined(query, app.accountId, PRODUCTS)).filter(isAutomatic)
  const rows = await listReleaseTriggers(query, app.accountId)
  if (products.length === 0) return forgetOthers(app, rows, [])
  const definitions = {
    flows: await listDefined(query, app.accountId, FLOWS),
    environments: await listEnvironments(query, app.accountId),
  }
  const members = await listMembers(app, products, definitions)
  await forgetOthers(app, rows, members)
  const rowOf = new Map(rows.map((row) => [keyOf(row.product, row.application_id), row]))
  for (const group of groupsOf(members)) {
    const [{ product, environment }] = group
    // One that fails does not hold up the others.
    await attempt(app.log, `commits of product ${product.name} in ${environment}`, async () => {
      const followed = await followGroup(app, group, rowOf)
      if (followed !== undefined) await startNext(app, followed, definitions)
    })
  }
}

/** Goes on with the triggers of a group. Returns undefined if another server has gone on with one of them: a release without it would be followed by another one. */
async function followGroup(
  app: App,
  group: Group<Member>,
  rowOf: ReadonlyMap<string, ReleaseTriggerRow>,
): Promise<Followed[] | undefined> {
  const followed: Followed[] = []
  for (const member of group) {
    const one = await followMember(app, member, rowOf.get(keyOf(member.product.name, member.placed.id)))
    if (one === undefined) return undefined
    followed.push(one)
  }
  return followed
}

function isAutomatic({ promotionFlows }: ProductInput): boolean {
  return promotionFlows.some(({ gitTriggerSelectors }) => gitTriggerSelectors !== undefined)
}

/** Returns the flows of a product that start by themselves from an environment, in the order of the product. */
function flowsFrom(
  { promotionFlows }: Product,
  flows: readonly Defined<PromotionFlowInput>[],
  environment: string,
): Product['promotionFlows'] {
  const from = new Set(flows.filter(({ triggerEnvironment }) => triggerEnvironment === environment).map(({ name }) => name))
  return promotionFlows.filter(({ name, gitTriggerSelectors }) => gitTriggerSelectors !== undefined && from.has(name))
}

async function listMembers(app: App, products: readonly Product[], { flows, environments }: Definitions): Promise<Member[]> {
  const all = await listPlacedApplications(app.store.query, app.accountId)
  const members = products.flatMap((product) =>
    all.flatMap((placed) => {
      const environment = isOfProduct(placed, product) ? environmentOf(placed, environments)?.name : undefined
      if (environment === undefined || flowsFrom(product, flows, environment).length === 0) return []
      return [{ product, environment, placed }]
    }),
  )
  const shown = await viewApplications(app, [...new Set(members.map(({ placed }) => placed.id))])
  return members.map((member) => ({ ...member, application: shown.get(member.placed.id) }))
}

const keyOf = (product: string, applicationId: string): string => `${product} ${applicationId}`

/** Forgets applications that are gone, and those of products that are not automatic any more. */
async function forgetOthers(app: App, rows: readonly ReleaseTriggerRow[], members: readonly Member[]): Promise<void> {
  const wanted = new Set(members.map(({ product, placed }) => keyOf(product.name, placed.id)))
  for (const { id, product, application_id: applicationId } of rows) {
    if (wanted.has(keyOf(product, applicationId))) continue
    await app.store.write(async (tx) => {
      await deleteErrandsOf(tx, id)
      await deleteReleaseTrigger(tx, id)
    })
  }
}

/** Goes on with the trigger of an application. Returns undefined if another server has done so. */
async function followMember(app: App, member: Member, found: ReleaseTriggerRow | undefined): Promise<Followed | undefined> {
  const { product, placed, application } = member
  const now = app.clock.now()
  const row = found ?? {
    id: newId(now),
    account_id: app.accountId,
    product: product.name,
    application_id: placed.id,
    state: JSON.stringify(NEW_TRIGGER),
  }
  const trigger = StoredTrigger.parse(JSON.parse(row.state))
  const errands = trigger.errand === undefined ? [] : await listErrands(app.store.query, row.id)
  const asked = errands.find(({ id }) => id === trigger.errand)
  const errand = asked && { ...toSeen(asked), work: asked.work }
  const name = nameOfApplication(placed)
  const effects = advanceTrigger(trigger, { name, application, errand, now, newId: () => newId(now) })
  const stored = await store(app, { row, trigger, effects, runtimeId: placed.runtime_id, isNew: found === undefined })
  return stored && { ...member, row: stored, trigger }
}

interface Change {
  readonly row: ReleaseTriggerRow
  readonly trigger: StoredTrigger
  readonly effects: TriggerEffects
  readonly runtimeId: string
  readonly isNew: boolean
}

/** The trigger has changed since it was read. */
class Changed extends Error {}

/** Returns the row as it is now; undefined if another server was faster. */
async function store(
  app: App,
  { row, trigger, effects: { created, deleted, postponed }, runtimeId, isNew }: Change,
): Promise<ReleaseTriggerRow | undefined> {
  const next = { ...row, state: JSON.stringify(trigger) }
  if (!isNew && next.state === row.state && postponed === undefined) return row
  const now = app.clock.now()
  try {
    await app.store.write(async (tx) => {
      if (isNew ? !(await insertReleaseTrigger(tx, next)) : !(await updateReleaseTrigger(tx, row, next.state)))
        throw new Changed()
      if (deleted !== undefined) await deleteErrands(tx, [deleted], now)
      if (postponed !== undefined) await postponeErrand(tx, postponed.id, postponed.dueAt)
      if (created === undefined) return
      await insertErrand(tx, {
        id: created.id,
        account_id: app.accountId,
        runtime_id: runtimeId,
        release_id: row.id,
        work: JSON.stringify(created.work),
        due_at: now,
        created_at: now,
      })
    })
    return next
  } catch (error) {
    if (error instanceof Changed) return undefined
    throw error
  }
}

/** Groups applications by product and environment: a release promotes all of them. */
function groupsOf(members: readonly Member[]): Group<Member>[] {
  const groups = new Map<string, Group<Member>>()
  for (const one of members) {
    const key = keyOf(one.product.name, one.environment)
    const others = groups.get(key)
    groups.set(key, others === undefined ? [one] : [...others, one])
  }
  return [...groups.values()]
}

/** Starts the release of new commits, once the state of all applications is known and well. */
async function startNext(app: App, group: readonly Followed[], definitions: Definitions): Promise<void> {
  const waiting = group.filter(({ trigger }) => trigger.next !== undefined)
  const [first] = waiting
  // A commit of another application may belong to the same release.
  const isOpen = group.some(({ trigger: { errand, next } }) => errand !== undefined && next === undefined)
  if (first === undefined || isOpen) return
  const chosen = chooseFlow(flowsFrom(first.product, definitions.flows, first.environment), waiting)
  if (chosen === undefined) return decide(app, waiting)
  const reserved = findReserved(chosen.flow, definitions)
  if (reserved !== undefined) return noteWhy(app, waiting, reserved)
  const unwell = group.find(({ placed: { health, sync } }) => health !== 'healthy' || sync !== 'synced')
  if (unwell !== undefined) return noteWhy(app, waiting, whyUnwell(unwell))
  try {
    await startRelease(
      app,
      {
        product: first.product.name,
        input: { flow: chosen.flow },
        by: `commit ${chosen.trigger.revision.slice(0, 12)}`,
        trigger: chosen.trigger,
      },
      async (tx, { ended }) => {
        requireEnding(ended, definitions)
        for (const { row, trigger } of waiting)
          if (!(await updateReleaseTrigger(tx, row, JSON.stringify(promoted(trigger))))) throw new Changed()
      },
    )
  } catch (error) {
    if (error instanceof Changed) return
    if (!isFault(error)) throw error
    await noteWhy(app, waiting, [error.message, error.hint ?? ''].join(' ').trimEnd())
  }
}

/** Returns why a commit may not start a flow: who may commit is not who may promote there. Undefined if it may. */
function findReserved(name: string, { flows, environments }: Definitions): string | undefined {
  const steps = flows.find((flow) => flow.name === name)?.steps ?? []
  const reserved = reservedOf(steps, environments)
  if (reserved === undefined) return undefined
  return `Only promoters promote into the environment "${reserved}". One of them has to start the release of the flow "${name}".`
}

/** Returns the first environment of steps that only promoters promote into. */
function reservedOf(
  steps: readonly { readonly environment: string }[],
  environments: readonly Defined<EnvironmentInput>[],
): string | undefined {
  return environments.find(
    ({ name, promoters }) => promoters !== undefined && steps.some(({ environment }) => environment === name),
  )?.name
}

/** Throws `conflict` if one of the releases that would end is reserved: who may not terminate it must not end it by a commit. */
function requireEnding(ended: readonly Release[], { environments }: Definitions): void {
  for (const { number, steps } of ended) {
    const reserved = reservedOf(steps, environments)
    if (reserved !== undefined)
      throw fault('conflict', {
        message: `It would end the release ${number}, which promotes into the environment "${reserved}".`,
        hint: 'Only promoters of it may do that. The commit waits until the release has ended.',
      })
  }
}

interface Chosen {
  readonly flow: string
  readonly trigger: ReleaseTrigger
}

/** Returns the first flow that selects one of the commits, and that commit. */
function chooseFlow(flows: Product['promotionFlows'], waiting: readonly Followed[]): Chosen | undefined {
  for (const { name: flow, gitTriggerSelectors = [] } of flows) {
    const selected = waiting.find(({ trigger: { next }, application }) =>
      selectsCommit(gitTriggerSelectors, { message: next?.message ?? '', branch: application?.sources[0]?.revision ?? '' }),
    )
    const trigger = selected && nextOf(nameOfApplication(selected.placed), selected.trigger)
    if (trigger !== undefined) return { flow, trigger }
  }
  return undefined
}

function whyUnwell({ placed, application }: Followed): string {
  const { health, sync } = placed
  return `The application "${nameOfApplication(placed)}" is ${health} and ${sync}. ${application?.why ?? ''}`.trimEnd()
}

function decided({ next, why: _why, ...trigger }: StoredTrigger): StoredTrigger {
  return { ...trigger, commit: next?.commit ?? trigger.commit, next: undefined }
}

/** The release promotes what the application has now, which is also the commit about which its errand asks. */
function promoted(trigger: StoredTrigger): StoredTrigger {
  return { ...decided(trigger), ...(trigger.errand !== undefined && { isPromoted: true as const }) }
}

/** Notes that commits start no release. */
async function decide(app: App, waiting: readonly Followed[]): Promise<void> {
  await app.store.write(async (tx) => {
    for (const { row, trigger } of waiting) await updateReleaseTrigger(tx, row, JSON.stringify(decided(trigger)))
  })
}

async function noteWhy(app: App, waiting: readonly Followed[], why: string): Promise<void> {
  const changed = waiting.filter(({ trigger }) => trigger.why !== why)
  if (changed.length === 0) return
  await app.store.write(async (tx) => {
    for (const { row, trigger } of changed) await updateReleaseTrigger(tx, row, JSON.stringify({ ...trigger, why }))
  })
}
