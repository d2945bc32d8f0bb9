/** `tunnel check` against real servers of tunnels, and what can be in its way. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http, { type IncomingMessage, type RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { issueCertificates } from '@windlass/manifests'
import { expect, onTestFinished, test } from 'vitest'
import { DOMAIN, openScene, type Scene } from '../../../tunnel/test/support/scene.ts'
import { runTunnelCheck } from '../../src/commands/tunnel/check.ts'
import { readSettings } from '../../src/config.ts'
import { recordOutput } from '../recorded-output.ts'

interface Input {
  readonly server?: URL
  readonly token?: string
  readonly ca?: string
  readonly env?: Readonly<Record<string, string>>
}

interface Checked {
  readonly code: number
  /** Check and status of each finding. */
  readonly seen: string
  readonly last: { readonly code?: string; readonly message: string; readonly hint?: string }
  readonly text: string
}

/** Runs the command. The token of the scene is that of the runtime `prod`. */
async function check(
  { server }: Pick<Scene, 'server'>,
  { token = 'first', ca, env = {}, ...input }: Input = {},
): Promise<Checked> {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-tunnel-check-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [tokenFile, caFile] = [join(folder, 'token'), join(folder, 'ca.pem')]
  writeFileSync(tokenFile, token)
  if (ca !== undefined) writeFileSync(caFile, ca)
  const options = {
    serverUrl: (input.server ?? server.url).href,
    runtime: 'prod',
    tokenFile,
    caFile: ca === undefined ? undefined : caFile,
    output: 'json' as const,
  }
  const out = recordOutput()
  const code = await runTunnelCheck({ args: [], options, out, settings: readSettings({ HOME: '/nowhere', ...env }) })
  const findings = out.lines.map((line): Checked['last'] & { check: string; status: string } => JSON.parse(line))
  const last = findings.at(-1) ?? { message: '' }
  return { code, seen: findings.map((one) => `${one.check} ${one.status}`).join(', '), last, text: out.lines.join('\n') }
}

/** Starts what is in the way. Returns its port. */
async function listen(handle: RequestListener, onConnect?: (request: IncomingMessage, socket: Socket) => void): Promise<number> {
  const server = http.createServer(handle)
  if (onConnect !== undefined) server.on('connect', onConnect)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

test('a check passes, connects nothing, and tells of the client that is connected, which keeps its calls', async () => {
  await using scene = await openScene()
  const free = await check(scene)
  expect([free.code, free.seen]).toEqual([0, 'proxy pass, DNS pass, TLS pass, WebSocket pass, token pass, client pass'])
  expect(scene.registry.held.size).toBe(0)
  const client = await scene.connect()
  const held = [...scene.registry.held.values()][0]?.session.id
  const taken = await check(scene)
  expect([taken.code, taken.last]).toEqual([
    0,
    expect.objectContaining({ code: 'tunnel-taken', message: expect.stringContaining('127.0.0.1 (version 1.0.0)') }),
  ])
  expect([client.status().isOnline, client.status().connections, [...scene.registry.held.values()][0]?.session.id]).toEqual([
    true,
    1,
    held,
  ])
})

test('a token that is refused says why, with the exit code for what is not allowed', async () => {
  await using scene = await openScene()
  const wrong = await check(scene, { token: 'unknown' })
  expect([wrong.code, wrong.seen, wrong.last.code]).toEqual([4, 'proxy pass, DNS pass, TLS pass, token fail', 'unauthenticated'])
  scene.registry.tokens.set('of-other', 'other')
  expect(await check(scene, { token: 'of-other' })).toMatchObject({ code: 4, last: { code: 'forbidden' } })
  expect(scene.registry.held.size).toBe(0)
})

test('a certificate of an unknown CA is named with its issuer, and passes with the CA', async () => {
  const {
    serverCert: cert,
    serverKey: key,
    ca,
  } = issueCertificates({ now: Date.now(), validMs: 3_600_000, names: [`*.${DOMAIN}`] })
  await using scene = await openScene({ tls: { cert, key } })
  const stranger = await check(scene)
  expect([stranger.code, stranger.seen, stranger.last.code]).toEqual([5, 'proxy pass, DNS pass, TLS fail', 'server-unreachable'])
  expect(stranger.last.hint).toContain('global.codefresh.tls.caCerts')
  expect((await check(scene, { ca })).code).toBe(0)
})

test('what is in the way is told apart: no name, nobody there, a proxy that refuses, one without WebSockets, and another server', async () => {
  await using scene = await openScene()
  const unknown = await check(scene, { server: new URL('https://register.tunnels.invalid') })
  expect([unknown.code, unknown.seen]).toEqual([5, 'proxy pass, DNS fail'])
  const nobody = await check(scene, { server: new URL('http://127.0.0.1:1') })
  expect([nobody.code, nobody.seen, nobody.last.code]).toEqual([
    5,
    'proxy pass, DNS pass, TLS pass, WebSocket fail',
    'server-unreachable',
  ])
  const refusing = await listen(
    () => undefined,
    (_request, socket) => void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n'),
  )
  const env = { HTTPS_PROXY: `http://user:secret@127.0.0.1:${refusing}` }
  const refused = await check(scene, { server: new URL(`https://register.${DOMAIN}`), env })
  expect([refused.code, refused.seen, refused.last.message]).toEqual([
    5,
    'proxy pass, proxy fail',
    expect.stringContaining('the proxy refused the connection'),
  ])
  expect(refused.text).not.toContain('secret')
  // It passes everything but the headers of the connection, as HTTP/1.1 asks of a proxy.
  const stripping = await listen((request, response) => {
    const { connection: _connection, upgrade: _upgrade, ...headers } = request.headers
    const { method, url: path } = request
    const onward = http.request({ host: '127.0.0.1', port: scene.server.port, method, path, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  })
  const stripped = await check(scene, { server: new URL(`http://127.0.0.1:${stripping}`) })
  expect([stripped.code, stripped.seen, stripped.last]).toEqual([
    1,
    'proxy pass, DNS pass, TLS pass, WebSocket fail',
    expect.objectContaining({ code: 'protocol-unsupported', message: expect.stringContaining('without its upgrade') }),
  ])
  const portal = await listen((_request, response) => void response.end('Sign in to the network'))
  const other = await check(scene, { server: new URL(`http://127.0.0.1:${portal}`) })
  expect([other.code, other.last.code]).toEqual([5, 'proxy-answered'])
})
