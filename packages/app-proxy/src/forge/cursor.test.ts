import { expect, test } from 'vitest'
import { atCursor, toCursor } from './cursor.ts'

const first = new URL('https://forge.test/api/v1/user/repos?limit=50')
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

test('a cursor leads to the next page of the same list', () => {
  const next = new URL('https://forge.test/api/v1/user/repos?limit=50&page=2')
  const cursor = toCursor(first, next)
  expect(atCursor(first, cursor).href).toBe(next.href)
  expect(atCursor(first, undefined).href).toBe(first.href)
})

test.each([
  ['another parameter', encode({ page: '2', limit: '100000' })],
  ['a user of GitLab to act as', encode({ sudo: 'root' })],
  ['no object', encode('page')],
  ['no JSON', 'page=2'],
  ['a long text', encode({ page: 'x'.repeat(2_000) })],
])('%s is not a cursor', (_, cursor) => {
  expect(() => atCursor(first, cursor)).toThrow(expect.objectContaining({ code: 'request-invalid' }))
})
