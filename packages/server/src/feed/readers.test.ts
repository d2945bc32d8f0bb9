import type { Role } from '@windlass/protocol'
import { expect, test } from 'vitest'
import type { Actor } from '../identity/actor.ts'
import { openReaders, READER_LIMITS } from './readers.ts'

const keyOf = (id: string, role: Role): Actor => ({ kind: 'key', id, accountId: 'a', name: id, role })

function stepOf(id: string): Actor {
  const none = { pipelineId: null, pipeline: null, projectId: null }
  return { kind: 'build', id, accountId: 'a', buildId: id, attempt: 1, name: id, ...none }
}

test('limits the open streams of the steps of a build more than those of a key', () => {
  const readers = openReaders(READER_LIMITS)
  for (let n = 0; n < 10; n += 1) readers.take(stepOf('one'))
  expect(() => readers.take(stepOf('one'))).toThrow('This key already has 10 open streams.')
  readers.take(stepOf('other'))
  readers.take(keyOf('k', 'viewer'))
})

test('reserves some streams for users and admins', () => {
  const readers = openReaders({ ...READER_LIMITS, total: 20, perKey: 20 })
  for (let n = 0; n < 18; n += 1) readers.take(keyOf('k', 'viewer'))
  for (const actor of [keyOf('other', 'viewer'), stepOf('one')])
    expect(() => readers.take(actor)).toThrow('The server already has 18 open streams.')
  readers.take(keyOf('u', 'developer'))
  readers.take(keyOf('a', 'admin'))
  expect(() => readers.take(keyOf('a', 'admin'))).toThrow('The server already has 20 open streams.')
})

test('one address without a credential does not take the places of others', () => {
  const readers = openReaders(READER_LIMITS)
  const nobody: Actor = { kind: 'nobody' }
  const held = Array.from({ length: 20 }, () => readers.take(nobody, 1, '192.0.2.1'))
  expect(() => readers.take(nobody, 1, '192.0.2.1')).toThrow('This address already has 20 open streams.')
  readers.take(nobody, 1, '192.0.2.2')
  held[0]?.[Symbol.dispose]()
  readers.take(nobody, 1, '192.0.2.1')
})

test('a stream of several topics counts as so many', () => {
  const readers = openReaders({ ...READER_LIMITS, total: 100, perKey: 20 })
  const stream = readers.take(keyOf('k', 'developer'), 15)
  expect(() => readers.take(keyOf('k', 'developer'), 6)).toThrow('This key already has 15 open streams.')
  const second = readers.take(keyOf('k', 'developer'), 5)
  expect(readers.count).toBe(20)
  stream[Symbol.dispose]()
  second[Symbol.dispose]()
  expect(readers.count).toBe(0)
  readers.take(keyOf('k', 'developer'), 20)
})
