/** How far Argo CD is with an application of a restricted Git source, which is in another namespace. The cluster and Argo CD are played. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeTransport, silentLog, systemClock } from '@windlass/kit'
import { openKube } from '@windlass/kube'
import { createClient } from '@windlass/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { ARGO_TOKEN, NAMESPACE, startArgoCluster } from '../../../e2e/web/support/argo-cluster.ts'
import { argoApplication, COMMIT } from '../../server/test/support/fakes/application-reporter.ts'
import { openArgoApi } from '../src/argo/api.ts'
import { openApplications } from '../src/argo/applications.ts'
import { openAppliedApplications } from '../src/gitops/applied-applications.ts'

test('an application of a restricted Git source is followed to its sync at the server of Argo CD, which may refuse it', async () => {
  await using cluster = await startArgoCluster()
  const folder = mkdtempSync(join(tmpdir(), 'windlass-applied-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, ARGO_TOKEN)
  const kube = openKube({ access: { server: cluster.url, insecure: false, namespace: NAMESPACE }, log: silentLog })
  onTestFinished(() => kube.close())
  const client = createClient({ url: cluster.url, transport: nodeTransport({ connectMs: 5_000 }) })
  const applications = openApplications({ kube, namespace: NAMESPACE, clock: systemClock })
  const argo = openArgoApi({ client, tokenFile, namespace: NAMESPACE, clock: systemClock })
  const branches = { open: () => Promise.reject(new Error('the commit is the one that Argo CD has')) }
  const look = (one: typeof argo | undefined) =>
    openAppliedApplications({ applications, branches, argo: one, namespace: NAMESPACE }).look(
      // The caller is asked for nothing: the commit is that of Argo CD.
      {} as Parameters<ReturnType<typeof openAppliedApplications>['look']>[0],
      'shop',
      { gitSource: 'team', revision: COMMIT },
    )
  const entry = {
    group: 'argoproj.io',
    version: 'v1alpha1',
    kind: 'Application',
    namespace: 'cf-team',
    name: 'shop',
    status: 'Synced',
  }
  cluster.put(argoApplication('team', { status: { resources: [entry] } }))
  cluster.answers.set('application', 403)
  expect(await look(argo)).toMatchObject({
    state: 'waiting',
    reason: expect.stringMatching(
      /^Argo CD has applied the commit, and does not show the application "shop"\. Argo CD: permission denied/,
    ),
  })
  expect(await look(undefined)).toMatchObject({ state: 'waiting', reason: expect.stringContaining('"cf-team"') })
  const source = { repoURL: 'https://git.test/acme/shop.git', path: 'shop', targetRevision: 'main' }
  const destination = { server: 'https://kubernetes.default.svc', namespace: 'shop' }
  const state = (sync: string, comparedTo: object): object =>
    argoApplication('shop', { namespace: 'cf-team', status: { sync: { status: sync, revision: COMMIT, comparedTo } } })
  cluster.answers.set('application', (query) =>
    query.get('appNamespace') === 'cf-team' ? state('OutOfSync', { source, destination }) : 404,
  )
  expect(await look(argo)).toMatchObject({ state: 'waiting', reason: 'Argo CD has not synced the application "shop" yet.' })
  cluster.answers.set('application', state('Synced', { source, destination }))
  expect(await look(argo)).toMatchObject({
    state: 'applied',
    reason: 'The application "shop" is synced.',
    application: { sync: 'synced' },
  })
})
