/** Environments, products, what promotions follow, and releases. */
import {
  DefinitionName,
  Environment,
  EnvironmentInput,
  page,
  Product,
  ProductInput,
  PromotionFlow,
  PromotionFlowInput,
  PromotionPolicy,
  PromotionPolicyInput,
  PromotionTemplate,
  PromotionTemplateInput,
  Release,
  ReleaseInput,
  ReleaseQuery,
} from '@windlass/protocol'
import { z } from 'zod'
import { route } from '../route.ts'

const params = z.object({ name: DefinitionName })

export const environments = {
  /** Lists environments in their order, with the number of their applications. */
  list: route('GET', '/v1/environments', { answer: page(Environment) }),
  get: route('GET', '/v1/environments/{name}', { params, answer: Environment }),
  /** Creates or replaces an environment. */
  put: route('PUT', '/v1/environments/{name}', { params, body: EnvironmentInput, answer: Environment }),
  delete: route('DELETE', '/v1/environments/{name}', { params, answer: 'nothing' }),
}

export const products = {
  /** Lists products by name, with their applications in each environment. */
  list: route('GET', '/v1/products', { answer: page(Product) }),
  get: route('GET', '/v1/products/{name}', { params, answer: Product }),
  /** Creates or replaces a product. */
  put: route('PUT', '/v1/products/{name}', { params, body: ProductInput, answer: Product }),
  delete: route('DELETE', '/v1/products/{name}', { params, answer: 'nothing' }),
  /** Starts a release. */
  release: route('POST', '/v1/products/{name}/releases', { params, body: ReleaseInput, answer: Release, isKeyed: true }),
}

export const promotionTemplates = {
  list: route('GET', '/v1/promotion-templates', { answer: page(PromotionTemplate) }),
  get: route('GET', '/v1/promotion-templates/{name}', { params, answer: PromotionTemplate }),
  put: route('PUT', '/v1/promotion-templates/{name}', { params, body: PromotionTemplateInput, answer: PromotionTemplate }),
  delete: route('DELETE', '/v1/promotion-templates/{name}', { params, answer: 'nothing' }),
}

export const promotionFlows = {
  list: route('GET', '/v1/promotion-flows', { answer: page(PromotionFlow) }),
  get: route('GET', '/v1/promotion-flows/{name}', { params, answer: PromotionFlow }),
  put: route('PUT', '/v1/promotion-flows/{name}', { params, body: PromotionFlowInput, answer: PromotionFlow }),
  delete: route('DELETE', '/v1/promotion-flows/{name}', { params, answer: 'nothing' }),
}

export const promotionPolicies = {
  list: route('GET', '/v1/promotion-policies', { answer: page(PromotionPolicy) }),
  get: route('GET', '/v1/promotion-policies/{name}', { params, answer: PromotionPolicy }),
  put: route('PUT', '/v1/promotion-policies/{name}', { params, body: PromotionPolicyInput, answer: PromotionPolicy }),
  delete: route('DELETE', '/v1/promotion-policies/{name}', { params, answer: 'nothing' }),
}

export const releases = {
  /** Lists releases, newest first. */
  list: route('GET', '/v1/releases', { query: ReleaseQuery, answer: page(Release) }),
  get: route('GET', '/v1/releases/{id}', { answer: Release }),
  /** Ends a release. Commits stay, and pull requests stay open. */
  terminate: route('POST', '/v1/releases/{id}/terminate', { answer: Release }),
  /** Tries again what has failed. */
  retry: route('POST', '/v1/releases/{id}/retry', { answer: Release }),
}
