import type { ObjectChange } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { PendingChanges } from './changes.ts'

function set(name: string, restarts = 0): ObjectChange {
  return { change: 'set', kind: 'Pod', namespace: 'shop', name, uid: name, labels: {}, summary: { restarts } }
}

test('the newest state of an object replaces the one before, and what is reported goes', () => {
  const pending = new PendingChanges()
  pending.add(set('a'))
  pending.add(set('b'))
  pending.add(set('a', 2))
  expect(pending.peek(10)).toEqual([set('a', 2), set('b')])
  pending.drop(pending.peek(1))
  expect(pending.peek(10)).toEqual([set('b')])
})

test('what changed while it was being reported stays', () => {
  const pending = new PendingChanges()
  pending.add(set('a'))
  const reported = pending.peek(1)
  pending.add(set('a', 1))
  pending.drop(reported)
  expect(pending.peek(10)).toEqual([set('a', 1)])
})

test('that a kind is complete comes behind all that was said of it', () => {
  const pending = new PendingChanges()
  pending.add({ change: 'synced', kind: 'Pod' })
  pending.add(set('a'))
  pending.add({ change: 'synced', kind: 'Pod' })
  expect(pending.peek(10).map(({ change }) => change)).toEqual(['set', 'synced'])
})
