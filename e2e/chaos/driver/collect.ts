/** What the server says when all is over: every build with its attempts, its feed as a follower gets it, and the bytes of its logs. */
import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { isFault } from '@windlass/kit'
import { Build, FeedItem, page, type Client } from '@windlass/protocol'
import type { BuildRecord } from '../history/history.ts'

const BuildPage = page(Build)

/** All builds of the list, newest first, following the cursors. */
export async function listBuilds(client: Client, timeoutMs = 5_000): Promise<Build[]> {
  const builds: Build[] = []
  let cursor: string | undefined
  do {
    const { items, next } = await client.call('GET', '/v1/builds', BuildPage, { query: { limit: 500, cursor }, timeoutMs })
    builds.push(...items)
    cursor = next
  } while (cursor !== undefined)
  return builds
}

/** Reads one build whole. */
export async function collectBuild(client: Client, id: string): Promise<BuildRecord> {
  const build = await client.call('GET', `/v1/builds/${id}`, Build)
  const feed = await collectFeed(client, id)
  const logs: Record<string, string> = {}
  const keys = new Set(feed.flatMap((item) => (item.kind === 'log' ? [`${item.attempt}/${item.stream}`] : [])))
  for (const step of build.steps ?? []) for (const { number } of build.attempts ?? []) keys.add(`${number}/step/${step.name}`)
  for (const key of keys) {
    const log = await collectLog(client, id, key)
    if (log !== undefined && log.length > 0) logs[key] = log.toString('base64')
  }
  return {
    id,
    branch: build.branch ?? '',
    pipeline: build.pipeline ?? '',
    runtime: build.runtime ?? '',
    status: build.status,
    ...(build.reason !== undefined && { reason: build.reason }),
    createdAt: build.createdAt,
    ...(build.finishedAt !== undefined && { finishedAt: build.finishedAt }),
    attempts: build.attempts ?? [],
    feed,
    logs,
  }
}

/** Follows from the start to the end that the server tells; a build that is not final is followed for two seconds. */
async function collectFeed(client: Client, id: string): Promise<FeedItem[]> {
  const feed: FeedItem[] = []
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), 2_000)
  try {
    for await (const { event, data } of client.events(`/v1/builds/${id}/follow`, { query: { after: 0 }, signal: stop.signal })) {
      timer.refresh()
      if (event === 'end') break
      const item = FeedItem.safeParse(JSON.parse(data))
      if (item.success) feed.push(item.data)
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error
  } finally {
    clearTimeout(timer)
    stop.abort()
  }
  return feed
}

async function collectLog(client: Client, id: string, key: string): Promise<Buffer | undefined> {
  const [attempt, ...stream] = key.split('/')
  try {
    const query = { attempt: Number(attempt), stream: stream.join('/') }
    return await buffer(Readable.from(await client.bytes(`/v1/builds/${id}/log`, { query, timeoutMs: 20_000 })))
  } catch (error) {
    if (isFault(error, 'not-found')) return undefined
    throw error
  }
}
