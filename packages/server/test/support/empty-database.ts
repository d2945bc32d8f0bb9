/** A database with the tables of the server and without rows. Making one takes longer than most tests, so each process makes it once. */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { silentLog, systemClock } from '@windlass/kit'
import { memoryFolder } from '../../../../e2e/support/memory-folder.ts'
import { openMetrics } from '../../src/metrics.ts'
import { DATABASE_FILE } from '../../src/store/database/dialect.ts'
import { openStore } from '../../src/store/store.ts'

let made: Promise<Buffer> | undefined

/** Puts an SQLite database without rows into a data folder. */
export async function putEmptyDatabase(dataDir: string): Promise<void> {
  await writeFile(join(dataDir, DATABASE_FILE), await (made ??= make()))
}

async function make(): Promise<Buffer> {
  const dataDir = await memoryFolder('windlass-empty-')
  const store = await openStore({ dataDir, clock: systemClock, log: silentLog, metrics: openMetrics() })
  await store.close()
  const bytes = await readFile(join(dataDir, DATABASE_FILE))
  await rm(dataDir, { recursive: true, force: true })
  return bytes
}
