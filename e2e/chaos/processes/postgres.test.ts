import pg from 'pg'
import { expect, test } from 'vitest'
import { openPostgres } from './postgres.ts'

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

test('a PostgreSQL that is killed keeps what was committed and comes back', async () => {
  await using postgres = await openPostgres()
  await query(postgres.url, 'create table kept (n integer); insert into kept values (7)')
  expect(await postgres.child.kill()).toBe(true)
  await postgres.child.start()
  expect(await query(postgres.url, 'select n from kept')).toEqual([{ n: 7 }])
  expect(await postgres.dump()).toContain('kept')
})
