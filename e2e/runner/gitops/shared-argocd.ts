/** Vitest's global setup of the tests on Argo CD: one Argo CD and one forge for all their files, because their start takes longer than many tests. */
import type { TestProject } from 'vitest/node'
import { startArgoCd, type ArgoCdPlace } from '../../support/argocd.ts'
import { startCluster } from '../../support/cluster.ts'
import { startGitea, type GiteaPlace } from '../../support/gitea.ts'

/** The Argo CD, and the namespaces that it knows besides its own. */
export interface SharedArgoCd extends ArgoCdPlace {
  /** Namespaces that applications deploy to. */
  readonly shop: string
  readonly staging: string
  readonly production: string
  /** Namespace of a second runtime, with applications of its own. */
  readonly second: string
}

declare module 'vitest' {
  interface ProvidedContext {
    argoCd: SharedArgoCd
    /** A Gitea that Argo CD reaches. Each file has users of its own there. */
    gitea: GiteaPlace
  }
}

const started = new AsyncDisposableStack()

export async function setup({ provide }: TestProject): Promise<void> {
  const cluster = await startCluster()
  const own = `argocd-${process.pid}`
  const targets = { shop: `${own}-shop`, staging: `${own}-staging`, production: `${own}-production`, second: `${own}-second` }
  const forge = started.use(await startGitea({ host: cluster.host }))
  const { name, password, token } = forge.admin
  provide('gitea', { url: forge.url, admin: { name, password, token } })
  const argo = started.use(
    await startArgoCd(cluster, {
      namespace: own,
      targets: Object.values(targets),
      runtimes: [targets.second],
      rollouts: targets.shop,
    }),
  )
  provide('argoCd', { namespace: argo.namespace, url: argo.url, token: argo.token, ...targets })
}

export async function teardown(): Promise<void> {
  await started.disposeAsync()
}
