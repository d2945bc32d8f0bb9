/** Which environment and which product an application belongs to. Pure: nobody assigns an application to an environment, its destination does. */
import type { EnvironmentInput, EnvironmentPlace, ProductInput } from '@windlass/protocol'

/** What decides where an application belongs. */
export interface Placed {
  /** Name of its runtime. */
  readonly runtime: string
  readonly namespace: string
  readonly name: string
  /** By its label or annotation; empty without one. */
  readonly product: string
  /** What it is in its product; empty if nothing says it. */
  readonly component: string
  /** Name or URL of the cluster, and the namespace, into which it deploys. */
  readonly cluster: string
  readonly clusterNamespace: string
}

export type NamedEnvironment = EnvironmentInput & { readonly name: string }

const IN_CLUSTER = 'in-cluster'
/** How applications name the cluster of their own runtime. */
const OWN_CLUSTERS: ReadonlySet<string> = new Set([
  IN_CLUSTER,
  'https://kubernetes.default.svc',
  'https://kubernetes.default',
  'https://kubernetes.default.svc.cluster.local',
])

function clusterOf(text: string): string {
  // A runtime reports the text: a pattern such as /\/+$/ would take the square of its length.
  let end = text.length
  while (text[end - 1] === '/') end -= 1
  const plain = text.slice(0, end).replace(/:443$/, '')
  return OWN_CLUSTERS.has(plain) ? IN_CLUSTER : plain
}

/** Returns the environment of an application; undefined if it deploys into none. */
export function environmentOf<E extends NamedEnvironment>(application: Placed, environments: readonly E[]): E | undefined {
  const { runtime, clusterNamespace } = application
  const cluster = clusterOf(application.cluster)
  return environments.find(({ clusters }) =>
    clusters.some(
      (place) =>
        (place.runtime === undefined || place.runtime === runtime) &&
        clusterOf(place.cluster) === cluster &&
        place.namespaces.includes(clusterNamespace),
    ),
  )
}

export interface Overlap {
  readonly environment: string
  readonly cluster: string
  readonly namespace: string
}

/** Returns a namespace that belongs to another environment too; undefined without one. */
export function findOverlap({ clusters }: EnvironmentInput, others: readonly NamedEnvironment[]): Overlap | undefined {
  for (const other of others)
    for (const place of clusters)
      for (const taken of other.clusters) {
        const namespace = isSamePlace(place, taken) ? place.namespaces.find((one) => taken.namespaces.includes(one)) : undefined
        if (namespace !== undefined) return { environment: other.name, cluster: place.cluster, namespace }
      }
  return undefined
}

function isSamePlace(one: EnvironmentPlace, other: EnvironmentPlace): boolean {
  const isSameRuntime = one.runtime === undefined || other.runtime === undefined || one.runtime === other.runtime
  return isSameRuntime && clusterOf(one.cluster) === clusterOf(other.cluster)
}

export function nameOfApplication({ runtime, namespace, name }: Pick<Placed, 'runtime' | 'namespace' | 'name'>): string {
  return `${runtime}/${namespace}/${name}`
}

/** Returns true if an application belongs to a product: the product names it, or its label or annotation names the product. */
export function isOfProduct(
  application: Placed,
  product: Pick<ProductInput, 'applications'> & { readonly name: string },
): boolean {
  return application.product === product.name || product.applications.includes(nameOfApplication(application))
}

/**
 * Returns what an application is in its product: `windlass.io/component`, or its name without that of its environment, such as `shop-api` for `shop-api-staging`. Applications of several
 * environments belong together if they have the same.
 */
export function componentOf({ component, name }: Pick<Placed, 'component' | 'name'>, environment: string): string {
  if (component !== '') return component
  if (name.endsWith(`-${environment}`)) return name.slice(0, -environment.length - 1)
  return name.startsWith(`${environment}-`) ? name.slice(environment.length + 1) : name
}
