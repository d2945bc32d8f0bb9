/**
 * Reads the final state: from the server every build with its attempts, its feed as a follower receives it, and the bytes of its logs. From the disk all
 * other output of a run: the database, the folders of the servers, the logs of the processes.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { defined, isFault } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import type { ApiClient } from '@windlass/client'
import { FeedItem, type Build } from '@windlass/protocol'
import type { BuildRecord, History } from '../history/history.ts'

/** Limit of a read that is not repeated. A server with many builds on a busy machine takes long for them. Milliseconds. */
export const ONCE_MS = 120_000

/** Returns all builds of the list, newest first, across all pages. `timeoutMs`: of one page. */
export async function listBuilds(client: ApiClient, timeoutMs = 5_000): Promise<Build[]> {
  const builds: Build[] = []
  let cursor: string | undefined
  do {
    const { items, next } = await client.builds.list({ query: { limit: 500, cursor }, timeoutMs })
    builds.push(...items)
    cursor = next
  } while (cursor !== undefined)
  return builds
}

/** Reads one build completely. */
export async function collectBuild(client: ApiClient, id: string): Promise<BuildRecord> {
  const build = await client.builds.get(id, { timeoutMs: ONCE_MS })
  const feed = await collectFeed(client, id, isFinalBuild(build.status) ? END_MS : QUIET_MS)
  const logs: Record<string, string> = {}
  const keys = new Set(feed.flatMap((item) => (item.kind === 'log' ? [`${item.attempt}/${item.stream}`] : [])))
  for (const step of build.steps ?? []) for (const { number } of build.attempts ?? []) keys.add(`${number}/step/${step.name}`)
  for (const key of keys) {
    const log = await collectLog(client, id, key)
    if (log !== undefined && log.length > 0) logs[key] = log.toString('base64')
  }
  return {
    id,
    key: build.revision ?? '',
    ...defined({ branch: build.branch, trigger: build.trigger.name }),
    pipeline: build.pipeline ?? '',
    runtime: build.runtime ?? '',
    status: build.status,
    ...defined({ reason: build.reason }),
    createdAt: build.createdAt,
    ...defined({ finishedAt: build.finishedAt }),
    attempts: build.attempts ?? [],
    feed,
    logs,
  }
}

/** How long a feed may be quiet: until its end if an end is expected, otherwise until it counts as complete. */
const END_MS = 120_000
const QUIET_MS = 2_000

/** Follows from the start until the end of the feed, or until no item arrives for this long. */
async function collectFeed(client: ApiClient, id: string, quietMs: number): Promise<FeedItem[]> {
  const feed: FeedItem[] = []
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), quietMs)
  try {
    for await (const { event, data } of client.builds.follow(id, { query: { after: 0 }, signal: stop.signal })) {
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

async function collectLog(client: ApiClient, id: string, key: string): Promise<Buffer | undefined> {
  const [attempt, ...stream] = key.split('/')
  try {
    const query = { attempt: Number(attempt), stream: stream.join('/') }
    return await buffer(Readable.from(await client.builds.logBytes(id, { query, timeoutMs: ONCE_MS })))
  } catch (error) {
    if (isFault(error, 'not-found')) return undefined
    throw error
  }
}

/** Reads all files of a run as bytes, and a dump of its database if it has one. */
export async function readTexts(folder: string, dump?: () => Promise<string>): Promise<History['texts']> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const texts = await Promise.all(
    paths.map(async (path) => ({ where: path.slice(folder.length + 1), text: await readFile(path, 'latin1').catch(() => '') })),
  )
  if (dump === undefined) return texts
  return [...texts, { where: 'a dump of the database', text: Buffer.from(await dump()).toString('latin1') }]
}
