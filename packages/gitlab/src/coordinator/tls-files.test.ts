import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { issueCertificates } from '@windlass/manifests'
import { openPair } from '../../../../e2e/gitlab/support/coordinator-pair.ts'
import { openTlsSource } from './tls-files.ts'

const certificates = issueCertificates({ now: Date.now(), validMs: 3_600_000, names: ['localhost'] })
const tls = { cert: certificates.serverCert, key: certificates.serverKey }

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-certs-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

test('trusts the authority of `<host>.crt` as soon as the file is there', async () => {
  const certsFolder = newFolder()
  const source = openTlsSource({ url: 'https://localhost:8443/', certsFolder })
  const { client } = await openPair({ tls, host: 'localhost', client: { tls: source.options } })
  expect(await client.verify('s_1').catch((error: unknown) => String(error))).toContain('TLS:')
  expect(source.options()).toBe(source.options())
  writeFileSync(join(certsFolder, 'localhost.crt'), certificates.ca)
  expect(await client.verify('s_1')).toMatchObject({ type: 'valid' })
  expect(source.files()).toEqual({ ca: certificates.ca, cert: undefined, key: undefined })
})

test('reads the files that the configuration names, and says which one is missing', () => {
  const folder = newFolder()
  const caFile = join(folder, 'ca.pem')
  const source = openTlsSource({ url: 'https://localhost/', caFile, certsFolder: folder })
  expect(() => source.options()).toThrow(`The certificate file ${caFile} cannot be read.`)
  writeFileSync(caFile, certificates.ca)
  writeFileSync(join(folder, 'localhost.auth.crt'), certificates.clientCert)
  writeFileSync(join(folder, 'localhost.auth.key'), certificates.clientKey)
  expect(source.files()).toEqual({ ca: certificates.ca, cert: certificates.clientCert, key: certificates.clientKey })
  expect(source.options().context).toBeDefined()
  writeFileSync(join(folder, 'localhost.auth.key'), 'no key at all')
  expect(() => source.options()).toThrow('not valid PEM files')
})
