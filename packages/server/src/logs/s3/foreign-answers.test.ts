/** Answers that a load balancer or proxy gives instead of the store. */
import http from 'node:http'
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { systemClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { s3Storage, type LogStorage } from '../objects/storage.ts'
import { parseS3Url } from './address.ts'
import { openS3, type S3Limits } from './client.ts'

const KEY = '2026-11-23/04/0123456789abcdef01234567'
const PAGE = '<!DOCTYPE html><html><body>Sorry, we will be back soon.</body></html>'
const LARGE = 9_000_000

interface Given {
  readonly status: number
  readonly headers?: http.OutgoingHttpHeaders
  readonly body?: string | Buffer
}

/** Opens a storage whose calls `answer` answers. */
async function openStorage(answer: (method: string, path: string) => Given, limits: Partial<S3Limits> = {}): Promise<LogStorage> {
  const server = http.createServer((request, response) => {
    void buffer(request).then(() => {
      const { status, headers = {}, body } = answer(request.method ?? '', request.url ?? '')
      response.writeHead(status, headers)
      response.end(request.method === 'HEAD' ? '' : body)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const found = server.address()
  const port = typeof found === 'object' && found !== null ? found.port : 0
  const address = parseS3Url(`s3://logs/p?endpoint=http://127.0.0.1:${port}`, {})
  const credentials = async (): Promise<{ accessKeyId: string; secretAccessKey: string }> => ({
    accessKeyId: 'a',
    secretAccessKey: 'b',
  })
  return s3Storage(openS3({ address, clock: systemClock, credentials, limits: { tries: 2, ...limits } }))
}

async function* inPieces(): AsyncGenerator<readonly Uint8Array[]> {
  for (let n = 0; n < 2; n += 1) yield [Buffer.alloc(LARGE)]
}

const CALLS: readonly [string, (storage: LogStorage) => Promise<unknown>][] = [
  ['put', ({ objects }) => objects.put(KEY, [Buffer.from('the only copy\n')])],
  ['put in parts', ({ objects }) => objects.put(KEY, inPieces())],
  ['get', ({ objects }) => objects.get(KEY, { start: 0, bytes: 20 })],
  ['get in the middle', ({ objects }) => objects.get(KEY, { start: 10, bytes: 20 })],
  ['head', ({ objects }) => objects.head(KEY)],
  ['delete', ({ objects }) => objects.delete(KEY)],
  ['list', ({ objects }) => Array.fromAsync(objects.list('2026-11-23/04'))],
  ['readMark', (storage) => storage.readMark()],
  ['writeMark', (storage) => storage.writeMark('one')],
]

const cases = [200, 204, 404, 403, 302, 412, 416].flatMap((status) => CALLS.map(([name, call]) => ({ status, name, call })))

test.each(cases.filter(({ status, name }) => status !== 204 || name !== 'delete'))(
  'reports a $status page of a proxy as unavailable to $name',
  async ({ status, call }) => {
    let asked = 0
    const page = { status, headers: { 'content-type': 'text/html' }, body: PAGE }
    const storage = await openStorage(() => ((asked += 1), page))
    await expect(call(storage)).rejects.toMatchObject({ code: 'unavailable', retryable: true, cause: { status: 0 } })
    expect(asked).toBe(2)
  },
)

const UPLOAD = { status: 200, body: '<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>' }

test.each(['PUT', 'POST'])('does not complete an upload if a proxy answers a later %s with a page', async (method) => {
  const storage = await openStorage((asked, path) => {
    if (asked === 'DELETE') return { status: 204 }
    if (path.includes('uploads=')) return UPLOAD
    return asked === method ? { status: 200, body: PAGE } : { status: 200, headers: { etag: '"e"' } }
  })
  await expect(storage.objects.put(KEY, inPieces())).rejects.toMatchObject({ code: 'unavailable' })
})

test('stores an object that a proxy did not accept on the first try', async () => {
  let asked = 0
  const storage = await openStorage(() =>
    (asked += 1) === 1 ? { status: 200, body: PAGE } : { status: 200, headers: { etag: '"e"' } },
  )
  await storage.objects.put(KEY, [Buffer.from('x')])
  expect(asked).toBe(2)
})

test('accepts the answers of stores', async () => {
  const body = '<Error><Code>NoSuchKey</Code></Error>'
  const missing = await openStorage(() => ({ status: 404, body }))
  expect(await missing.objects.get(KEY, { start: 0, bytes: 1 })).toBeUndefined()
  expect(await missing.objects.head(KEY)).toBeUndefined()
  expect(await missing.readMark()).toBeUndefined()
  await missing.objects.delete(KEY)
  const deleting = await openStorage(() => ({ status: 200, headers: { 'x-amz-request-id': '1' } }))
  await deleting.objects.delete(KEY)
  const holding = await openStorage(() => ({ status: 206, headers: { 'content-range': 'bytes 0-0/42' }, body: 'x' }))
  expect(await holding.objects.head(KEY)).toEqual({ bytes: 42 })
  const empty = await openStorage(() => ({ status: 416, body: '<Error><Code>InvalidRange</Code></Error>' }))
  expect(await empty.objects.head(KEY)).toEqual({ bytes: 0 })
})
