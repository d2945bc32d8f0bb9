/** Costs that must not grow with the product of two counts, or with the total of stored data. */
import { writeFileSync, mkdirSync, existsSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { StatementSync } from 'node:sqlite'
import { newId } from '@windlass/kit'
import { RuntimeInput } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { createAgent } from '../../../src/agents/agents.ts'
import { hourFolder } from '../../../src/logs/objects/object-keys.ts'
import { retain } from '../../../src/retention.ts'
import { putRuntime } from '../../../src/runtimes/runtimes.ts'
import { listShownRuntimes } from '../../../src/runtimes/show-runtimes.ts'
import { listUnreferencedObjects } from '../../../src/store/retention.ts'
import { openScene } from '../../support/scene.ts'
import { DATABASES, openTestApp } from '../../support/stores.ts'

const HOUR_MS = 3_600_000

/** Counts the statements that `work` runs. */
async function countStatements(work: () => Promise<unknown>): Promise<number> {
  let count = 0
  const names = ['all', 'iterate', 'run'] as const
  const originals = names.map((name) => StatementSync.prototype[name])
  for (const [index, name] of names.entries())
    Object.defineProperty(StatementSync.prototype, name, {
      configurable: true,
      writable: true,
      value(this: StatementSync, ...parameters: unknown[]): unknown {
        count += 1
        return Reflect.apply(originals[index] as (...all: unknown[]) => unknown, this, parameters)
      },
    })
  try {
    await work()
  } finally {
    for (const [index, name] of names.entries())
      Object.defineProperty(StatementSync.prototype, name, { configurable: true, writable: true, value: originals[index] })
  }
  return count
}

test('lists runtimes with a constant number of queries', async () => {
  await using database = await DATABASES[0].open()
  await using held = await openTestApp(database)
  const { app } = held
  await openScene(app)
  const few = await countStatements(() => listShownRuntimes(app))
  for (let n = 0; n < 12; n += 1) {
    await createAgent(app, { name: `agent-${n}`, runtimes: [] })
    const input = RuntimeInput.parse({ name: `runtime-${n}`, agent: `agent-${n}`, spec: {} })
    await putRuntime(app, { input, changedBy: 'test', ifNoneMatch: '*' })
  }
  expect(await listShownRuntimes(app)).toHaveLength(13)
  expect(await countStatements(() => listShownRuntimes(app))).toBe(few)
})

test('looks up the objects of any number of builds', async () => {
  await using database = await DATABASES[0].open()
  await using held = await openTestApp(database)
  const objects = Array.from({ length: 90_000 }, (_, n) => `2026-01-01/00/${n}`)
  expect(await listUnreferencedObjects(held.app.store.query, objects)).toHaveLength(objects.length)
})

test('scans the folder of each hour for orphans once', async () => {
  await using database = await DATABASES[0].open()
  await using held = await openTestApp(database)
  const { app, clock } = held
  const put = (time: number): string => {
    const folder = join(app.dataDir, 'logs', hourFolder(time))
    mkdirSync(folder, { recursive: true })
    const file = join(folder, newId(time))
    writeFileSync(file, 'x')
    utimesSync(file, time / 1000, time / 1000)
    return file
  }
  const listed: string[] = []
  const { list } = app.logs.objects
  app.logs.objects.list = (prefix) => {
    listed.push(prefix)
    return list(prefix)
  }
  const old = put(clock.now() - 100 * HOUR_MS)
  // Kept for a day, for older backups of the database.
  const young = put(clock.now() - 23 * HOUR_MS)
  await retain(app)
  expect([existsSync(old), existsSync(young)]).toEqual([false, true])
  expect(listed).toEqual([''])
  clock.advance(3 * HOUR_MS)
  await retain(app)
  await retain(app)
  expect(existsSync(young)).toBe(false)
  expect(listed.slice(1)).toEqual([2, 1, 0].map((hours) => hourFolder(clock.now() - (hours + 25) * HOUR_MS)).toSorted())
})
