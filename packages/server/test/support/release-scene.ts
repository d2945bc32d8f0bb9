/** Releases without HTTP and without loops: a product in two environments, its reports, and an app-proxy that the test plays. */
import {
  EnvironmentInput,
  ErrandWork,
  ProductInput,
  PromotionFlowInput,
  type Errand,
  type ErrandResult,
  type Release,
} from '@windlass/protocol'
import type { App } from '../../src/app.ts'
import { ENVIRONMENTS, FLOWS, PRODUCTS, putDefined } from '../../src/gitops/products/definitions.ts'
import { claimRuntimeErrands, takeErrandResult } from '../../src/gitops/releases/errands.ts'
import { advanceReleases } from '../../src/gitops/releases/run.ts'
import { showRelease } from '../../src/gitops/releases/show-releases.ts'
import { startRelease } from '../../src/gitops/releases/start.ts'
import { createGitopsToken } from '../../src/gitops/runtimes.ts'
import { findGitopsRuntime } from '../../src/store/runtimes/gitops.ts'
import { event, report, type Shown } from './fakes/application-reporter.ts'
import { shopIn } from './product.ts'
import { openTestApp, type Database, type TestApp } from './stores.ts'

export interface ReleaseScene extends TestApp {
  /** Reports a state of an application of the product. */
  report(environment: string, shown?: Shown): Promise<void>
  start(input?: { readonly flow?: string; readonly from?: string; readonly to?: string }): Promise<Release>
  /** Lets the server look at its releases until nothing changes, and returns the release. */
  look(id: string): Promise<Release>
  /** Claims as an app-proxy. */
  claim(): Promise<(Errand & { readonly work: ErrandWork })[]>
  answer(id: string, result: ErrandResult): Promise<boolean>
}

export const OLD = 'a'.repeat(40)
export const NEW = 'b'.repeat(40)

export async function put(
  app: App,
  name: string,
  given: { environment?: object; product?: object; flow?: object },
): Promise<void> {
  const by = 'tester'
  if (given.environment !== undefined)
    await putDefined(app, { kind: ENVIRONMENTS, name, spec: EnvironmentInput.parse(given.environment), by })
  if (given.flow !== undefined) await putDefined(app, { kind: FLOWS, name, spec: PromotionFlowInput.parse(given.flow), by })
  if (given.product !== undefined) await putDefined(app, { kind: PRODUCTS, name, spec: ProductInput.parse(given.product), by })
}

/** Opens the product `shop` with its flow `main`: from `staging` to `production`. Both applications are healthy, `staging` at the commit `NEW` and `production` at `OLD`. */
export async function openReleases(database: Database, product: object = {}): Promise<ReleaseScene> {
  const held = await openTestApp(database)
  const { app, clock } = held
  await createGitopsToken(app, { runtime: 'prod', by: 'tester' })
  const { id: runtimeId = '' } = (await findGitopsRuntime(app.store.query, app.accountId, 'prod')) ?? {}
  await put(app, 'staging', { environment: { clusters: [{ namespaces: ['staging'] }] } })
  await put(app, 'production', { environment: { kind: 'PROD', position: 1, clusters: [{ namespaces: ['production'] }] } })
  await put(app, 'main', { flow: { triggerEnvironment: 'staging', steps: [{ environment: 'production' }] } })
  await put(app, 'shop', { product: { promotionFlows: [{ name: 'main' }], ...product } })
  let version = 0
  const scene: ReleaseScene = {
    ...held,
    async report(environment, shown = {}) {
      version += 1
      await report(app, { data: event(shopIn(environment, { version, ...shown }), clock.now()) })
    },
    start: (input = {}) => startRelease(app, { product: 'shop', input, by: 'ada' }),
    async look(id) {
      for (let before = ''; ;) {
        await advanceReleases(app)
        const release = await showRelease(app, id)
        if (JSON.stringify(release) === before) return release
        before = JSON.stringify(release)
      }
    },
    async claim() {
      const signal = new AbortController().signal
      const errands = await claimRuntimeErrands(app, runtimeId, { room: 10, waitMs: 0, signal })
      return errands.map((errand) => ({ ...errand, work: ErrandWork.parse(errand.work) }))
    },
    answer: (id, result) => takeErrandResult(app, runtimeId, { id, result }),
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  }
  await scene.report('staging', at(NEW))
  await scene.report('production', at(OLD))
  return scene
}

/** The state of an application that was compared with a commit. */
export function at(revision: string, status: object = {}): Shown {
  return { status: { sync: { status: 'Synced', revision }, ...status } }
}
