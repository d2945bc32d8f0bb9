import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { toFault } from '../../http/problem.ts'

const withCode = (code: string): Error => Object.assign(new Error('an error of a driver'), { code })

test.each([
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ECONNRESET',
  'EAI_AGAIN',
  'EIO',
  'ESTALE',
  'EMFILE',
  '08006',
  '25006',
  '28P01',
  '40P01',
  '53300',
  '55P03',
  '57014',
  '57P01',
])('maps the error %s of a database or disk to unavailable', (code) => {
  expect(toFault(withCode(code))).toMatchObject({ code: 'unavailable', status: 503, retryable: true })
})

test.each(['ENOSPC', 'EDQUOT', '53100'])('maps %s to a full disk that can be retried', (code) => {
  expect(toFault(withCode(code))).toMatchObject({ code: 'storage-full', retryable: true })
})

test.each([
  [5, 'unavailable'],
  [10, 'unavailable'],
  [3338, 'unavailable'],
  [8, 'unavailable'],
  [13, 'storage-full'],
])('maps the SQLite code %i to %s', (errcode, code) => {
  expect(toFault(Object.assign(new Error('x'), { code: 'ERR_SQLITE_ERROR', errcode }))).toMatchObject({ code, retryable: true })
})

test('maps a query timeout to unavailable', () => {
  expect(toFault(new Error('Query read timeout'))).toMatchObject({ code: 'unavailable' })
})

test('maps a violated unique constraint to a conflict on both databases', () => {
  using database = new DatabaseSync(':memory:')
  database.exec('create table t (a text primary key, b text unique); insert into t values (1, 1)')
  for (const values of ['(1, 2)', '(2, 1)']) {
    let thrown: unknown
    try {
      database.exec(`insert into t values ${values}`)
    } catch (error) {
      thrown = error
    }
    expect(toFault(thrown)).toMatchObject({ code: 'conflict', status: 409 })
  }
  expect(toFault(withCode('23505'))).toMatchObject({ code: 'conflict' })
})

test('maps any other error to an internal error', () => {
  for (const error of [withCode('42P01'), withCode('23502'), new TypeError('x is not a function'), 'text'])
    expect(toFault(error)).toMatchObject({ code: 'internal', retryable: false })
})
