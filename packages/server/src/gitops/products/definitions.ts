/** Environments, products, templates, flows and policies: how they are stored and replaced, and which of them name others. */
import { fault, newId } from '@windlass/kit'
import {
  EnvironmentInput,
  MAX_DEFINITIONS,
  ProductInput,
  PromotionFlowInput,
  PromotionPolicyInput,
  PromotionTemplateInput,
  type DefinitionKind,
} from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { lockAccount } from '../../store/account/accounts.ts'
import { deleteDefinition, findDefinition, listDefinitions, saveDefinition } from '../../store/runtimes/definitions.ts'
import { listLiveReleases } from '../../store/runtimes/releases.ts'
import type { DefinitionRow } from '../../store/schema/schema.ts'
import type { Query } from '../../store/store.ts'
import { findOverlap } from './membership.ts'

/** A kind of definitions with the shape of its specs. */
export interface Kind<S extends z.ZodType = z.ZodType> {
  readonly kind: DefinitionKind
  readonly input: S
}

export const ENVIRONMENTS = { kind: 'environment', input: EnvironmentInput } as const
export const PRODUCTS = { kind: 'product', input: ProductInput } as const
export const TEMPLATES = { kind: 'promotion-template', input: PromotionTemplateInput } as const
export const FLOWS = { kind: 'promotion-flow', input: PromotionFlowInput } as const
export const POLICIES = { kind: 'promotion-policy', input: PromotionPolicyInput } as const

interface Common {
  readonly id: string
  readonly name: string
  readonly createdBy: string
  readonly createdAt: number
  readonly changedBy: string
  readonly changedAt: number
}

/** A definition as it is stored: the fields of its spec, and who wrote it. */
export type Defined<S> = S & Common

function toDefined<S extends z.ZodType>({ input }: Kind<S>, row: DefinitionRow): Defined<z.output<S>> {
  const { id, name, created_by: createdBy, created_at: createdAt, changed_by: changedBy, changed_at: changedAt } = row
  return Object.assign({}, input.parse(JSON.parse(row.spec)), { id, name, createdBy, createdAt, changedBy, changedAt })
}

/** Lists the definitions of a kind by name. */
export async function listDefined<S extends z.ZodType>(
  query: Query,
  accountId: string,
  kind: Kind<S>,
): Promise<Defined<z.output<S>>[]> {
  return (await listDefinitions(query, accountId, kind.kind)).map((row) => toDefined(kind, row))
}

/** Lists environments in their order. */
export async function listEnvironments(query: Query, accountId: string): Promise<Defined<EnvironmentInput>[]> {
  return (await listDefined(query, accountId, ENVIRONMENTS)).toSorted((a, b) => a.position - b.position)
}

export interface Named<S extends z.ZodType> {
  readonly accountId: string
  readonly kind: Kind<S>
  readonly name: string
}

export async function findDefined<S extends z.ZodType>(
  query: Query,
  { accountId, kind, name }: Named<S>,
): Promise<Defined<z.output<S>> | undefined> {
  const row = await findDefinition(query, { accountId, kind: kind.kind, name })
  return row && toDefined(kind, row)
}

/** Throws `not-found`. */
export async function getDefined<S extends z.ZodType>(query: Query, named: Named<S>): Promise<Defined<z.output<S>>> {
  return (await findDefined(query, named)) ?? unknownDefinition(named.kind.kind, named.name)
}

/** Throws `not-found`. */
export function unknownDefinition(kind: DefinitionKind, name: string): never {
  throw fault('not-found', {
    message: `The ${wordsOf(kind)} "${name}" does not exist.`,
    hint: `List them with \`windlass get ${pluralOf(kind)}\`.`,
  })
}

function wordsOf(kind: DefinitionKind): string {
  return kind.replace('-', ' ')
}

function pluralOf(kind: DefinitionKind): string {
  return kind === 'promotion-policy' ? 'promotion-policies' : `${kind}s`
}

interface Change<S extends z.ZodType> {
  readonly kind: Kind<S>
  readonly name: string
  readonly spec: z.output<S>
  readonly by: string
}

/** Creates a definition or replaces it. Throws `conflict` if it names something that does not exist, or meets another one. */
export async function putDefined<S extends z.ZodType>(
  app: App,
  { kind, name, spec, by }: Change<S>,
): Promise<Defined<z.output<S>>> {
  return app.store.write(async (tx) => {
    // What a definition names must not be deleted at the same time.
    await lockAccount(tx, app.accountId)
    const named = { accountId: app.accountId, kind: kind.kind, name }
    const before = await findDefinition(tx.query, named)
    if (before === undefined && (await listDefinitions(tx.query, app.accountId, kind.kind)).length >= MAX_DEFINITIONS)
      throw fault('conflict', {
        message: `There are ${MAX_DEFINITIONS} definitions of the kind ${kind.kind}.`,
        hint: 'Delete those that are not used.',
      })
    const text = JSON.stringify(spec)
    await requireReferences(app, tx.query, { kind: kind.kind, name, text })
    const now = app.clock.now()
    const row: DefinitionRow = {
      id: before?.id ?? newId(now),
      account_id: app.accountId,
      kind: kind.kind,
      name,
      spec: text,
      created_by: before?.created_by ?? by,
      created_at: before?.created_at ?? now,
      changed_by: by,
      changed_at: now,
    }
    // A repeated call changes nothing.
    if (before?.spec === text) return toDefined(kind, before)
    await saveDefinition(tx, row)
    return toDefined(kind, row)
  })
}

interface Written {
  readonly kind: DefinitionKind
  readonly name: string
  readonly text: string
}

/** Throws `conflict` if a definition names something that does not exist, or takes the namespaces of another environment. */
async function requireReferences({ accountId }: App, query: Query, { kind, name, text }: Written): Promise<void> {
  const value: unknown = JSON.parse(text)
  async function require(of: Kind, wanted: readonly string[]): Promise<void> {
    const known = new Set((await listDefinitions(query, accountId, of.kind)).map((row) => row.name))
    const absent = wanted.find((one) => !known.has(one))
    if (absent === undefined) return
    throw fault('conflict', {
      message: `The ${wordsOf(kind)} "${name}" names the ${wordsOf(of.kind)} "${absent}", which does not exist.`,
      hint: `Create it first, such as with \`windlass apply -f FILE\`.`,
    })
  }
  if (kind === 'promotion-flow') {
    const { triggerEnvironment, steps } = PromotionFlowInput.parse(value)
    await require(ENVIRONMENTS, [triggerEnvironment, ...steps.map(({ environment }) => environment)])
  }
  if (kind === 'product') {
    const { promotionFlows, promotionTemplateRef } = ProductInput.parse(value)
    await require(FLOWS, promotionFlows.map((flow) => flow.name))
    await require(TEMPLATES, promotionTemplateRef === undefined ? [] : [promotionTemplateRef])
  }
  if (kind === 'environment') {
    const others = (await listDefined(query, accountId, ENVIRONMENTS)).filter((other) => other.name !== name)
    const overlap = findOverlap(EnvironmentInput.parse(value), others)
    if (overlap !== undefined)
      throw fault('conflict', {
        message: `The namespace "${overlap.namespace}" of the cluster "${overlap.cluster}" belongs to the environment "${overlap.environment}".`,
        hint: 'A namespace belongs to one environment. Remove it there first.',
      })
  }
}

/** Deletes a definition. Throws `not-found`, and `conflict` while another one names it or a release of the product runs. */
export async function deleteDefined(app: App, kind: DefinitionKind, name: string): Promise<void> {
  await app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const user = await findUser(app, tx.query, { kind, name })
    if (user !== undefined)
      throw fault('conflict', {
        message: `The ${wordsOf(kind)} "${name}" is used by ${user}.`,
        hint: 'Change or end that first.',
      })
    if (!(await deleteDefinition(tx, { accountId: app.accountId, kind, name }))) unknownDefinition(kind, name)
  })
}

/** Returns what uses a definition; undefined if nothing does. */
async function findUser({ accountId }: App, query: Query, { kind, name }: Omit<Written, 'text'>): Promise<string | undefined> {
  switch (kind) {
    case 'environment': {
      const flows = await listDefined(query, accountId, FLOWS)
      const used = flows.find(
        ({ triggerEnvironment, steps }) => triggerEnvironment === name || steps.some(({ environment }) => environment === name),
      )
      return used && `the promotion flow "${used.name}"`
    }
    case 'promotion-flow':
    case 'promotion-template': {
      const products = await listDefined(query, accountId, PRODUCTS)
      const used = products.find(({ promotionFlows, promotionTemplateRef }) =>
        kind === 'promotion-flow' ? promotionFlows.some((flow) => flow.name === name) : promotionTemplateRef === name,
      )
      return used && `the product "${used.name}"`
    }
    case 'product': {
      const [live] = await listLiveReleases(query, accountId, name)
      return live && `its release ${live.number}, which has not ended`
    }
    case 'promotion-policy':
      return undefined
  }
}
