import { expect, test } from 'vitest'
import { openRepeatKeys, type Repeat, type RepeatKeys } from './repeat-keys.ts'

interface Story {
  readonly keys: RepeatKeys
  readonly begin: (key: string, body?: string, url?: string) => Repeat
  readonly keyOf: (repeat: Repeat) => string | undefined
  readonly pass: (ms: number) => void
}

function open(): Story {
  let time = 1_000
  const keys = openRepeatKeys(() => time)
  return {
    keys,
    begin: (key, body = '{"a":1}', url = '/things') =>
      keys.begin({ method: 'POST', url, headers: { accept: 'application/json', 'idempotency-key': key }, body }),
    keyOf: ({ headers }) => headers['idempotency-key'],
    pass: (ms) => void (time += ms),
  }
}

test('the same call after a lost answer has the key of the first one, until it is answered', () => {
  const { begin, keyOf } = open()
  begin('first').lost()
  const again = begin('second')
  expect(again.headers).toEqual({ accept: 'application/json', 'idempotency-key': 'first' })
  again.lost()
  const third = begin('third')
  expect(keyOf(third)).toBe('first')
  third.answered()
  expect(keyOf(begin('fourth'))).toBe('fourth')
})

test('another body, another address, a second call at once and a much later call have keys of their own', () => {
  const { begin, keyOf, pass } = open()
  begin('first').lost()
  expect(keyOf(begin('second', '{"a":2}'))).toBe('second')
  expect(keyOf(begin('third', '{"a":1}', '/others'))).toBe('third')
  const again = begin('fourth')
  expect(keyOf(again)).toBe('first')
  expect(keyOf(begin('fifth'))).toBe('fifth')
  again.lost()
  pass(301_000)
  expect(keyOf(begin('sixth'))).toBe('sixth')
})

test('an answered change in between ends the use of the key, and a read does not', () => {
  const { begin, keyOf, keys } = open()
  begin('first').lost()
  keys.begin({ method: 'GET', url: '/things', headers: {}, body: undefined }).answered()
  const again = begin('second')
  expect(keyOf(again)).toBe('first')
  again.lost()
  keys.begin({ method: 'DELETE', url: '/things/1', headers: {}, body: undefined }).answered()
  expect(keyOf(begin('third'))).toBe('third')
})
