import { mkdtempSync, rmSync, statfsSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openSqlite, type OpenSqlite } from './sqlite.ts'

function openTemporary(folder = mkdtempSync(join(tmpdir(), 'windlass-sqlite-'))): OpenSqlite {
  const database = openSqlite(join(folder, 'test.db'))
  onTestFinished(() => {
    database.close()
    rmSync(folder, { recursive: true })
  })
  database.prepare('create table item (id integer, name text)').run([])
  database.prepare('insert into item values (?, ?), (?, ?)').run([1, 'one', 2, null])
  return database
}

test('returns rows as plain objects, at once and one by one', () => {
  const select = openTemporary().prepare('select * from item where id <= ? order by id')
  const rows = [
    { id: 1, name: 'one' },
    { id: 2, name: null },
  ]
  expect(select.all([2])).toStrictEqual(rows)
  expect([...select.iterate([2])]).toStrictEqual(rows)
})

test('prepares a statement once, and again after a change of the schema', () => {
  const database = openTemporary()
  const text = 'select * from item where id = 1'
  expect(database.prepare(text)).toBe(database.prepare(text))
  for (const column of ['size', 'color']) {
    database.prepare(`alter table item add column ${column} text default '${column}'`).run([])
    expect(database.prepare(text).all([])[0]).toHaveProperty(column, column)
  }
  expect(database.prepare(text).all([])).toStrictEqual([{ id: 1, name: 'one', size: 'size', color: 'color' }])
})

test('copies only to a disk with space for the copy and for what is written meanwhile', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-sqlite-'))
  const database = openTemporary(folder)
  await database.copyTo(join(folder, 'first.db'))
  const { bavail, bsize } = statfsSync(folder)
  // A hole: the file is as large as the free space without 16 MiB, and takes none of it.
  truncateSync(join(folder, 'test.db'), bavail * bsize - 16_777_216)
  await expect(database.copyTo(join(folder, 'second.db'))).rejects.toMatchObject({
    code: 'storage-full',
    message: expect.stringMatching(/^A copy of the database needs \d+ bytes in \S+, and \d+ bytes are free\.$/),
  })
})
