/** The contract of log objects, on a folder and on S3, and what S3 adds: lost calls, slow stores, checks at the start. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@windlass/kit'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openFakeCloud } from '../../../../../e2e/support/fake-cloud.ts'
import { startMoto, type Moto } from '../../../../../e2e/support/moto.ts'
import { diskObjects, type Objects } from '../../../src/logs/objects/objects.ts'
import { requireUsableS3 } from '../../../src/logs/s3/check.ts'
import { parseS3Url } from '../../../src/logs/s3/address.ts'
import { openS3, type S3, type S3Limits } from '../../../src/logs/s3/client.ts'
import { s3Objects } from '../../../src/logs/s3/objects.ts'
import { openLogStorage, s3Storage } from '../../../src/logs/objects/storage.ts'
import { openFlakyStore, type FlakyStore } from '../../support/fakes/flaky-store.ts'
import { createBucket, KEYS, logsIn } from '../../../../../e2e/support/log-bucket.ts'

const MIB = 1_048_576
const HOUR = '2026-11-22/15'

let moto: Moto
beforeAll(async () => {
  moto = await startMoto()
})
afterAll(() => moto?.[Symbol.asyncDispose]())

function client(url: string, limits: Partial<S3Limits> = {}): S3 {
  const [accessKeyId, secretAccessKey] = [KEYS.AWS_ACCESS_KEY_ID, KEYS.AWS_SECRET_ACCESS_KEY]
  const credentials = async (): Promise<{ accessKeyId: string; secretAccessKey: string }> => ({ accessKeyId, secretAccessKey })
  return openS3({ address: parseS3Url(url, {}), clock: systemClock, credentials, limits })
}

async function openDisk(): Promise<Objects> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-objects-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return diskObjects(folder)
}

async function openBucket(prefix: string): Promise<Objects> {
  return s3Objects(client(`s3://${await createBucket(moto.url)}${prefix}?endpoint=${moto.url}`))
}

const KINDS = [
  { name: 'a folder', open: openDisk },
  { name: 'a bucket', open: () => openBucket('') },
  { name: 'a prefix of a bucket', open: () => openBucket('/of/ci') },
]

const keyOf = (n: number, hour = HOUR): string => `${hour}/${n.toString(16).padStart(24, '0')}`

async function* inPieces(...pieces: readonly Buffer[]): AsyncGenerator<readonly Uint8Array[]> {
  for (const piece of pieces) yield [piece]
}

async function keysIn(objects: Objects, folder: string): Promise<string[]> {
  const found = await Array.fromAsync(objects.list(folder))
  return found.map(({ key }) => key).toSorted()
}

describe.each(KINDS)('objects in $name', ({ open }) => {
  test('returns ranges of what was written, and nothing for a missing object', async () => {
    const objects = await open()
    await objects.put(keyOf(1), [Buffer.from('one\n'), Buffer.from('two\n')])
    const text = async (start: number, bytes: number): Promise<string | undefined> =>
      (await objects.get(keyOf(1), { start, bytes }))?.toString()
    expect(await text(0, 8)).toBe('one\ntwo\n')
    expect(await text(4, 3)).toBe('two')
    expect(await text(4, 100)).toBe('two\n')
    expect(await text(8, 10)).toBe('')
    expect(await text(100, 10)).toBe('')
    expect(await text(3, 0)).toBe('')
    expect(await objects.head(keyOf(1))).toEqual({ bytes: 8 })
    expect(await objects.get(keyOf(2), { start: 0, bytes: 1 })).toBeUndefined()
    expect(await objects.head(keyOf(2))).toBeUndefined()
  })

  test('deletes an object, also twice', async () => {
    const objects = await open()
    await objects.put(keyOf(1), [Buffer.from('one')])
    await objects.delete(keyOf(1))
    await objects.delete(keyOf(1))
    expect(await objects.head(keyOf(1))).toBeUndefined()
    expect(await keysIn(objects, '')).toEqual([])
  })

  test('keeps the content when a put is repeated', async () => {
    const objects = await open()
    for (let n = 0; n < 3; n += 1) await objects.put(keyOf(1), [Buffer.from('the same')])
    expect((await objects.get(keyOf(1), { start: 0, bytes: 100 }))?.toString()).toBe('the same')
    expect(await keysIn(objects, HOUR)).toEqual([keyOf(1)])
  })

  test('stores large objects piece by piece and reads large ranges of them', async () => {
    const objects = await open()
    const bytes = randomBytes(21 * MIB + 7)
    const pieces = Array.from({ length: 22 }, (_, n) => bytes.subarray(n * MIB, (n + 1) * MIB))
    await objects.put(keyOf(1), inPieces(...pieces))
    expect(await objects.head(keyOf(1))).toEqual({ bytes: bytes.length })
    const hash = (data: Uint8Array | undefined): string =>
      createHash('sha256')
        .update(data ?? '')
        .digest('hex')
    const range = { start: 5 * MIB + 1, bytes: 12 * MIB }
    expect(hash(await objects.get(keyOf(1), range))).toBe(hash(bytes.subarray(range.start, range.start + range.bytes)))
    expect(hash(await objects.get(keyOf(1), { start: 0, bytes: bytes.length }))).toBe(hash(bytes))
    await objects.put(keyOf(2), inPieces(bytes.subarray(0, 9 * MIB)))
    expect(await objects.head(keyOf(2))).toEqual({ bytes: 9 * MIB })
  })

  test.each([1, 12])('shows nothing of an object whose source fails after %i MiB', async (mib) => {
    const objects = await open()
    async function* broken(): AsyncGenerator<readonly Uint8Array[]> {
      for (let n = 0; n < mib; n += 1) yield [Buffer.alloc(MIB)]
      throw new Error('the source is broken')
    }
    await expect(objects.put(keyOf(1), broken())).rejects.toThrow('the source is broken')
    expect(await objects.head(keyOf(1))).toBeUndefined()
    expect(await keysIn(objects, '')).toEqual([])
  })

  test('stores many objects at once and lists them by folder', async () => {
    const objects = await open()
    const keys = Array.from({ length: 60 }, (_, n) => keyOf(n, n % 2 === 0 ? HOUR : '2026-11-22/1'))
    await Promise.all(keys.map((key, n) => objects.put(key, [Buffer.alloc(n + 1, n)])))
    expect(await keysIn(objects, '')).toEqual(keys.toSorted())
    expect(await keysIn(objects, HOUR)).toEqual(keys.filter((_, n) => n % 2 === 0).toSorted())
    // A folder is not a prefix: 1 does not contain 15.
    expect(await keysIn(objects, '2026-11-22/1')).toEqual(keys.filter((_, n) => n % 2 === 1).toSorted())
    expect(await keysIn(objects, '2026-11-23')).toEqual([])
    for await (const { key, bytes, modifiedAt } of objects.list('')) {
      expect(bytes).toBe(keys.indexOf(key) + 1)
      expect(Math.abs(modifiedAt - Date.now())).toBeLessThan(60_000)
    }
    const read = await Promise.all(keys.map((key) => objects.get(key, { start: 0, bytes: 100 })))
    expect(read).toEqual(keys.map((_, n) => Buffer.alloc(n + 1, n)))
  })

  test.each([
    '',
    '../windlass.db',
    '/etc/passwd',
    'a//b',
    'a/../b',
    './a',
    'a/',
    'A',
    'ü',
    'a\n',
    'a\0',
    'a?b=1',
    'a%2e',
    '.log-folder',
  ])('rejects the key %j', async (key) => {
    const objects = await open()
    const calls = [
      objects.put(key, [Buffer.from('x')]),
      objects.get(key, { start: 0, bytes: 1 }),
      objects.head(key),
      objects.delete(key),
    ]
    const results = await Promise.allSettled(calls)
    expect(results.map(({ status }) => status)).toEqual(calls.map(() => 'rejected'))
  })
})

test('lists more objects than fit on a page', async () => {
  const pages = [['a', 'b'], ['c'], []].map((keys, n) => {
    const entries = keys.map((key) => `<Contents><Key>p/${HOUR}/${key}</Key><Size>3</Size></Contents>`)
    const more = n < 2 ? `<IsTruncated>true</IsTruncated><NextContinuationToken>t&amp;${n}</NextContinuationToken>` : ''
    return `<ListBucketResult>${entries.join('')}${more}</ListBucketResult>`
  })
  await using cloud = await openFakeCloud(() => ({ body: pages.shift() }))
  const objects = s3Objects(client(`s3://bucket/p?endpoint=${cloud.url}`))
  expect(await keysIn(objects, HOUR)).toEqual([`${HOUR}/a`, `${HOUR}/b`, `${HOUR}/c`])
  const queries = cloud.asked.map(({ path }) => new URL(path, 'http://x').searchParams)
  expect(queries.map((query) => query.get('continuation-token'))).toEqual([null, 't&0', 't&1'])
  expect(queries.map((query) => query.get('prefix'))).toEqual(Array.from({ length: 3 }, () => `p/${HOUR}/`))
})

describe('a store that loses calls', () => {
  let flaky: FlakyStore
  let objects: Objects
  beforeAll(async () => {
    flaky = await openFlakyStore(moto.url)
    objects = s3Objects(client(`s3://${await createBucket(moto.url)}?endpoint=${flaky.url}`))
  })
  afterAll(() => flaky?.[Symbol.asyncDispose]())

  const SLOW_DOWN = { status: 503, body: '<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>' }
  const INTERNAL = { status: 500, body: '<Error><Code>InternalError</Code><Message>Try again.</Message></Error>' }
  const FATES = ['lose', 'cut', 'halve', SLOW_DOWN, INTERNAL, { status: 502, body: '<html>bad gateway</html>' }] as const

  test.each(FATES)('writes, reads, lists and deletes when a call fails once: %j', async (fate) => {
    const bytes = randomBytes(3 * MIB)
    flaky.once(/^PUT/, fate)
    await objects.put(keyOf(1), [bytes])
    flaky.once(/^GET/, fate)
    expect((await objects.get(keyOf(1), { start: 0, bytes: bytes.length }))?.equals(bytes)).toBe(true)
    flaky.once(/^GET/, fate)
    expect(await keysIn(objects, HOUR)).toEqual([keyOf(1)])
    flaky.once(/^DELETE/, fate)
    await objects.delete(keyOf(1))
    expect(await objects.head(keyOf(1))).toBeUndefined()
  })

  test.each([
    ['POST .*uploads', 'lose'],
    ['POST .*uploads', 'cut'],
    ['PUT .*partNumber=1', 'cut'],
    ['PUT .*partNumber=2', SLOW_DOWN],
    ['POST .*uploadId', 'lose'],
    ['POST .*uploadId', 'cut'],
    ['POST .*uploadId', 'halve'],
    ['POST .*uploadId', { ...INTERNAL, status: 200 }],
  ] as const)('writes an object of several parts when %s fails once: %j', async (call, fate) => {
    const bytes = randomBytes(10 * MIB)
    flaky.once(new RegExp(call), fate)
    await objects.put(keyOf(2), inPieces(bytes.subarray(0, 9 * MIB), bytes.subarray(9 * MIB)))
    expect((await objects.get(keyOf(2), { start: 0, bytes: bytes.length }))?.equals(bytes)).toBe(true)
    await objects.delete(keyOf(2))
  })

  test.each([
    ['loses every call', 'lose'],
    ['does not answer', 'hang'],
    ['is overloaded', SLOW_DOWN],
    ['denies access', { status: 403, body: '<Error><Code>AccessDenied</Code><Message>no</Message></Error>' }],
    ['has lost the bucket', { status: 404, body: '<Error><Code>NoSuchBucket</Code><Message>gone</Message></Error>' }],
  ] as const)('reports a store that %s as unavailable, in limited time', async (_what, fate) => {
    const impatient = s3Objects(client(`s3://bucket?endpoint=${flaky.url}`, { tryMs: 200, callMs: 1_500 }))
    flaky.decide = () => fate
    const calls = [
      impatient.put(keyOf(3), [Buffer.from('x')]),
      impatient.get(keyOf(3), { start: 0, bytes: 1 }),
      impatient.delete(keyOf(3)),
      keysIn(impatient, HOUR),
    ]
    for (const result of await Promise.allSettled(calls))
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { code: 'unavailable', retryable: true, message: 'The log storage does not respond.' },
      })
    flaky.decide = () => 'pass'
  })

  test('discards the parts of an object that cannot be completed', async () => {
    flaky.decide = ({ method, path }) => (method === 'PUT' && path.includes('partNumber=2') ? SLOW_DOWN : 'pass')
    await expect(objects.put(keyOf(4), inPieces(Buffer.alloc(9 * MIB), Buffer.alloc(MIB)))).rejects.toMatchObject({
      code: 'unavailable',
    })
    flaky.decide = () => 'pass'
    expect(flaky.calls.at(-1)).toMatchObject({ method: 'DELETE', path: expect.stringContaining('uploadId') })
    expect(await objects.head(keyOf(4))).toBeUndefined()
  })
})

test('signs calls, requests encryption and names the hash of the content', async () => {
  await using cloud = await openFakeCloud(() => ({ headers: { etag: '"e"' }, body: '' }))
  const objects = s3Objects(client(`s3://bucket/p?endpoint=${cloud.url}&region=eu-central-1&sse=aws:kms&kmsKeyId=k1`))
  await objects.put(keyOf(1), [Buffer.from('x')])
  expect(cloud.asked[0]).toMatchObject({
    method: 'PUT',
    path: `/bucket/p/${keyOf(1)}`,
    headers: {
      authorization: expect.stringMatching(
        /^AWS4-HMAC-SHA256 Credential=AKIATEST\/\d{8}\/eu-central-1\/s3\/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-server-side-encryption;/,
      ),
      'x-amz-content-sha256': createHash('sha256').update('x').digest('hex'),
      'x-amz-server-side-encryption': 'aws:kms',
      'x-amz-server-side-encryption-aws-kms-key-id': 'k1',
    },
  })
})

test('writes the mark of a database only once', async () => {
  const storage = s3Storage(client(`s3://${await createBucket(moto.url)}/p?endpoint=${moto.url}`))
  expect(await storage.readMark()).toBeUndefined()
  await Promise.all(['one', 'two', 'three'].map((mark) => storage.writeMark(mark)))
  const mark = await storage.readMark()
  expect(['one', 'two', 'three']).toContain(mark)
  await storage.writeMark('four')
  expect(await storage.readMark()).toBe(mark)
})

test('accepts a usable bucket at the start and leaves nothing in it', async () => {
  const bucket = await createBucket(moto.url)
  const storage = await openLogStorage({ dataDir: '/nowhere', ...logsIn(bucket, moto.url), clock: systemClock })
  expect(storage.name).toBe(`bucket s3://${bucket}/windlass/logs`)
  expect(storage.folder).toBeUndefined()
  expect(await keysIn(storage.objects, '')).toEqual([])
})

test('rejects a bucket that does not exist at the start', async () => {
  const start = openLogStorage({ dataDir: '/nowhere', ...logsIn('no-such-bucket', moto.url), clock: systemClock })
  await expect(start).rejects.toMatchObject({
    code: 'config-invalid',
    message: 'The log storage s3://no-such-bucket/windlass/logs does not exist.',
    hint: 'Create the bucket "no-such-bucket" or correct its name and endpoint.',
  })
})

const errorBody = (code: string, more = ''): string => `<Error><Code>${code}</Code><Message>told</Message>${more}</Error>`

test.each([
  [403, errorBody('AccessDenied'), /denies access: S3 ListObjectsV2: AccessDenied: told/, /Grant s3:ListBucket/],
  [403, errorBody('InvalidAccessKeyId'), /does not accept the credentials/, /AWS_ACCESS_KEY_ID/],
  [403, errorBody('SignatureDoesNotMatch'), /does not accept the credentials/, /AWS_SECRET_ACCESS_KEY/],
  [403, errorBody('RequestTimeTooSkewed'), /clocks differ: here it is 2.*Z, there 2.*Z/, /clock/],
  [
    400,
    errorBody('AuthorizationHeaderMalformed', '<Region>eu-west-1</Region>'),
    /is in the region eu-west-1/,
    /region=eu-west-1/,
  ],
  [301, errorBody('PermanentRedirect'), /is in another region/, /region=REGION/],
  [405, errorBody('MethodNotAllowed'), /refuses a request/, /message of the store/],
])('explains the answer %i %s at the start', async (status, body, message, hint) => {
  await using cloud = await openFakeCloud(() => ({ status, body }))
  await expect(requireUsableS3(client(`s3://bucket?endpoint=${cloud.url}`), systemClock)).rejects.toMatchObject({
    code: 'config-invalid',
    message: expect.stringMatching(message),
    hint: expect.stringMatching(hint),
  })
})

test('explains at the start that a store does not answer, or ignores ranges', async () => {
  const away = client('s3://bucket?endpoint=http://127.0.0.1:1', { tries: 1 })
  await expect(requireUsableS3(away, systemClock)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/s3:\/\/bucket does not answer: S3 ListObjectsV2: no answer: connect ECONNREFUSED/),
  })
  await using cloud = await openFakeCloud(() => ({ headers: { etag: '"e"' }, body: '<ListBucketResult/> the whole object' }))
  await expect(requireUsableS3(client(`s3://bucket?endpoint=${cloud.url}`), systemClock)).rejects.toMatchObject({
    code: 'config-invalid',
    hint: 'Use a store that supports the Range header.',
  })
})
