/** Routes of environments, products, and what promotions follow. The shapes are documented in `protocol/gitops`. */
import { DefinitionName, Environment, page, Product, PromotionFlow, PromotionPolicy, PromotionTemplate } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import {
  deleteDefined,
  ENVIRONMENTS,
  FLOWS,
  getDefined,
  listDefined,
  POLICIES,
  PRODUCTS,
  putDefined,
  TEMPLATES,
  type Kind,
} from '../../../gitops/products/definitions.ts'
import { listShownEnvironments, listShownProducts, showEnvironment, showProduct } from '../../../gitops/products/show-products.ts'
import { nameOf } from '../../../identity/actor.ts'
import { done, ok, route, type Route } from '../../route.ts'

const ByName = z.object({ name: DefinitionName })

/** A kind of definitions as it is called. */
interface Resource<S extends z.ZodType> {
  readonly path: string
  /** With its article. */
  readonly singular: string
  readonly plural: string
  readonly kind: Kind<S>
  /** What callers get. */
  readonly shape: z.ZodType
  /** Default: what is stored. */
  readonly list?: () => Promise<readonly object[]>
  readonly show?: (name: string) => Promise<object>
}

export function productRoutes(app: App): Route[] {
  return [
    ...definitionRoutes(app, {
      path: '/v1/environments',
      singular: 'an environment',
      plural: 'environments with the number of their applications, in their order',
      kind: ENVIRONMENTS,
      shape: Environment,
      list: () => listShownEnvironments(app),
      show: (name) => showEnvironment(app, name),
    }),
    ...definitionRoutes(app, {
      path: '/v1/products',
      singular: 'a product',
      plural: 'products with their applications in each environment, by name',
      kind: PRODUCTS,
      shape: Product,
      list: () => listShownProducts(app),
      show: (name) => showProduct(app, name),
    }),
    ...definitionRoutes(app, {
      path: '/v1/promotion-templates',
      singular: 'a promotion template',
      plural: 'promotion templates, by name',
      kind: TEMPLATES,
      shape: PromotionTemplate,
    }),
    ...definitionRoutes(app, {
      path: '/v1/promotion-flows',
      singular: 'a promotion flow',
      plural: 'promotion flows, by name',
      kind: FLOWS,
      shape: PromotionFlow,
    }),
    ...definitionRoutes(app, {
      path: '/v1/promotion-policies',
      singular: 'a promotion policy',
      plural: 'promotion policies, by name',
      kind: POLICIES,
      shape: PromotionPolicy,
    }),
  ]
}

function definitionRoutes<S extends z.ZodType>(app: App, resource: Resource<S>): Route[] {
  const { path, singular, plural, kind, shape } = resource
  const { store, accountId } = app
  const list = resource.list ?? (() => listDefined(store.query, accountId, kind))
  const show = resource.show ?? ((name: string) => getDefined(store.query, { accountId, kind, name }))
  const byName = `${path}/{name}`
  return [
    route('GET', path, {
      summary: `List ${plural}`,
      allow: 'see-gitops',
      scope: 'gitops:read',
      replies: { 200: page(shape) },
      handle: async () => ok({ items: await list() }),
    }),
    route('GET', byName, {
      summary: `Show ${singular}`,
      allow: 'see-gitops',
      scope: 'gitops:read',
      params: ByName,
      replies: { 200: shape },
      handle: async ({ params }) => ok(await show(params.name)),
    }),
    route('PUT', byName, {
      summary: `Create or replace ${singular}`,
      allow: 'manage-gitops',
      scope: 'gitops:write',
      params: ByName,
      body: kind.input,
      replies: { 200: shape },
      async handle({ params, body, actor }) {
        await putDefined(app, { kind, name: params.name, spec: body, by: nameOf(actor) })
        return ok(await show(params.name))
      },
    }),
    route('DELETE', byName, {
      summary: `Delete ${singular}, unless something uses it`,
      allow: 'manage-gitops',
      scope: 'gitops:write',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await deleteDefined(app, kind.kind, params.name)
        return done
      },
    }),
  ]
}
