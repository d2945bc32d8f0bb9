/** `windlass app-proxy run` as a process, called through a tunnel of a real server. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startService } from '../../../../e2e/support/process.ts'
import { WINDLASS } from '../../../../e2e/support/programs.ts'
import { NAMESPACE, startKubeApi } from '../../../app-proxy/test/support/kube-api.ts'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'

test('app-proxy run serves users through the tunnel of its runtime, ends on SIGTERM, and shows no token (O024)', async () => {
  await using scene = await openHttpScene({ tunnels: { domain: 'tunnels.test', port: 0, timings: { heartbeatMs: 200 } } })
  await using kube = await startKubeApi()
  const { admin, server, adminToken } = scene
  const folder = mkdtempSync(join(tmpdir(), 'windlass-app-proxy-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const { token, url } = await admin.gitopsRuntimes.createToken('prod')
  const [tokenFile, kubeconfig, iv] = ['token', 'kubeconfig', 'iv'].map((name) => join(folder, name))
  writeFileSync(tokenFile ?? '', token)
  writeFileSync(iv ?? '', 'a random text of this test\n')
  const cluster = {
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace: NAMESPACE } }],
    clusters: [{ name: 'test', cluster: { server: kube.url } }],
    users: [{ name: 'test', user: {} }],
  }
  writeFileSync(kubeconfig ?? '', JSON.stringify(cluster))
  const identity = `--runtime prod --token-file ${tokenFile}`
  const proxy = await startService({
    command: WINDLASS,
    args: `app-proxy run --server-url ${server.url} --account-id ${server.app.accountId} ${identity} --port 0 --kubeconfig ${kubeconfig}`.split(
      ' ',
    ),
    env: { WINDLASS_APP_PROXY_STORE_IV_FILE: iv ?? '', WINDLASS_APP_PROXY_HOST: '127.0.0.1' },
    ready: (log) => log.includes('app-proxy listens'),
  })
  onTestFinished(() => proxy.stop('SIGKILL'))
  const port = /"port":(\d+)/.exec(proxy.log())?.[1]
  const tunnel = await startService({
    command: WINDLASS,
    args: `tunnel run --server-url http://127.0.0.1:${server.tunnelPort} ${identity} --router-url http://127.0.0.1:${port}`.split(
      ' ',
    ),
    ready: (log) => log.includes('tunnel connected'),
  })
  onTestFinished(() => tunnel.stop('SIGKILL'))
  const call = async (
    headers: Record<string, string>,
  ): Promise<{ status: number | undefined; text: string; origin: unknown }> => {
    const request = http.request({
      host: '127.0.0.1',
      port: server.tunnelPort,
      path: '/app-proxy/api/version',
      headers: { host: new URL(url ?? '').host, origin: server.url, ...headers },
      agent: false,
    })
    request.end()
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    const text = Buffer.concat((await response.toArray()) as Buffer[]).toString()
    return { status: response.statusCode, text, origin: response.headers['access-control-allow-origin'] }
  }
  // The origin of the server is allowed if no others are set.
  const answer = await call({ 'x-access-token': adminToken })
  expect(answer).toMatchObject({ status: 200, origin: server.url })
  expect(JSON.parse(answer.text)).toMatchObject({ runtime: 'prod', platformHost: server.url })
  expect(await call({})).toMatchObject({ status: 401, origin: server.url })
  expect(await call({ authorization: token })).toMatchObject({ status: 401 })
  proxy.signal('SIGTERM')
  expect(await proxy.ended()).toBe(0)
  for (const secret of [token, adminToken]) expect(proxy.log()).not.toContain(secret.split('.')[1])
})

test('app-proxy run names the settings that are missing or wrong', async () => {
  const settings = { WINDLASS_APP_PROXY_STORE_IV: 'short', WINDLASS_APP_PROXY_CORS: 'https://ci.example.com/path' }
  const run = startService({ command: WINDLASS, args: ['app-proxy', 'run'], env: settings, ready: () => false })
  const error = String(await run.catch((why: unknown) => why))
  for (const name of ['SERVER_URL', 'RUNTIME', 'ACCOUNT_ID', 'TOKEN_PATH', 'STORE_IV', 'CORS'])
    expect(error).toContain(`WINDLASS_APP_PROXY_${name}`)
})
