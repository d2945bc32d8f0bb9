/** A product with one application in each of two environments, as its runtime reports them. */
import { systemClock } from '@windlass/kit'
import { argoApplication, event, openReporter, type Shown } from './fakes/application-reporter.ts'
import type { HttpScene } from './http-scene.ts'

export const STAGING = 'prod/argocd/shop-staging'
export const PRODUCTION = 'prod/argocd/shop-production'

/** Returns an application of the product `shop` in an environment, which is also its namespace. */
export function shopIn(environment: string, shown: Shown = {}): object {
  return argoApplication(`shop-${environment}`, {
    annotations: { 'codefresh.io/product': 'shop' },
    ...shown,
    spec: {
      source: { repoURL: 'https://git.test/acme/apps.git', path: environment, targetRevision: 'main' },
      destination: { server: 'https://kubernetes.default.svc', namespace: environment },
      ...shown.spec,
    },
  })
}

export interface OpenProduct {
  /** Token of the runtime `prod`. */
  readonly token: string
  /** Reports a state of an application of the product. */
  report(environment: string, shown?: Shown): Promise<void>
}

/** Creates the environments `staging` and `production` and the product `shop`, and reports its applications, which are healthy and synced. */
export async function openProduct(scene: HttpScene): Promise<OpenProduct> {
  const { admin } = scene
  const { token } = await admin.gitopsRuntimes.createToken('prod')
  const send = openReporter(scene, token)
  let version = 1
  const product: OpenProduct = {
    token,
    async report(environment, shown = {}) {
      version += 1
      await send({ data: event(shopIn(environment, { version, ...shown }), systemClock.now()) })
    },
  }
  await admin.environments.put('staging', { clusters: [{ namespaces: ['staging'] }] })
  await admin.environments.put('production', { kind: 'PROD', position: 1, clusters: [{ namespaces: ['production'] }] })
  await admin.products.put('shop', {})
  for (const environment of ['staging', 'production']) await product.report(environment)
  return product
}
