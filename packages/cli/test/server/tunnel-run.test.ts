/** `windlass tunnel run` as a process, against a real server. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startService } from '../../../../e2e/support/process.ts'
import { WINDLASS } from '../../../../e2e/support/programs.ts'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

test('tunnel run connects, reports its health, uses a new token, ends on SIGTERM, and shows no token (O005, O015)', async () => {
  await using scene = await openHttpScene({ tunnels: { domain: 'tunnels.test', port: 0, timings: { heartbeatMs: 200 } } })
  const { admin, server } = scene
  const router = http.createServer((request, response) => response.end(`router ${request.url}`))
  await once(router.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    router.closeAllConnections()
    router.close()
  })
  const folder = mkdtempSync(join(tmpdir(), 'windlass-tunnel-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [first, second] = [await admin.gitopsRuntimes.createToken('prod'), await admin.gitopsRuntimes.createToken('prod')]
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, first.token)
  const address = router.address()
  const routerPort = typeof address === 'object' && address !== null ? address.port : 0
  const line = `tunnel run --server-url http://127.0.0.1:${server.tunnelPort} --runtime prod --token-file ${tokenFile}`
  const client = await startService({
    command: WINDLASS,
    args: `${line} --router-url http://127.0.0.1:${routerPort}`.split(' '),
    ready: (log) => log.includes('tunnel connected'),
  })
  onTestFinished(() => client.stop('SIGKILL'))
  const { host } = new URL(first.url ?? '')
  const call = async (): Promise<string> => {
    const request = http.request({
      host: '127.0.0.1',
      port: server.tunnelPort,
      path: '/app-proxy/x',
      headers: { host },
      agent: false,
    })
    request.end()
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    return `${response.statusCode} ${Buffer.concat((await response.toArray()) as Buffer[]).toString()}`
  }
  expect(await call()).toBe('200 router /app-proxy/x')
  // A check from elsewhere finds this client, and leaves it alone.
  const checked = await windlass(scene, line.replace('tunnel run', 'tunnel check').split(' '))
  expect([checked.code, checked.text]).toEqual([0, expect.stringContaining('another client is connected, from 127.0.0.1')])
  writeFileSync(tokenFile, second.token)
  await expect.poll(async () => (await admin.tunnels.get('prod')).token).toBe(second.id)
  expect(await call()).toBe('200 router /app-proxy/x')
  client.signal('SIGTERM')
  expect(await client.ended()).toBe(0)
  await expect.poll(async () => (await admin.tunnels.get('prod')).status).toBe('offline')
  for (const { token } of [first, second]) expect(client.log()).not.toContain(token.split('.')[1])
})
