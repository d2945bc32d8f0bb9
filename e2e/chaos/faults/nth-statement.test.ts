import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { expect, test } from 'vitest'
import { startPostgres } from '../../support/postgres.ts'
import { failStatements } from './nth-statement.ts'

test('the third statement on SQLite fails as a broken disk does, and no other', () => {
  const database = new DatabaseSync(':memory:')
  using fault = failStatements('sqlite')
  fault.arm(3)
  const outcomes = Array.from({ length: 5 }, (_, n) => {
    try {
      return database.prepare(`select ${n} as n`).all().length
    } catch (error) {
      return error instanceof Error ? error.message : ''
    }
  })
  expect(outcomes).toEqual([1, 1, 'disk I/O error', 1, 1])
  expect(fault.struck).toBe('select 2 as n')
  database.close()
})

test('a statement on PostgreSQL whose answer is lost was carried out, and the pool goes on', async () => {
  await using postgres = await startPostgres()
  const pool = new pg.Pool({ connectionString: postgres.url, max: 2 })
  pool.on('error', () => undefined)
  await pool.query('create table fact (n integer)')
  {
    using fault = failStatements('postgres', 'after')
    fault.arm(1)
    await expect(pool.query('insert into fact values (1)')).rejects.toThrow('Connection terminated')
    expect(fault.struck).toBe('insert into fact values (1)')
  }
  {
    using fault = failStatements('postgres')
    fault.arm(1)
    await expect(pool.query('insert into fact values (2)')).rejects.toThrow('Connection terminated')
  }
  expect((await pool.query('select n from fact')).rows).toEqual([{ n: 1 }])
  await pool.end()
})
