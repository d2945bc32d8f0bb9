/** The server as a process: killed, restarted, with TLS, and with invalid settings. */
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { issueCertificates } from '@windlass/manifests'
import { nodeTransport } from '@windlass/kit'
import { AgentCreated, ApiKeyCreated, Build, createClient, FeedItem, Runtime } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { firstAdmin } from '../../../../../e2e/support/first-admin.ts'
import { freePort } from '../../../../../e2e/support/process.ts'
import { startServer } from '../../../src/index.ts'
import { helloAgent, startEngine } from '../../support/fakes/fake-agent.ts'
import { HELLO } from '../../support/http-scene.ts'
import { killed, ready, runServer } from '../../support/server-process.ts'

test('kill -9 during a build loses nothing that was acknowledged, and the build continues', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'windlass-kill-'))
  const port = await freePort()
  const env = { DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: String(port), MIN_FREE_PERCENT: '0' }
  const nobody = createClient({ url: `http://127.0.0.1:${port}`, transport: nodeTransport() })
  let child = runServer(env)
  try {
    await ready(nobody, child)
    const { token } = await nobody.call('POST', '/v1/bootstrap', ApiKeyCreated, { body: await firstAdmin(dataDir) })
    const admin = nobody.withToken(token)
    const agentToken = (await admin.call('POST', '/v1/agents', AgentCreated, { body: { name: 'a' } })).token
    await admin.call('POST', '/v1/runtimes', Runtime, { body: { name: 'local', type: 'fake', agent: 'a', isDefault: true } })
    const agent = await helloAgent(nobody.url, agentToken)
    const build = await admin.call('POST', '/v1/builds', Build, { body: { document: HELLO } })
    const [task] = await agent.claim()
    if (task?.kind !== 'start-attempt') throw new Error('no task')
    const engine = await startEngine(nobody.url, task)
    await engine.event({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1' }, volumeKept: true })
    let lines = ''
    for (let round = 0; round < 4; round += 1) {
      for (let n = 0; n < 5; n += 1) {
        const line = `round ${round} line ${n}\n`
        await engine.log('step/hello', line)
        lines += line
      }
      await killed(child, 'SIGKILL')
      child = runServer(env)
      await ready(nobody, child)
    }
    await agent.report(task, 'done')
    await engine.finish({ status: 'success' })
    expect(await admin.call('GET', `/v1/builds/${build.id}`, Build)).toMatchObject({ status: 'success', attempt: 1 })
    expect(await admin.text('GET', `/v1/builds/${build.id}/log`, { query: { stream: 'step/hello' } })).toBe(lines)
    const positions: number[] = []
    for await (const { event, data } of admin.events(`/v1/builds/${build.id}/follow`)) {
      if (event === 'end') break
      positions.push(FeedItem.parse(JSON.parse(data)).position)
    }
    expect(positions).toEqual(positions.map((_, index) => index + 1))
    expect(await killed(child, 'SIGTERM')).toBe(0)
  } finally {
    child.kill('SIGKILL')
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('reports each invalid setting and does not start', async () => {
  const child = runServer(
    { DATA_DIR: '/proc/nowhere', PORT: '99999', HEARTBEAT_MS: 'often', OUTBOUND_NETWORKS: '10.0.0.0/8,intranet' },
    'pipe',
  )
  const [output, [code]] = await Promise.all([child.stderr === null ? '' : text(child.stderr), once(child, 'exit')])
  expect(code).toBe(1)
  for (const key of ['PORT', 'HEARTBEAT_MS', 'OUTBOUND_NETWORKS']) expect(output).toContain(`WINDLASS_SERVER_${key}: `)
})

test('with a certificate the server uses HTTPS and the advertised URL', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-tls-'))
  const { ca, serverCert, serverKey } = issueCertificates({ now: Date.now(), validMs: 60_000 })
  const [certFile, keyFile, caFile] = ['cert', 'key', 'ca'].map((name) => join(folder, `${name}.pem`))
  if (certFile === undefined || keyFile === undefined || caFile === undefined) throw new Error('files')
  await Promise.all([writeFile(certFile, serverCert), writeFile(keyFile, serverKey), writeFile(caFile, ca)])
  const server = await startServer({
    dataDir: join(folder, 'data'),
    tls: { certFile, keyFile },
    caFile,
    advertisedUrl: 'https://ci.test/',
  })
  try {
    expect(server.url).toMatch(/^https:/)
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    get(`${server.url}/healthz`, { ca, servername: 'localhost' }, (answer) => void text(answer).then(resolve, reject)).on(
      'error',
      reject,
    )
    expect(await promise).toBe('ok\n')
    expect(server.app.advertisedUrl()).toBe('https://ci.test')
    expect(server.app.serverCa).toBe(await readFile(caFile, 'utf8'))
  } finally {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  }
})
