/** The archive of workflow logs at a store that answers badly. Good answers: `e2e/runner/gitops/workflows.test.ts`. */
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { proxyFrom, silentLog, systemClock } from '@windlass/kit'
import { openKube } from '@windlass/kube'
import { MAX_LOG_BYTES, MAX_LOG_LINE, type ContainerLog } from '@windlass/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { openLogArchive, type LogArchive } from './archive.ts'
import { readLogs, type LogReader, type LogSource } from './logs.ts'

interface Given {
  readonly status: number
  readonly headers?: http.OutgoingHttpHeaders
  readonly body?: string | Buffer
}

interface Store {
  readonly archive: LogArchive
  readonly calls: http.IncomingMessage[]
}

const errorOf = (code: string): string => `<Error><Code>${code}</Code><Message>of account 123456789012</Message></Error>`

/** Opens the archive at a store that gives an answer for each path. */
async function openStore(answer: (path: string) => Given | Promise<Given>): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-archive-'))
  const calls: http.IncomingMessage[] = []
  async function give(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    calls.push(request)
    const { status, headers = {}, body } = await answer(request.url ?? '')
    response.writeHead(status, headers)
    response.end(body)
  }
  const server = http.createServer((request, response) => void give(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.close()
    server.closeAllConnections()
    await rm(folder, { recursive: true, force: true })
  })
  const found = server.address()
  const port = typeof found === 'object' && found !== null ? found.port : 0
  const [accessKeyFile, secretKeyFile] = [join(folder, 'access'), join(folder, 'secret')]
  await writeFile(accessKeyFile, 'AKIATEST\n')
  await writeFile(secretKeyFile, 'secret\n')
  const place = { url: `http://127.0.0.1:${port}`, bucket: 'logs', region: 'eu-west-1', prefix: 'prod' }
  return { archive: openLogArchive({ ...place, accessKeyFile, secretKeyFile, proxy: proxyFrom({}) }), calls }
}

const read = (archive: LogArchive): Promise<ContainerLog | undefined> =>
  archive.read('prod/w/a+b %2e/main.log', { pod: 'w-1', tail: 3 })

test('the end of a log is asked for with a signature, and a line that begins before it is left out', async () => {
  const headers = { 'content-range': 'bytes 7-40/41' }
  const { archive, calls } = await openStore(() => ({ status: 206, headers, body: 'of a line\n\n2027-01-15T09:00:01Z b\nc' }))
  expect(await read(archive)).toEqual({
    items: ['', '2027-01-15T09:00:01Z b', 'c'].map((text) => ({ pod: 'w-1', text })),
    isCut: true,
  })
  expect(calls.map(({ method, url }) => [method, url])).toEqual([['GET', '/logs/prod/w/a%2Bb%20%252e/main.log']])
  expect(calls[0]?.headers).toMatchObject({
    range: `bytes=-${2 * MAX_LOG_BYTES}`,
    authorization: expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=AKIATEST\/\d{8}\/eu-west-1\/s3\/aws4_request, /),
  })
})

test('of a log of millions of lines only the last ones are looked at, and long lines are cut', async () => {
  const begin = Buffer.alloc(2 * MAX_LOG_BYTES - 2 * MAX_LOG_LINE - 10, '\n')
  const body = Buffer.concat([begin, Buffer.from(`\n${'ß'.repeat(MAX_LOG_LINE)}!\n\nend`)])
  const { archive } = await openStore(() => ({ status: 206, headers: { 'content-range': 'bytes 0-1/2' }, body }))
  expect(await read(archive)).toEqual({
    items: [
      { pod: 'w-1', text: 'ß'.repeat(MAX_LOG_LINE), isCut: true },
      { pod: 'w-1', text: '' },
      { pod: 'w-1', text: 'end' },
    ],
    isCut: true,
  })
})

test('a log that is not there is undefined, and an empty one is empty', async () => {
  expect(await read((await openStore(() => ({ status: 404, body: errorOf('NoSuchKey') }))).archive)).toBeUndefined()
  expect(await read((await openStore(() => ({ status: 416, body: errorOf('InvalidRange') }))).archive)).toEqual({ items: [] })
})

test.each([
  { why: 'an outage', answer: { status: 503, body: errorOf('SlowDown') }, code: 'archive-unreachable', says: 'status 503' },
  {
    why: 'the page of a proxy',
    answer: { status: 200, body: '<html>Sorry</html>' },
    code: 'archive-unreachable',
    says: 'status 200',
  },
  {
    why: 'the 404 of a proxy',
    answer: { status: 404, body: '<html>No</html>' },
    code: 'archive-unreachable',
    says: 'status 404',
  },
  { why: 'a large error', answer: { status: 400, body: 'x'.repeat(70_000) }, code: 'archive-unreachable', says: 'status 400' },
  {
    why: 'wrong keys',
    answer: { status: 403, body: errorOf('InvalidAccessKeyId') },
    code: 'archive-refused',
    says: 'InvalidAccessKeyId.',
  },
  { why: 'no right', answer: { status: 403, body: errorOf('AccessDenied') }, code: 'archive-refused', says: 'AccessDenied.' },
  { why: 'no bucket', answer: { status: 404, body: errorOf('NoSuchBucket') }, code: 'archive-refused', says: 'NoSuchBucket.' },
  {
    why: 'more than was asked for',
    answer: { status: 206, headers: { 'content-range': 'bytes 0-1/2' }, body: Buffer.alloc(2 * MAX_LOG_BYTES + 1, 'a\n') },
    code: 'archive-refused',
    says: 'more than',
  },
])('$why is $code, without what the store says of accounts', async ({ answer, code, says }) => {
  const { archive } = await openStore(() => answer)
  await expect(read(archive)).rejects.toMatchObject({ code, message: expect.stringContaining(says) })
  await expect(read(archive)).rejects.toMatchObject({ message: expect.not.stringContaining('123456789012') })
})

test('the archive follows the store to no other place', async () => {
  const { archive, calls } = await openStore(() => ({
    status: 307,
    headers: { location: '/elsewhere' },
    body: errorOf('TemporaryRedirect'),
  }))
  await expect(read(archive)).rejects.toMatchObject({ code: 'archive-refused' })
  expect(calls).toHaveLength(1)
})

test('three logs are read at once, also after some that failed, and twenty wait', async () => {
  const opened = Promise.withResolvers<void>()
  let inStore = 0
  let most = 0
  const { archive, calls } = await openStore(async () => {
    const isEarly = calls.length <= 3
    inStore += 1
    most = Math.max(most, inStore)
    await opened.promise
    inStore -= 1
    if (isEarly) return { status: 503, body: errorOf('SlowDown') }
    return { status: 206, headers: { 'content-range': 'bytes 0-1/2' }, body: 'a\n' }
  })
  const reads = Array.from({ length: 23 }, () => read(archive))
  const ends = Promise.allSettled(reads)
  await expect(read(archive)).rejects.toMatchObject({ code: 'rate-limited', message: '23 archived logs are in progress.' })
  await expect.poll(() => calls.length).toBe(3)
  opened.resolve()
  const found = await ends
  expect(found.filter(({ status }) => status === 'rejected')).toHaveLength(3)
  expect({ calls: calls.length, most }).toEqual({ calls: 23, most: 3 })
})

const source = (pod: string, second: number, key = `prod/w/${pod}/main.log`): LogSource => {
  const startedAt = Date.parse(`2025-01-15T09:00:0${second}Z`)
  return { pod, isLive: false, key, startedAt, finishedAt: startedAt + 500 }
}
const query = { container: 'main', tail: 100, live: false } as const
const readerOf = (archive: LogArchive, server: string): LogReader => {
  const access = { server, insecure: false, namespace: 'prod', token: () => '' }
  return { kube: openKube({ access, log: silentLog }), namespace: 'prod', clock: systemClock, archive }
}

test('archived logs are joined in the order of their nodes, and a log that cannot be read does not hide the others', async () => {
  const { archive } = await openStore((path) =>
    path.includes('gone')
      ? { status: 404, body: errorOf('NoSuchKey') }
      : { status: 206, headers: { 'content-range': 'bytes 0-9/10' }, body: `${path} 1\n${path} 2\n` },
  )
  // No pod exists, so the cluster is not asked.
  const reader = readerOf(archive, 'http://127.0.0.1:9')
  const all = [source('w-2', 2), source('w-gone', 3), source('w-1', 1), source('w-x', 4, 'staging/main.log')]
  const { items, archived, missing } = await readLogs(reader, all, query)
  expect(items.map(({ text }) => text)).toEqual(
    ['1', '2'].flatMap((n) => ['1', '2'].map((m) => `/logs/prod/w/w-${n}/main.log ${m}`)),
  )
  expect({ archived, missing }).toEqual({ archived: ['w-1', 'w-2'], missing: ['w-gone', 'w-x'] })
  await expect(readLogs(reader, [source('w-gone', 3)], query)).rejects.toMatchObject({
    code: 'not-found',
    message: expect.stringContaining('neither in the cluster nor in the archive'),
  })
  // The node has ended before.
  expect(await readLogs(reader, [source('w-1', 1)], { ...query, since: 1 })).toEqual({ items: [], archived: ['w-1'] })
})

test('an archive that is away hides no log of the cluster, and is not asked again', async () => {
  const { archive, calls } = await openStore(() => ({ status: 503, body: errorOf('SlowDown') }))
  // Its log is the same for all pods.
  const cluster = http.createServer((_, response) => void response.end('2025-01-15T09:00:09Z live\n'))
  await once(cluster.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    cluster.close()
    cluster.closeAllConnections()
  })
  const place = cluster.address()
  const reader = readerOf(archive, `http://127.0.0.1:${typeof place === 'object' && place !== null ? place.port : 0}`)
  const deleted = Array.from({ length: 9 }, (_, index) => source(`w-${index}`, index))
  const all = [...deleted, { ...source('w-live', 9), isLive: true }]
  expect(await readLogs(reader, all, query)).toEqual({
    items: [{ pod: 'w-live', at: '2025-01-15T09:00:09Z', text: 'live' }],
    missing: deleted.map(({ pod }) => pod),
  })
  // Those that were asked for at once.
  expect(calls).toHaveLength(4)
  await expect(readLogs(reader, [source('w-x', 4, 'staging/main.log'), source('w-1', 1)], query)).rejects.toMatchObject({
    code: 'archive-unreachable',
  })
})
