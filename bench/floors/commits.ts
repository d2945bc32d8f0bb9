/** The floor of a durable write: commits per second of node:sqlite, configured like the store, in the same kind of folder. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Returns durable single-row commits per second over about `ms`. */
export async function durableCommitsPerSecond(ms: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-bench-'))
  const database = new DatabaseSync(join(folder, 'floor.db'))
  try {
    database.exec('pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = full')
    database.exec('create table fact (id integer primary key, body text not null)')
    const insert = database.prepare('insert into fact (body) values (?)')
    const startedAt = performance.now()
    let n = 0
    while (performance.now() - startedAt < ms) {
      insert.run('x'.repeat(400))
      n += 1
    }
    return (n * 1000) / (performance.now() - startedAt)
  } finally {
    database.close()
    await rm(folder, { recursive: true })
  }
}
