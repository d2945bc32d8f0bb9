/** Checks of the connection to a server, against real TLS servers with various faults. */
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { manualClock, systemClock } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkServer, type ServerCheck } from '../../src/doctor/check-server.ts'
import type { Finding } from '../../src/runner/acceptance/finding.ts'

const run = promisify(execFile)
let folder: string
const servers: Server[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'doctor-'))
})
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
  await rm(folder, { recursive: true, force: true })
})

/** Starts a server with its own certificate for a name. By default it responds like a Windlass server. */
async function serve(name: string, days: number, body = '{"protocol":2}'): Promise<{ url: string; ca: string }> {
  const [key, cert] = [join(folder, `${name}.key`), join(folder, `${name}.crt`)]
  const subject = ['-subj', `/O=Harbour ${name}/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  await run('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    String(days),
    ...subject,
    '-keyout',
    key,
    '-out',
    cert,
  ])
  const server = createServer({ key: await readFile(key), cert: await readFile(cert) }, (_request, response) =>
    response.end(body),
  )
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return { url: `https://localhost:${typeof address === 'object' && address !== null ? address.port : 0}`, ca: cert }
}

async function look(check: Partial<ServerCheck> & { url: string }): Promise<Map<string, Finding>> {
  const found = new Map<string, Finding>()
  await checkServer({ environment: {}, clock: systemClock, ...check }, (finding) => found.set(finding.check, finding))
  return found
}

test('a healthy server passes every check', async () => {
  const { url, ca } = await serve('localhost', 300)
  const found = await look({ url, caFile: ca })
  expect([...found.values()].map(({ check, status }) => `${check} ${status}`)).toEqual([
    'proxy pass',
    'DNS pass',
    'TLS pass',
    'server pass',
    'clock pass',
  ])
  expect(found.get('TLS')?.message).toContain('Harbour localhost')
})

test('reports an untrusted certificate authority, with how to trust it', async () => {
  const { url } = await serve('localhost', 300)
  const tls = (await look({ url })).get('TLS')
  expect(tls).toMatchObject({ status: 'fail', message: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT') })
  expect(tls?.hint).toContain('--ca-file')
})

test('distinguishes a certificate for another name from one that expires soon', async () => {
  const other = await serve('elsewhere', 300)
  expect((await look({ url: other.url, caFile: other.ca })).get('TLS')).toMatchObject({
    status: 'fail',
    message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID'),
  })
  const soon = await serve('localhost', 3)
  expect((await look({ url: soon.url, caFile: soon.ca })).get('TLS')).toMatchObject({
    status: 'warn',
    hint: expect.stringContaining('Renew'),
  })
})

test('reports the difference of the clocks', async () => {
  const { url, ca } = await serve('localhost', 300)
  const clock = { ...manualClock(Date.parse(new Date().toISOString()) + 3_600_000), monotonic: systemClock.monotonic }
  const found = (await look({ url, caFile: ca, clock })).get('clock')
  expect(found).toMatchObject({
    status: 'warn',
    message: expect.stringMatching(/differs from that of the server by 3[56]\d\d s/),
  })
})

test('reports a response that does not come from a Windlass server', async () => {
  const { url, ca } = await serve('localhost', 300, '<html>Welcome</html>')
  expect((await look({ url, caFile: ca })).get('server')).toMatchObject({
    status: 'fail',
    hint: expect.stringContaining('ingress'),
  })
})

test('gives hints for an unresolvable name and an invalid proxy', async () => {
  expect((await look({ url: 'https://no-such-host.invalid' })).get('DNS')).toMatchObject({
    status: 'fail',
    hint: expect.stringContaining('resolv.conf'),
  })
  const broken = await look({ url: 'https://example.invalid', environment: { HTTPS_PROXY: 'socks4://name:hidden@proxy:1080' } })
  expect(broken.get('proxy')).toMatchObject({ status: 'fail', hint: expect.stringContaining('http://host:port') })
  expect(JSON.stringify([...broken.values()])).not.toContain('hidden')
})
