/** Outbound connections through a proxy that requires a login, with a private CA. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { explainUnreachable, nodeTransport, proxyFrom } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runProgram } from '../../../e2e/support/process.ts'
import { makeCertificates, type Certificates } from './support/certificates.ts'
import { openConnectProxy, type ConnectProxy } from './support/connect-proxy.ts'
import { openSocksProxy } from './support/socks-proxy.ts'

const folder = mkdtempSync(join(tmpdir(), 'proxy-'))
const login = 'robot:p@ss/word'
const escaped = `robot:${encodeURIComponent('p@ss/word')}`
let files: Certificates
let platform: https.Server
let plain: http.Server
let proxy: ConnectProxy
let tlsProxy: ConnectProxy

const portOf = (server: http.Server | https.Server): number => {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

beforeAll(async () => {
  files = await makeCertificates(folder)
  const tls = { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') }
  platform = https.createServer(tls, (request, response) => response.end(`tls ${request.url}`))
  plain = http.createServer((request, response) => response.end(`plain ${request.url}`))
  for (const server of [platform, plain]) {
    // Kept connections stay open, also over a pause of this process.
    server.keepAliveTimeout = 0
    await once(server.listen(0, '127.0.0.1'), 'listening')
  }
  // The certificate is for 127.0.0.1 and localhost; only the proxy can resolve these names.
  const hosts = { 'platform.example': '127.0.0.1', localhost: '127.0.0.1' }
  proxy = await openConnectProxy({ login, hosts })
  tlsProxy = await openConnectProxy({ login, hosts, tls })
})

afterAll(async () => {
  for (const server of [platform, plain]) server.close()
  for (const server of [platform, plain]) server.closeAllConnections()
  await proxy[Symbol.asyncDispose]()
  await tlsProxy[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

/** Loopback is never sent to a proxy, so the test turns that rule off. */
function through(url: string): ReturnType<typeof proxyFrom> {
  return { ...proxyFrom({ HTTP_PROXY: url, HTTPS_PROXY: url }), isDirect: () => false }
}

const get = async (transport: ReturnType<typeof nodeTransport>, url: string): Promise<string> =>
  (await transport({ method: 'GET', url, headers: {}, timeoutMs: 60_000 })).text()

test('sends TLS by CONNECT through a proxy with a login and trusts the CA of a file (R061, R069)', async () => {
  const settings = through(`http://${escaped}@127.0.0.1:${proxy.port}`)
  const url = `https://localhost:${portOf(platform)}/tasks`
  const transport = nodeTransport({ caFile: files.ca, proxy: settings })
  expect(await get(transport, url)).toBe('tls /tasks')
  expect(proxy.passed).toContain(`CONNECT localhost:${portOf(platform)}`)
  await expect(get(nodeTransport({ proxy: settings }), url)).rejects.toThrow(/certificate/)
  expect(await get(nodeTransport({ insecure: true, proxy: settings }), url)).toBe('tls /tasks')
})

test('sends calls without TLS to the proxy as they are, with the login (R061)', async () => {
  const transport = nodeTransport({ proxy: through(`http://${escaped}@127.0.0.1:${proxy.port}`) })
  const url = `http://platform.example:${portOf(plain)}/x?y=1`
  expect(await get(transport, url)).toBe('plain /x?y=1')
  expect(proxy.passed).toContain(`GET ${url}`)
})

test('trusts a proxy that speaks TLS by NODE_EXTRA_CA_CERTS (R061)', async () => {
  const url = `https://localhost:${portOf(platform)}/tasks`
  const kit = pathToFileURL(join(import.meta.dirname, '../../kit/src/index.ts')).href
  const script = `
    import { nodeTransport, proxyFrom } from ${JSON.stringify(kit)}
    const proxy = { ...proxyFrom({ HTTPS_PROXY: process.argv[1] }), isDirect: () => false }
    const answer = await nodeTransport({ proxy })({ method: 'GET', url: process.argv[2], headers: {}, timeoutMs: 60_000 })
    console.log(await answer.text())
    process.exit(0)`
  const args = ['--input-type=module', '--eval', script, `https://${escaped}@127.0.0.1:${tlsProxy.port}`, url]
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: files.ca }
  expect(await runProgram(process.execPath, args, { env })).toBe('tls /tasks')
  expect(tlsProxy.passed).toEqual([`CONNECT localhost:${portOf(platform)}`])
})

test('reaches a host of NO_PROXY directly (R061)', async () => {
  const env = { HTTPS_PROXY: `http://127.0.0.1:1`, NO_PROXY: '127.0.0.0/8' }
  const transport = nodeTransport({ caFile: files.ca, proxy: proxyFrom(env) })
  expect(await get(transport, `https://127.0.0.1:${portOf(platform)}/direct`)).toBe('tls /direct')
})

test('reports a wrong login without revealing it (R241)', async () => {
  const transport = nodeTransport({ caFile: files.ca, proxy: through(`http://robot:wr0ng@127.0.0.1:${proxy.port}`) })
  const error = await get(transport, `https://localhost:${portOf(platform)}/`).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(Error)
  expect(String(error)).toContain('407')
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error)) + String(error)).not.toContain('wr0ng')
})

test('times out if the proxy is silent', async () => {
  const silent = http.createServer().on('connect', () => undefined)
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const transport = nodeTransport({ proxy: through(`http://127.0.0.1:${portOf(silent)}`) })
  const call = transport({ method: 'GET', url: 'https://localhost:1/', headers: {}, timeoutMs: 300 })
  await expect(call).rejects.toThrow('no answer within 300 ms')
  silent.closeAllConnections()
  silent.close()
})

test('sends calls with and without TLS through a SOCKS proxy with a login, which resolves the names (R061)', async () => {
  await using socks = await openSocksProxy(login, { 'platform.example': '127.0.0.1', localhost: '127.0.0.1' })
  const settings = through(`socks5://${escaped}@127.0.0.1:${socks.port}`)
  const transport = nodeTransport({ caFile: files.ca, proxy: settings })
  expect(await get(transport, `https://localhost:${portOf(platform)}/tasks`)).toBe('tls /tasks')
  expect(await get(transport, `https://localhost:${portOf(platform)}/again`)).toBe('tls /again')
  expect(await get(transport, `http://platform.example:${portOf(plain)}/x?y=1`)).toBe('plain /x?y=1')
  // The second call uses the kept connection.
  expect(socks.passed).toEqual([`localhost:${portOf(platform)}`, `platform.example:${portOf(plain)}`])
  await expect(get(nodeTransport({ proxy: settings }), `https://localhost:${portOf(platform)}/`)).rejects.toThrow(/certificate/)
})

test('names a SOCKS proxy that refuses a call or does not answer, without its password', async () => {
  await using socks = await openSocksProxy(login, {})
  const explain = async (proxy: string): Promise<string> => {
    const url = 'http://nowhere.example/'
    const error: unknown = await get(nodeTransport({ proxy: through(proxy) }), url).catch((thrown: unknown) => thrown)
    expect(inspect(error, { depth: 10 })).not.toMatch(/p@ss|wrong/)
    const { cause } = explainUnreachable(error, url)
    return cause
  }
  expect(await explain(`socks5://${escaped}@127.0.0.1:${socks.port}`)).toMatch(
    /^the proxy refused the connection: SOCKS proxy 127\.0\.0\.1: .*HostUnreachable/,
  )
  expect(await explain(`socks5://robot:wrong@127.0.0.1:${socks.port}`)).toMatch(/Authentication failed/)
  expect(socks.refused()).toBe(1)
  const { port } = socks
  await socks[Symbol.asyncDispose]()
  expect(await explain(`socks5://${escaped}@127.0.0.1:${port}`)).toMatch(/SOCKS proxy 127\.0\.0\.1: .*ECONNREFUSED/)
})

test('a call through a SOCKS proxy that does not answer can be aborted', async () => {
  const silent = createServer()
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const address = silent.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const stop = new AbortController()
  const connected = once(silent, 'connection')
  const transport = nodeTransport({ proxy: through(`socks5://127.0.0.1:${port}`) })
  const call = transport({ method: 'GET', url: 'http://a.example/', headers: {}, signal: stop.signal })
  const [socket] = await connected
  stop.abort()
  await expect(call).rejects.toMatchObject({ name: 'AbortError' })
  socket.destroy()
  silent.close()
})
