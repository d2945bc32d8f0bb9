/** Signatures of Google Cloud Storage, with the hashes of the conformance tests that Google publishes (googleapis/conformance-tests, v4_signatures.json). */
import { createVerify, generateKeyPairSync } from 'node:crypto'
import { keySigner, type GoogleSigner } from '@windlass/cloud'
import { expect, test } from 'vitest'
import { objectPath } from './cache-store.ts'
import { presignGoogle } from './google-signature.ts'

const EMAIL = 'test-iam-credentials@dummy-project-id.iam.gserviceaccount.com'
const { signal } = new AbortController()

test.each([
  {
    what: 'a simple object',
    day: '2019-02-01',
    seconds: 10,
    object: 'test-object',
    hash: '00e2fb794ea93d7adb703edaebdd509821fcc7d4f1a79ac5c8d2b394df109320',
  },
  {
    what: 'another time',
    day: '2019-03-01',
    seconds: 20,
    object: 'test-object',
    hash: '779f19fdb6fd381390e2d5af04947cf21750277ee3c20e0c97b7e46a1dff8907',
  },
  {
    what: 'a name that needs encoding',
    day: '2019-02-01',
    seconds: 10,
    object: '/path/with/slashes/under_score/amper&sand/file.ext',
    hash: '63c601ecd6ccfec84f1113fc906609cbdf7651395f4300cecd96ddd2c35164f8',
  },
])('the text that is signed for $what is that of the conformance tests (G044)', async ({ day, seconds, object, hash }) => {
  const signed: string[] = []
  const signer: GoogleSigner = {
    email: EMAIL,
    sign(text) {
      signed.push(text)
      return Promise.resolve(Buffer.from('0aff', 'hex'))
    },
  }
  const url = `https://storage.googleapis.com/test-bucket/${objectPath(object)}`
  const address = await presignGoogle({ method: 'GET', url, seconds, now: Date.parse(`${day}T09:00:00Z`), signer, signal })
  const time = day.replaceAll('-', '')
  expect(signed).toEqual([`GOOG4-RSA-SHA256\n${time}T090000Z\n${time}/auto/storage/goog4_request\n${hash}`])
  expect(address).toBe(
    `${url}?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=test-iam-credentials%40dummy-project-id.iam.gserviceaccount.com%2F${time}%2Fauto%2Fstorage%2Fgoog4_request` +
      `&X-Goog-Date=${time}T090000Z&X-Goog-Expires=${seconds}&X-Goog-SignedHeaders=host&X-Goog-Signature=0aff`,
  )
})

test('the key of an account signs, also if its line breaks are written as in JSON, and an address lives at most a week', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  for (const key of [pem, pem.replaceAll('\n', String.raw`\n`)]) {
    const signature = await keySigner(EMAIL, key).sign('text', signal)
    expect(createVerify('RSA-SHA256').update('text').verify(publicKey, signature)).toBe(true)
  }
  const signer = keySigner(EMAIL, pem)
  const url = 'https://storage.googleapis.com/b/o'
  const address = await presignGoogle({ method: 'PUT', url, seconds: 1e9, now: 0, signer, signal })
  expect(new URL(address).searchParams.get('X-Goog-Expires')).toBe('604800')
  const broken = keySigner(EMAIL, 's3cret').sign('text', signal)
  await expect(broken).rejects.toThrow(/^(?!.*s3cret)The private key of test-iam-.* is not an RSA key in PEM form/)
})
