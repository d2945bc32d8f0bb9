import type { ObjectChange } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { PendingChanges } from './changes.ts'

function set(name: string, restarts = 0): ObjectChange {
  return { change: 'set', kind: 'Pod', namespace: 'shop', name, uid: name, labels: {}, summary: { restarts } }
}

test('replaces the previous state of an object and removes reported changes', () => {
  const pending = new PendingChanges()
  pending.add(set('a'))
  pending.add(set('b'))
  pending.add(set('a', 2))
  expect(pending.peek(10)).toEqual([set('a', 2), set('b')])
  pending.drop(pending.peek(1))
  expect(pending.peek(10)).toEqual([set('b')])
})

test('keeps an object that changed while it was being reported', () => {
  const pending = new PendingChanges()
  pending.add(set('a'))
  const reported = pending.peek(1)
  pending.add(set('a', 1))
  pending.drop(reported)
  expect(pending.peek(10)).toEqual([set('a', 1)])
})

test('moves `synced` of a kind behind its changes', () => {
  const pending = new PendingChanges()
  pending.add({ change: 'synced', kind: 'Pod' })
  pending.add(set('a'))
  pending.add({ change: 'synced', kind: 'Pod' })
  expect(pending.peek(10).map(({ change }) => change)).toEqual(['set', 'synced'])
})
