/** Tunnels at a real server: tokens from /v1, a client that connects out, calls to its host, the list, the audit log, and two servers on PostgreSQL. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { openClient } from '@windlass/client'
import { nodeTransport, proxyFrom, silentLog, systemClock } from '@windlass/kit'
import { issueCertificates } from '@windlass/manifests'
import { startTunnelClient, type TunnelClient } from '@windlass/tunnel/client'
import { expect, inject, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { startPostgres } from '../../../../../e2e/support/postgres.ts'
import { memoryFolder } from '../../../../../e2e/support/memory-folder.ts'
import { freePort } from '../../../../../e2e/support/process.ts'
import { startServer, type ServerOptions } from '../../../src/index.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

/** Connections end for what a test does, and not because the machine pauses for some seconds. */
const TUNNELS = { domain: 'tunnels.test', port: 0, timings: { heartbeatMs: 200, deadMs: 60_000 } } as const

/** Starts the router of a runtime, which answers with the headers that it got. */
async function startRouter(): Promise<URL> {
  const server = http.createServer((request, response) => response.end(JSON.stringify(request.headers)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return new URL(`http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`)
}

interface Connecting {
  readonly port: number | undefined
  readonly token: string
  readonly router: URL
  /** PEM; with it, the client connects by TLS. */
  readonly ca?: string
}

function connect({ port, token, router, ca }: Connecting): { readonly client: TunnelClient; replaceToken(next: string): void } {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-token-'))
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, token)
  const client = startTunnelClient({
    server: new URL(`${ca === undefined ? 'http' : 'https'}://localhost:${port}`),
    ca,
    runtime: 'prod',
    tokenFile,
    router,
    prefixes: ['/app-proxy'],
    version: '1.2.3',
    proxy: proxyFrom({}),
    clock: systemClock,
    log: silentLog,
  })
  onTestFinished(async () => {
    await client.close()
    rmSync(folder, { recursive: true })
  })
  return { client, replaceToken: (next) => writeFileSync(tokenFile, next) }
}

async function statusOf(port: number | undefined, host: string, headers: object = {}): Promise<{ status: number; text: string }> {
  const request = http.request({ host: '127.0.0.1', port, path: '/app-proxy/x', headers: { host, ...headers }, agent: false })
  request.end()
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const parts = await response.toArray()
  return { status: response.statusCode ?? 0, text: Buffer.concat(parts as Buffer[]).toString() }
}

const hostOf = (url: string | undefined): string => new URL(url ?? '').host

test('a runtime connects with its token, is called by its host, and is shown with its client (O005, O006, O009, O015)', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  const { admin, server } = scene
  const router = await startRouter()
  const created = await admin.gitopsRuntimes.createToken('prod')
  expect(created).toMatchObject({ runtime: 'prod', createdBy: expect.any(String), registerUrl: 'https://register.tunnels.test' })
  const host = hostOf(created.url)
  expect(host).toBe(`${server.app.accountId}-prod.tunnels.test`)
  expect((await statusOf(server.tunnelPort, host)).status).toBe(503)
  expect((await statusOf(server.tunnelPort, `${server.app.accountId}-other.tunnels.test`)).status).toBe(404)
  // A key of the API opens no tunnel, and a token of a runtime calls no API.
  const wrong = connect({ port: server.tunnelPort, token: scene.adminToken, router })
  await expect.poll(() => wrong.client.status().problem).toContain('not valid')
  await expect(scene.nobody.withToken(created.token).tunnels.list()).rejects.toMatchObject({ code: 'forbidden' })
  wrong.replaceToken(created.token)
  await expect.poll(() => wrong.client.status().isOnline).toBe(true)
  const answer = await statusOf(server.tunnelPort, host)
  expect(JSON.parse(answer.text)).toMatchObject({ host, 'x-forwarded-host': host, 'x-forwarded-for': '127.0.0.1' })
  await expect.poll(async () => (await admin.tunnels.get('prod')).status).toBe('online')
  expect((await admin.tunnels.list()).items).toMatchObject([
    { runtime: 'prod', url: `https://${host}`, clientVersion: '1.2.3', address: '127.0.0.1', token: created.id },
  ])
  expect(await server.app.metricsPage()).toContain('windlass_tunnel_clients 1\n')
  const next = await admin.gitopsRuntimes.createToken('prod')
  wrong.replaceToken(next.token)
  await expect.poll(async () => (await admin.tunnels.get('prod')).token).toBe(next.id)
  await admin.gitopsRuntimes.deleteToken('prod', created.id)
  expect((await statusOf(server.tunnelPort, host)).status).toBe(200)
  await admin.gitopsRuntimes.deleteToken('prod', next.id)
  await expect.poll(async () => (await admin.tunnels.get('prod')).status).toBe('offline')
  expect((await statusOf(server.tunnelPort, host)).status).toBe(503)
  await admin.gitopsRuntimes.delete('prod')
  await expect.poll(async () => (await statusOf(server.tunnelPort, host)).status).toBe(404)
  await expect.poll(() => auditOf(scene)).toEqual(expect.arrayContaining(['tunnel connected', 'tunnel closed']))
  const records = (await admin.audit.list({ query: { limit: 100 } })).items.filter(({ action }) => action === 'GET /v1/tunnel')
  expect(records.find(({ result }) => result === 'failed')).toMatchObject({ kind: 'nobody', code: 'unauthenticated' })
  expect(records.find(({ result }) => result === 'done')).toMatchObject({
    kind: 'tunnel',
    actor: 'prod',
    target: '/v1/tunnels/prod',
  })
  expect(JSON.stringify(records)).not.toContain(created.token.split('.')[1])
})

async function auditOf({ admin }: HttpScene): Promise<(string | undefined)[]> {
  return (await admin.audit.list({ query: { limit: 100 } })).items.map(({ detail }) => detail)
}

test('a server with a certificate serves TLS, also with a renewed one, and one behind a trusted proxy believes its headers (O005)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const names = ['*.tunnels.test']
  const { ca, serverCert, serverKey } = issueCertificates({ now: systemClock.now(), validMs: 3_600_000, names })
  const files = { certFile: join(folder, 'cert'), keyFile: join(folder, 'key') }
  writeFileSync(files.certFile, serverCert)
  writeFileSync(files.keyFile, serverKey)
  await using secure = await openHttpScene({ tunnels: { ...TUNNELS, tls: files, certificateMs: 20 } })
  const created = await secure.admin.gitopsRuntimes.createToken('prod')
  const router = await startRouter()
  const port = secure.server.tunnelPort
  const { client } = connect({ port, token: created.token, router, ca })
  await expect.poll(() => client.status().isOnline).toBe(true)
  const host = hostOf(created.url)
  const request = https.request({
    host: '127.0.0.1',
    port,
    path: '/app-proxy/x',
    headers: { host },
    servername: host,
    ca,
    agent: false,
  })
  request.end()
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const text = Buffer.concat((await response.toArray()) as Buffer[]).toString()
  expect(JSON.parse(text)).toMatchObject({ 'x-forwarded-proto': 'https', 'x-forwarded-for': '127.0.0.1' })
  // Files are replaced one after the other, so the server may read a certificate with another key.
  const renewed = issueCertificates({ now: systemClock.now(), validMs: 3_600_000, names })
  writeFileSync(files.certFile, renewed.serverCert)
  await systemClock.sleep(60)
  writeFileSync(files.keyFile, renewed.serverKey)
  await expect.poll(() => isTrusted(port, host, renewed.ca)).toBe(true)
  expect([await isTrusted(port, host, ca), client.status().isOnline]).toEqual([false, true])
  await using proxied = await openHttpScene({ tunnels: TUNNELS, trustedProxies: ['127.0.0.1'] })
  const other = await proxied.admin.gitopsRuntimes.createToken('prod')
  const behind = connect({ port: proxied.server.tunnelPort, token: other.token, router })
  await expect.poll(() => behind.client.status().isOnline).toBe(true)
  const forwarded = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': 'https' }
  const seen = await statusOf(proxied.server.tunnelPort, hostOf(other.url), forwarded)
  expect(JSON.parse(seen.text)).toMatchObject(forwarded)
})

/** Returns true if the certificate of the server is one of this CA. */
async function isTrusted(port: number | undefined, host: string, ca: string): Promise<boolean> {
  const socket = tls.connect({ host: '127.0.0.1', port: port ?? 0, servername: host, ca })
  const isSecure = await once(socket, 'secureConnect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isSecure
}

test('a connection that an admin ends comes back, and a name of another form is refused', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  const { admin, server } = scene
  const { token } = await admin.gitopsRuntimes.createToken('prod')
  const { client } = connect({ port: server.tunnelPort, token, router: await startRouter() })
  await expect.poll(() => client.status().isOnline).toBe(true)
  expect(await admin.tunnels.disconnect('prod')).toMatchObject({ status: 'offline' })
  await expect.poll(() => client.status().isOnline).toBe(false)
  for (const name of ['Prod', 'a_b', '-a', 'a'.repeat(39)])
    await expect(admin.gitopsRuntimes.createToken(name)).rejects.toMatchObject({ code: 'request-invalid' })
  await expect(admin.tunnels.get('other')).rejects.toMatchObject({ code: 'not-found' })
})

test('a hand-over that fails leaves the connection that works, although the new one answers pings (O015)', async () => {
  await using scene = await openHttpScene({ tunnels: TUNNELS })
  const { admin, server } = scene
  const { token, url } = await admin.gitopsRuntimes.createToken('prod')
  const { client } = connect({ port: server.tunnelPort, token, router: await startRouter() })
  await expect.poll(async () => (await admin.tunnels.get('prod')).status).toBe('online')
  const { client: id } = await server.app.store.query.selectFrom('tunnel').select('client').executeTakeFirstOrThrow()
  const failing = new WebSocket(`ws://localhost:${server.tunnelPort}/v1/tunnel`, 'windlass-tunnel.v1', {
    headers: {
      authorization: `Bearer ${token}`,
      'windlass-tunnel-runtime': 'prod',
      'windlass-tunnel-client': id,
      'windlass-tunnel-version': '1.2.3',
    },
  })
  let pings = 0
  failing.on('ping', () => {
    pings += 1
  })
  await once(failing, 'open')
  await expect.poll(() => pings).toBeGreaterThan(2)
  failing.terminate()
  await expect.poll(() => auditOf(scene)).toContain('tunnel closed')
  // The connection is asked again with each heartbeat.
  const { seenAt = 0 } = await admin.tunnels.get('prod')
  await expect.poll(async () => (await admin.tunnels.get('prod')).seenAt).toBeGreaterThan(seenAt)
  // A heartbeat that is late for a moment changes only the status that is shown.
  await expect.poll(async () => (await admin.tunnels.get('prod')).status).toBe('online')
  expect(client.status()).toMatchObject({ isOnline: true, connections: 1 })
  expect((await statusOf(server.tunnelPort, hostOf(url))).status).toBe(200)
})

test('of two servers on PostgreSQL each reaches a runtime, and its client moves when one stops (O008, O016)', async () => {
  const shared = inject('sharedPostgres')
  await using postgres = shared === undefined ? await startPostgres({ isDurable: false }) : undefined
  const { databaseUrl } = await freshDatabase(shared ?? postgres?.url ?? '')
  const dataDir = await memoryFolder('windlass-tunnels-')
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  const masterKey = Buffer.alloc(32, 7).toString('base64')
  const options = (name: string): ServerOptions => ({
    dataDir: join(dataDir, name),
    databaseUrl,
    logsUrl: join(dataDir, 'logs'),
    masterKey,
    bootstrapCode: 'a code of some length',
    minFreeShare: 0,
  })
  // The second client is refused as long as the heartbeats of the first one are not late.
  const timings = { ...TUNNELS.timings, heartbeatMs: 5_000 }
  const start = async (name: string) => {
    const port = await freePort()
    return startServer({ ...options(name), tunnels: { ...TUNNELS, timings, port, peerUrl: `http://127.0.0.1:${port}` } })
  }
  const [one, two] = [await start('one'), await start('two')]
  try {
    const { token: adminToken } = await openClient({ url: one.url, transport: nodeTransport() }).server.bootstrap({
      code: 'a code of some length',
    })
    const admin = openClient({ url: two.url, token: adminToken, transport: nodeTransport() })
    const created = await admin.gitopsRuntimes.createToken('prod')
    const host = hostOf(created.url)
    const router = await startRouter()
    const { client } = connect({ port: one.tunnelPort, token: created.token, router })
    await expect.poll(() => client.status().isOnline).toBe(true)
    for (const { tunnelPort } of [one, two]) {
      await expect.poll(async () => (await statusOf(tunnelPort, host)).status).toBe(200)
      const { text } = await statusOf(tunnelPort, host)
      expect(JSON.parse(text)).toMatchObject({ host, 'x-forwarded-for': '127.0.0.1' })
    }
    await expect.poll(async () => (await admin.tunnels.get('prod')).status).toBe('online')
    // A second client at the other server is refused as well.
    const second = connect({ port: two.tunnelPort, token: created.token, router })
    await expect.poll(() => second.client.status().problem).toContain('Another client')
    await one.close()
    await expect.poll(() => second.client.status().isOnline).toBe(true)
    await expect.poll(async () => (await statusOf(two.tunnelPort, host)).status).toBe(200)
    // The end of a token reaches the server that has the connection.
    await admin.gitopsRuntimes.deleteToken('prod', created.id)
    await expect.poll(() => second.client.status().isOnline).toBe(false)
  } finally {
    await one.close()
    await two.close()
  }
})

/** Makes a database on a PostgreSQL server. */
async function freshDatabase(url: string): Promise<{ databaseUrl: string }> {
  const { default: pg } = await import('pg')
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  const name = `tunnels_${process.pid}_${Math.floor(performance.now())}`
  await admin.query(`create database ${name}`)
  await admin.end()
  return { databaseUrl: Object.assign(new URL(url), { pathname: `/${name}` }).href }
}
