/** What an app-proxy reports about its runtime, at a real server; the API server of the cluster is in memory. */
import { listAll } from '@windlass/client'
import { nodeTransport, proxyFrom } from '@windlass/kit'
import { expect, test } from 'vitest'
import { freePort } from '../../../e2e/support/process.ts'
import { openHttpScene } from '../../server/test/support/http-scene.ts'
import { NAMESPACE } from './support/kube-api.ts'
import { openScene } from './support/scene.ts'

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const PATIENCE = { timeout: 30_000, interval: 50 }

test('the state of 120 clusters is sent in chunks, without credentials, and metrics say when (O057, O084)', async () => {
  await using server = await openHttpScene()
  const { token: runtimeToken } = await server.admin.gitopsRuntimes.createToken('prod')
  const chunks: { readonly isLast: boolean; readonly clusters: readonly { readonly name: string }[] }[] = []
  const direct = nodeTransport({ proxy: proxyFrom({}), connectMs: 5_000 })
  const metricsPort = await freePort()
  const times = { checks: 100, clusters: 500, forges: 60_000 }
  await using scene = await openScene(
    { url: server.server.url, accountId: server.server.app.accountId, runtimeToken },
    {
      metricsPort,
      reporting: times,
      server: {
        url: server.server.url,
        async transport(request) {
          if (request.url.endsWith('/gitops-clusters')) chunks.push(JSON.parse(String(request.body)))
          return direct(request)
        },
      },
    },
  )
  const secretOf = (n: number) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `cluster-${n}`, namespace: NAMESPACE, labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
    data: {
      name: base64(`fake-${n}`),
      server: base64(`https://10.0.0.${n}`),
      config: base64('{"bearerToken":"secret-of-a-cluster"}'),
    },
  })
  // 120 with the cluster of the runtime itself.
  for (let n = 1; n < 120; n += 1) scene.kube.objects.set(`secrets/cluster-${n}`, secretOf(n))
  // One that no report may have does not keep the others from being reported.
  const long = { ...secretOf(120).data, server: base64(`https://${'x'.repeat(600)}`) }
  scene.kube.objects.set('secrets/cluster-120', { ...secretOf(120), data: long })
  const sizes = (): number[][] => {
    const rounds: number[][] = [[]]
    for (const { clusters, isLast } of chunks) {
      rounds.at(-1)?.push(clusters.length)
      if (isLast) rounds.push([])
    }
    return rounds
  }
  await expect.poll(sizes, PATIENCE).toContainEqual([50, 50, 20])
  const list = () => listAll(({ query }) => server.admin.gitopsStatus.clusters({ query: { ...query, runtime: 'prod' } }))
  const count = async (): Promise<number> => (await list()).length
  await expect.poll(count, PATIENCE).toBe(120)
  expect(JSON.stringify(chunks)).not.toContain('secret-of-a-cluster')
  // Without Argo CD nothing is known about the connection.
  expect((await list()).slice(0, 2)).toMatchObject([
    { name: 'in-cluster', connection: { state: 'unknown' } },
    { name: 'fake-1', server: 'https://10.0.0.1', connection: { state: 'unknown' } },
  ])
  scene.kube.objects.delete('secrets/cluster-7')
  await expect.poll(count, PATIENCE).toBe(119)

  await scene.call('GET', '/version', { token: server.adminToken })
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  expect(text).toMatch(/^windlass_app_proxy_calls_total\{outcome="2xx"\} 1$/m)
  expect(text).toMatch(/^windlass_app_proxy_clusters 119$/m)
  expect(text).toMatch(/^windlass_app_proxy_reported_seconds\{report="clusters"\} \d{10}/m)
  expect(text).toMatch(/^windlass_app_proxy_check\{check="gitSourceConfigured"\} 0$/m)
  expect(text).toMatch(/^windlass_app_proxy_argo_cd\{state="unknown"\} 1$/m)
})

test('a Git token that another key has encrypted, and an app-proxy that knows only its files, are told', async () => {
  await using server = await openHttpScene()
  const { token: runtimeToken } = await server.admin.gitopsRuntimes.createToken('prod')
  const reporting = { checks: 100, clusters: 60_000, forges: 60_000 }
  await using scene = await openScene(
    { url: server.server.url, accountId: server.server.app.accountId, runtimeToken },
    { reporting },
  )
  const check = async (name: string): Promise<unknown> =>
    (await server.admin.gitopsStatus.get('prod')).checks.find((one) => one.name === name)
  await expect.poll(() => check('encryptionKey'), PATIENCE).toMatchObject({ status: 'successful' })
  expect(await check('encryptionIv')).toMatchObject({ status: 'successful' })
  expect(await check('appProxyStarted')).toMatchObject({ status: 'successful', description: 'The app-proxy 1.2.3 reports.' })
  scene.kube.objects.set('secrets/git-default-1', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'git-default-1', namespace: NAMESPACE, labels: { 'io.codefresh.integration-type': 'git' } },
    data: { token: base64('wl1.other.AAAAAAAAAAAAAAAA.AAAA') },
  })
  await expect
    .poll(() => check('encryptionKey'), PATIENCE)
    .toMatchObject({ status: 'failed', description: '1 of 1 Git tokens are encrypted with another key.' })
  expect(await check('encryptionIv')).toMatchObject({ status: 'successful' })
})

test('the app-proxy of a Runner reports nothing', async () => {
  await using server = await openHttpScene()
  const { token: runtimeToken } = await server.admin.gitopsRuntimes.createToken('prod')
  const control = { url: server.server.url, accountId: server.server.app.accountId, runtimeToken }
  const metricsPort = await freePort()
  const reporting = { checks: 20, clusters: 20, forges: 20 }
  await using scene = await openScene(control, { servesGitops: false, reporting, metricsPort })
  // Some rounds of the checks that it does not make.
  for (let n = 0; n < 5; n += 1) await scene.call('GET', '/version', { token: server.adminToken })
  expect((await server.admin.gitopsStatus.get('prod')).appProxy).toEqual({ isSilent: false })
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  expect(text).toMatch(/^windlass_app_proxy_calls_total\{outcome="2xx"\} 5$/m)
  expect(text).not.toContain('windlass_app_proxy_reported_seconds')
})
