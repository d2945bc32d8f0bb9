import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { expect, test } from 'vitest'
import { startPostgres } from '../../support/postgres.ts'
import { failStatements } from './nth-statement.ts'

test('only the third statement on SQLite fails, with the error of a broken disk', () => {
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

test('a statement on SQLite whose transaction is rolled back fails and ends the transaction', () => {
  using fault = failStatements('sqlite', 'rolled back')
  const database = new DatabaseSync(':memory:')
  database.exec('create table fact (n integer); begin; insert into fact values (1)')
  fault.arm(1)
  expect(() => database.prepare('insert into fact values (2)').run()).toThrow('database or disk is full')
  expect(database.isTransaction).toBe(false)
  expect(database.prepare('select count(*) as n from fact').get()).toEqual({ n: 0 })
  database.close()
})

test('a statement on PostgreSQL whose response is lost was carried out, and the pool continues to work', async () => {
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
  {
    using fault = failStatements('postgres', 'unknown')
    fault.arm(1)
    await expect(pool.query('insert into fact values (3)')).rejects.toMatchObject({ code: 'ZX123' })
  }
  expect((await pool.query('select n from fact')).rows).toEqual([{ n: 1 }])
  await pool.end()
})
