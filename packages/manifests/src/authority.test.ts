import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { issueClient, newAuthority, selfSignedServer, signServer } from './authority.ts'
import { readAlternativeNames, readSignRequest, type SignRequest } from './sign-request.ts'

const now = Date.now()
const term = { now, validMs: 86_400_000 }

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'authority-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  return dir
}

function openssl(...args: string[]): string {
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Returns a request as the certificate job of the Codefresh chart creates it, with a smaller key. */
function request(dir: string, ...key: string[]): string {
  openssl(
    'req',
    '-new',
    '-newkey',
    ...key,
    '-nodes',
    '-subj',
    '/CN=docker.codefresh.io',
    '-keyout',
    join(dir, 'key'),
    '-out',
    join(dir, 'csr'),
  )
  return readFileSync(join(dir, 'csr'), 'utf8')
}

function mustRead(text: string): SignRequest {
  const read = readSignRequest(text)
  if ('problem' in read) throw new Error(read.problem)
  return read
}

test('issues certificates that openssl accepts, each for its own purpose only', () => {
  const dir = folder()
  const authority = newAuthority(term)
  const names = readAlternativeNames(['IP:127.0.0.1', 'IP:fd00::12:3', 'DNS:dind', 'DNS:*.dind.ns', 'DNS:*.dind.ns.svc'])
  if ('problem' in names) throw new Error(names.problem)
  const server = signServer(authority, { ...mustRead(request(dir, 'rsa:2048')), names, ...term })
  const client = issueClient(authority, term)
  for (const [name, pem] of Object.entries({ ca: authority.certificate, server, client: client.cert }))
    writeFileSync(join(dir, name), pem)
  const verify = (purpose: string, name: string): string => {
    try {
      return openssl('verify', '-x509_strict', '-purpose', purpose, '-CAfile', join(dir, 'ca'), join(dir, name))
    } catch (error) {
      return String(error)
    }
  }
  expect(verify('sslserver', 'server')).toContain(': OK')
  expect(verify('sslclient', 'client')).toContain(': OK')
  expect(verify('sslclient', 'server')).toContain('purpose')
  expect(verify('sslserver', 'client')).toContain('purpose')
  const certificate = new X509Certificate(server)
  expect(certificate.checkHost('dind-0123.dind.ns.svc')).toBe('*.dind.ns.svc')
  expect(certificate.checkIP('fd00::12:3')).toBe('fd00::12:3')
  expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1')
  expect(certificate.checkHost('elsewhere')).toBeUndefined()
})

test('a server can vouch for itself: openssl accepts its certificate as its own authority, for its names only', () => {
  const dir = folder()
  const { cert } = selfSignedServer({ subject: 'terminals', names: ['runner.example.com', 'fd00::7'], ...term })
  writeFileSync(join(dir, 'cert'), cert)
  const verify = (...name: string[]): string => {
    const file = join(dir, 'cert')
    return openssl('verify', '-x509_strict', '-purpose', 'sslserver', ...name, '-CAfile', file, file)
  }
  expect(verify('-verify_hostname', 'runner.example.com')).toContain(': OK')
  expect(verify('-verify_ip', 'fd00::7')).toContain(': OK')
  expect(() => verify('-verify_hostname', 'other.example.com')).toThrow()
})

test('accepts a request that is signed with SHA-1, as the public command line sends it, and signs with SHA-256', () => {
  const dir = folder()
  const names = readAlternativeNames(['DNS:dind'])
  if ('problem' in names) throw new Error(names.problem)
  const server = signServer(newAuthority(term), { ...mustRead(request(dir, 'rsa:2048', '-sha1')), names, ...term })
  writeFileSync(join(dir, 'server'), server)
  expect(openssl('x509', '-in', join(dir, 'server'), '-noout', '-text')).toContain('SHA256')
})

test('accepts a request with an elliptic curve and refuses weak keys, wrong signatures and other texts with a message', () => {
  const dir = folder()
  const fine = request(dir, 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256')
  expect(readSignRequest(fine)).toHaveProperty('publicKey')
  expect(readSignRequest(request(dir, 'rsa:1024'))).toEqual({
    problem: 'Its key must be RSA of 2048 to 8192 bits, or of an elliptic curve.',
  })
  const der = Buffer.from(fine.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
  der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1)
  const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
  expect(readSignRequest(forged)).toHaveProperty('problem')
  expect(readSignRequest('no request')).toEqual({ problem: 'It is not a certificate request in PEM format.' })
  for (let cut = 0; cut < der.length; cut += 7) {
    const text = `-----BEGIN CERTIFICATE REQUEST-----\n${der.subarray(0, cut).toString('base64')}A\n-----END CERTIFICATE REQUEST-----\n`
    expect(readSignRequest(text)).toHaveProperty('problem')
  }
})

test('refuses invalid names, too many names and wildcards for more than one label', () => {
  expect(readAlternativeNames(['DNS:dind', 'DNS:dind', 'IP:10.0.0.1'])).toEqual(['dind', '10.0.0.1'])
  for (const wrong of ['dind', 'DNS:a b', 'DNS:*', 'DNS:a.*.b', 'IP:dind', 'DNS:10.0.0.1', 'email:a@b', `DNS:${'a'.repeat(64)}`])
    expect(readAlternativeNames([wrong])).toHaveProperty('problem')
  expect(readAlternativeNames([])).toHaveProperty('problem')
  expect(readAlternativeNames(Array.from({ length: 51 }, (_, n) => `DNS:a${n}`))).toHaveProperty('problem')
})
