import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, connect, type TLSSocket } from 'node:tls'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DOCKER_SERVER_NAME, issueCertificates } from './certificates.ts'

const now = Date.now()
const certificates = issueCertificates({ now, validMs: 3_600_000, names: ['dind-x.dind.ns.svc'] })

function openssl(...args: string[]): string {
  try {
    return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    return String(error)
  }
}

test('issues two certificates that openssl accepts, each for its own purpose only', () => {
  const dir = mkdtempSync(join(tmpdir(), 'certificates-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  for (const [name, pem] of Object.entries(certificates)) writeFileSync(join(dir, name), pem)
  const verify = (purpose: string, name: string): string =>
    openssl('verify', '-x509_strict', '-purpose', purpose, '-CAfile', join(dir, 'ca'), join(dir, name))
  expect(verify('sslserver', 'serverCert')).toContain(': OK')
  expect(verify('sslclient', 'clientCert')).toContain(': OK')
  expect(verify('sslclient', 'serverCert')).toContain('purpose')
  expect(verify('sslserver', 'clientCert')).toContain('purpose')
})

test('identifies the daemon by one fixed name, whatever its address', () => {
  const server = new X509Certificate(certificates.serverCert)
  expect(server.checkHost(DOCKER_SERVER_NAME)).toBe(DOCKER_SERVER_NAME)
  expect(server.checkHost('dind-x.dind.ns.svc')).toBe('dind-x.dind.ns.svc')
  expect(server.checkIP('127.0.0.1')).toBe('127.0.0.1')
  expect(server.checkHost('other')).toBeUndefined()
  expect(Date.parse(server.validTo)).toBeGreaterThan(now + 3_500_000)
  expect(Date.parse(server.validFrom)).toBeLessThan(now)
})

async function shake(client: { cert?: string; key?: string }): Promise<'accepted' | 'refused'> {
  const { ca, serverCert: cert, serverKey: key } = certificates
  const server = createServer({ ca, cert, key, requestCert: true, rejectUnauthorized: true }, (socket: TLSSocket) =>
    socket.end('hello'),
  )
  server.on('tlsClientError', () => undefined)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const socket = connect({ port, host: '127.0.0.1', ca, servername: DOCKER_SERVER_NAME, ...client })
  return new Promise((resolve) => {
    socket
      .once('data', () => resolve('accepted'))
      .once('error', () => resolve('refused'))
      .once('close', () => resolve('refused'))
  })
}

test('refuses a client of another attempt or without a certificate (R242)', async () => {
  const other = issueCertificates({ now, validMs: 60_000 })
  expect(await shake({ cert: certificates.clientCert, key: certificates.clientKey })).toBe('accepted')
  expect(await shake({ cert: other.clientCert, key: other.clientKey })).toBe('refused')
  expect(await shake({})).toBe('refused')
})
