/** A finished log of a million lines, read by a follower from a folder, from S3 on this machine, and from S3 with the delay of a network. */
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openClient, type ApiClient } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import { FeedItem } from '@windlass/protocol'
import { startMoto } from '../../../e2e/support/moto.ts'
import { startServer, type ServerOptions } from '../../../packages/server/src/index.ts'
import { openFlakyStore } from '../../../packages/server/test/support/fakes/flaky-store.ts'
import { openHttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { createBucket, logsIn } from '../../../e2e/support/log-bucket.ts'
import { sample, type Line, type Row, type Spread } from '../../row.ts'

const LINES = 1_000_000
const LINES_PER_FRAME = 10_000
/** Delay of each call to the store, in the third row. Milliseconds. */
const DELAY_MS = 30
const RUNS = 3
/** Maximum size of one read of a follower. */
const RANGE_BYTES = 786_432

export const logFollow: Line = { name: 'log-follow', measure }

async function measure(): Promise<Row[]> {
  await using moto = await startMoto()
  await using far = await openFlakyStore(moto.url, DELAY_MS)
  const kinds = [
    { name: 'log-follow-s3', what: 'S3 (moto on this machine)', url: moto.url },
    { name: 'log-follow-s3-far', what: `S3 (moto with ${DELAY_MS} ms per call)`, url: far.url },
  ]
  const figure = `a follower gets a finished log of ${LINES} lines of 81 bytes`
  const folder: Row = {
    name: 'log-follow',
    figure: `${figure} from a folder`,
    unit: 's',
    value: await measureFrom({}),
    warmUp: 1,
  }
  const rows = [folder]
  for (const { name, what, url } of kinds) {
    const bucket = await createBucket(moto.url)
    const value = await measureFrom(logsIn(bucket, url))
    const floor = await sample(RUNS, 1, () => readObjects(`${url}/${bucket}`))
    rows.push({
      name,
      figure: `${figure} from ${what}`,
      unit: 's',
      value,
      warmUp: 1,
      floor: { what: 'the same ranges of the objects by plain calls, one after the other', value: floor },
    })
  }
  return rows
}

/** Reads all objects of a bucket in ranges, as a follower does. Returns the seconds that it took. */
async function readObjects(bucket: string): Promise<number> {
  const xml = await (await fetch(`${bucket}?list-type=2`)).text()
  const objects = [...xml.matchAll(/<Key>([^<]*)<\/Key>.*?<Size>(\d+)<\/Size>/gs)]
  const startedAt = performance.now()
  for (const [, key = '', size = ''] of objects)
    for (let at = 0; at < Number(size); at += RANGE_BYTES) {
      const headers = { range: `bytes=${at}-${Math.min(Number(size), at + RANGE_BYTES) - 1}` }
      await (await fetch(`${bucket}/${key}`, { headers })).bytes()
    }
  return (performance.now() - startedAt) / 1_000
}

/** Writes the log and follows it on a server that was started again and has nothing of it in memory. */
async function measureFrom(options: Partial<ServerOptions>): Promise<Spread> {
  const dataDir = await mkdtemp(join(tmpdir(), 'windlass-bench-'))
  try {
    const written = await writeLog({ ...options, dataDir })
    const server = await startServer({ ...options, dataDir, minFreeShare: 0 })
    try {
      const client = openClient({ url: server.url, token: written.token, transport: nodeTransport() })
      return await sample(RUNS, 1, async () => {
        const startedAt = performance.now()
        if ((await followLog(client, written.id)) !== written.hash) throw new Error('the follower got another log')
        return (performance.now() - startedAt) / 1_000
      })
    } finally {
      await server.close()
    }
  } finally {
    await rm(dataDir, { recursive: true })
  }
}

async function writeLog(options: Partial<ServerOptions>): Promise<{ id: string; token: string; hash: string }> {
  await using scene = await openHttpScene(options)
  const { build, engine } = await scene.start()
  const hash = createHash('sha256')
  for (let from = 0; from < LINES; from += LINES_PER_FRAME) {
    const lines = Array.from({ length: LINES_PER_FRAME }, (_, n) => `${String(from + n).padStart(80, '0')}\n`)
    const text = lines.join('')
    hash.update(text)
    await engine.log('step/hello', text)
  }
  await engine.finish({ status: 'success' })
  return { id: build.id, token: scene.adminToken, hash: hash.digest('hex') }
}

/** Returns the hash of the log. */
async function followLog(client: ApiClient, id: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const { event, data } of client.builds.follow(id, { query: { after: 0 } })) {
    if (event === 'end') break
    const item = FeedItem.parse(JSON.parse(data))
    if (item.kind === 'log') hash.update(Buffer.from(item.bytes, 'base64'))
  }
  return hash.digest('hex')
}
