import { generateKeyPairSync, createPublicKey, verify } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readSigningKey, writeChecksums } from './signature.ts'

const folder = mkdtempSync(join(tmpdir(), 'windlass-sums-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('lists the files in the order of their paths, and signs the list', async () => {
  const release = join(folder, 'release')
  mkdirSync(join(release, 'b'), { recursive: true })
  writeFileSync(join(release, 'b/x'), 'x')
  writeFileSync(join(release, 'a'), '')
  await writeChecksums(release, generateKeyPairSync('ed25519').privateKey)
  const sums = readFileSync(join(release, 'SHA256SUMS'))
  expect(sums.toString()).toBe(
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n' +
      '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  b/x\n',
  )
  const key = createPublicKey(readFileSync(join(release, 'release.pub')))
  expect(verify(null, sums, key, readFileSync(join(release, 'SHA256SUMS.sig')))).toBe(true)
})

test('refuses a key whose signatures differ each time', () => {
  const path = join(folder, 'ec.key')
  writeFileSync(path, generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }))
  expect(() => readSigningKey(path)).toThrow('a key of type ec')
})
