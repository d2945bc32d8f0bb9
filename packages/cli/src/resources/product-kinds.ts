/** The kinds of environments, products, what promotions follow, and releases: their calls and columns. */
import type { Environment, Product, PromotionFlow, PromotionPolicy, PromotionTemplate, Release } from '@windlass/protocol'
import { paintStatus } from '../format/style.ts'
import { formatTime } from '../format/time.ts'
import { age, type Kind } from './kind.ts'

export const environments: Kind<Environment> = {
  name: 'environments',
  singular: 'environment',
  of: ({ environments: { list, get, delete: remove } }) => ({ list: () => list(), get, remove: (name) => remove(name) }),
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    KIND: ({ kind }) => kind,
    APPLICATIONS: ({ applications }) => String(applications),
    HEALTHY: ({ healthy }) => String(healthy),
    PLACES: ({ clusters }) =>
      clusters
        .flatMap(({ runtime, cluster, namespaces }) =>
          namespaces.map((namespace) => [runtime, cluster, namespace].filter((part) => part !== undefined).join('/')),
        )
        .join(','),
    AGE: age,
  },
  wide: {
    ID: ({ id }) => id,
    POSITION: ({ position }) => String(position),
    PROMOTERS: ({ promoters }) => (promoters ?? []).join(','),
    'CHANGED BY': ({ changedBy }) => changedBy,
  },
}

export const products: Kind<Product> = {
  name: 'products',
  singular: 'product',
  of: ({ products: { list, get, delete: remove } }) => ({ list: () => list(), get, remove: (name) => remove(name) }),
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    VERSIONS: ({ environments: places }) =>
      places.map(({ environment, version }) => `${environment}=${version ?? '?'}`).join(','),
    HEALTH: ({ environments: places }, { style }) =>
      places.map(({ environment, health }) => `${environment}=${paintStatus(style, health)}`).join(','),
    RELEASE: ({ release }, { style }) =>
      release === undefined ? '' : `#${release.number} ${paintStatus(style, release.status)}`,
    AGE: age,
  },
  wide: {
    ID: ({ id }) => id,
    FLOWS: ({ promotionFlows: flows }) => flows.map(({ name }) => name).join(','),
    CONCURRENCY: ({ concurrency }) => concurrency,
    ELSEWHERE: ({ elsewhere }) => elsewhere.join(','),
  },
}

export const promotionFlows: Kind<PromotionFlow> = {
  name: 'promotion-flows',
  singular: 'promotion-flow',
  of: ({ promotionFlows: { list, get, delete: remove } }) => ({ list: () => list(), get, remove: (name) => remove(name) }),
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    FROM: ({ triggerEnvironment }) => triggerEnvironment,
    STEPS: ({ steps }) => steps.map(({ environment }) => environment).join(','),
    AGE: age,
  },
  wide: {
    ID: ({ id }) => id,
    TIMEOUT: ({ timeoutMinutes }) => `${timeoutMinutes} min`,
    'CHANGED BY': ({ changedBy }) => changedBy,
  },
}

export const promotionPolicies: Kind<PromotionPolicy> = {
  name: 'promotion-policies',
  singular: 'promotion-policy',
  of: ({ promotionPolicies: { list, get, delete: remove } }) => ({ list: () => list(), get, remove: (name) => remove(name) }),
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    PRIORITY: ({ priority }) => String(priority),
    PRODUCTS: ({ selector: { product } }) => product?.names.join(',') ?? 'all',
    ENVIRONMENTS: ({ selector: { targetEnvironment } }) =>
      [...(targetEnvironment?.names ?? []), ...(targetEnvironment?.types ?? [])].join(',') || 'all',
    ACTION: ({ policy }) => policy.action ?? '',
    AGE: age,
  },
  wide: {
    ID: ({ id }) => id,
    BEFORE: ({ policy }) => policy.preAction ?? '',
    AFTER: ({ policy }) => policy.postAction ?? '',
    'CHANGED BY': ({ changedBy }) => changedBy,
  },
}

export const promotionTemplates: Kind<PromotionTemplate> = {
  name: 'promotion-templates',
  singular: 'promotion-template',
  of: ({ promotionTemplates: { list, get, delete: remove } }) => ({ list: () => list(), get, remove: (name) => remove(name) }),
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    PRIORITY: ({ priority }) => String(priority),
    VERSION: ({ versionSource }) => (versionSource === undefined ? '' : `${versionSource.file} ${versionSource.jsonPath}`),
    FILES: ({ promotion }) => Object.keys(promotion).join(',') || 'all',
    AGE: age,
  },
  wide: { ID: ({ id }) => id, 'CHANGED BY': ({ changedBy }) => changedBy },
}

export const releases: Kind<Release> = {
  name: 'releases',
  singular: 'release',
  of: ({ releases: { list, get } }) => ({
    list: ({ query: { limit, cursor, releases: filter } }) => list({ query: { limit, cursor, ...filter } }),
    get,
  }),
  nameOf: ({ id }) => id,
  columns: {
    ID: ({ id }) => id,
    PRODUCT: ({ product }) => product,
    NUMBER: ({ number }) => String(number),
    VERSION: ({ version }) => version ?? '',
    STATUS: ({ status }, { style }) => paintStatus(style, status),
    STEPS: ({ steps }, { style }) =>
      steps.map(({ environment, state }) => `${environment}=${paintStatus(style, state)}`).join(','),
    BY: ({ createdBy }) => createdBy,
    AGE: age,
    WHY: ({ why }) => why ?? '',
  },
  wide: {
    FLOW: ({ flow }) => flow ?? '',
    FROM: ({ from }) => from,
    ENDED: ({ endedAt }) => formatTime(endedAt),
  },
}
