/** A server on SQLite whose machine loses its power: what the server has acknowledged is still there afterwards. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openClient } from '@windlass/client'
import { isFault, nodeTransport } from '@windlass/kit'
import { startServer } from '@windlass/server'
import { expect, test } from 'vitest'
import { openHttpScene } from '../../packages/server/test/support/http-scene.ts'
import { openPowerDisk } from '../support/power-disk.ts'
import { chaosConfig } from './config.ts'
import { seededRandom } from './faults/random.ts'

const CUTS = 6

/** What a client knows to be stored. */
interface Acknowledged {
  readonly builds: readonly string[]
  readonly log: string
  readonly notices: number
}

test('the disk of this test loses what was not synced', async () => {
  await using disk = await openPowerDisk()
  await writeFile(join(disk.folder, 'synced'), 'kept', { flush: true })
  await writeFile(join(disk.folder, 'unsynced'), 'lost')
  const left = await disk.failPower()
  expect(await readFile(join(left, 'synced'), 'utf8')).toBe('kept')
  expect(await readFile(join(left, 'unsynced'), 'utf8').catch(() => '')).toBe('')
})

test('builds, events and log bytes that were acknowledged survive power failures', async () => {
  const random = seededRandom(chaosConfig.seed)
  await using disk = await openPowerDisk()
  const dataDir = join(disk.folder, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  await using scene = await openHttpScene({ dataDir })
  const { build, engine } = await scene.start()
  const builds: string[] = [build.id]
  let log = ''
  let notices = 0
  for (let n = 0; n < CUTS; n += 1) {
    let isOver = false
    const untilOver = async (work: () => Promise<void>): Promise<void> => {
      while (!isOver) await work()
    }
    const writers = [
      untilOver(async () => void builds.push((await scene.submit()).id)),
      untilOver(async () => {
        const text = `at ${log.length} ${'x'.repeat(random.between(0, 5_000))}\n`
        await engine.log('step/hello', text)
        log += text
      }),
      untilOver(async () => {
        await engine.event({ type: 'notice', level: 'info', message: `notice ${notices}` })
        notices += 1
      }),
    ]
    await sleep(random.between(50, 250))
    const known: Acknowledged = { builds: [...builds], log, notices }
    const left = await disk.failPower()
    isOver = true
    await Promise.all(writers)
    await checkSurvivor(join(left, 'data'), scene.adminToken, known)
  }
  expect(builds.length).toBeGreaterThan(CUTS)
  console.log(
    `power failures: seed ${chaosConfig.seed}, ${CUTS} cuts, ${builds.length} builds, ${log.length} log bytes, ${notices} events`,
  )
})

/** Starts a server on what is left, and compares. It may have more than what was acknowledged. */
async function checkSurvivor(dataDir: string, token: string, { builds, log, notices }: Acknowledged): Promise<void> {
  const server = await startServer({ dataDir, minFreeShare: 0 })
  try {
    const client = openClient({ url: server.url, transport: nodeTransport() }).withToken(token)
    const missing: string[] = []
    for (const id of builds) {
      const found = await client.builds.get(id).catch((error: unknown) => {
        if (isFault(error, 'not-found')) return undefined
        throw error
      })
      if (found === undefined) missing.push(id)
    }
    expect(missing).toEqual([])
    const [first = ''] = builds
    const text = log === '' ? '' : await client.builds.log(first, { query: { stream: 'step/hello' } })
    expect(text.slice(0, log.length) === log, `${text.length} of ${log.length} bytes`).toBe(true)
    expect(await countNotices(client, first)).toBeGreaterThanOrEqual(notices)
  } finally {
    await server.close()
  }
}

async function countNotices(client: ReturnType<typeof openClient>, id: string): Promise<number> {
  let count = 0
  for (let after = 0; ;) {
    const { items, next } = await client.builds.feed(id, { query: { after, limit: 1_000 } })
    count += items.filter((item) => item.kind === 'event' && item.type === 'notice').length
    if (items.length === 0 || next === after) return count
    after = next
  }
}
