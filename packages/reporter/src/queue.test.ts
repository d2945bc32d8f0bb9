import { expect, test } from 'vitest'
import { Queue, type Entry } from './queue.ts'

function entry(name: string, manifest = 'x'.repeat(10), at = 1): Entry {
  return { kind: 'Application', namespace: 'argocd', name, uid: name, at, state: { manifest } }
}

function open(maxCharacters = 100, maxEntries = 10): { readonly queue: Queue; dropped(): number } {
  let count = 0
  const queue = new Queue({ maxCharacters, maxEntries }, () => (count += 1))
  return { queue, dropped: () => count }
}

test('a newer state replaces the one that waits, and one that changed while it was sent stays', () => {
  const { queue } = open()
  const first = entry('a')
  for (const one of [first, entry('b')]) queue.add(one)
  const sent = queue.peek()
  expect(sent).toEqual([first, entry('b')])
  queue.add(entry('a', 'newer'))
  for (const one of sent) queue.done(one)
  expect(queue.peek()).toEqual([entry('a', 'newer')])
  expect([queue.size, queue.characters]).toEqual([1, 'newer'.length])
})

test('without room a manifest is left out, and a deletion is not (O060)', () => {
  const { queue, dropped } = open(25)
  for (const name of ['a', 'b', 'c']) queue.add(entry(name))
  queue.add({ ...entry('d'), state: 'gone' })
  expect(queue.peek().map(({ state }) => (typeof state === 'object' ? 'manifest' : state))).toEqual([
    'manifest',
    'manifest',
    'wanted',
    'gone',
  ])
  expect(queue.characters).toBe(20)
  for (const one of queue.peek().slice(0, 2)) queue.done(one)
  queue.add(entry('c'))
  expect(queue.characters).toBe(10)
  expect(dropped()).toBe(0)
})

test('above the limit of entries the oldest is dropped, and a full state is asked for', () => {
  const { queue, dropped } = open(1_000, 3)
  for (let n = 0; n < 5; n += 1) queue.add({ ...entry(`app-${n}`), state: 'gone' })
  expect(queue.peek().map(({ name }) => name)).toEqual(['app-2', 'app-3', 'app-4'])
  expect(dropped()).toBe(2)
})

test('an application that waits is not asked for again, and an object of another kind has a place of its own', () => {
  const { queue } = open()
  queue.add(entry('a'))
  for (const name of ['a', 'b', 'b']) queue.want({ kind: 'Application', namespace: 'argocd', name, at: 2 })
  queue.want({ kind: 'Rollout', namespace: 'argocd', name: 'a', at: 2 })
  expect(queue.peek().map(({ kind, name, state }) => [kind, name, typeof state])).toEqual([
    ['Application', 'a', 'object'],
    ['Application', 'b', 'string'],
    ['Rollout', 'a', 'string'],
  ])
})

test('what is put aside counts, comes back behind the others, and a newer state of it does not wait', () => {
  const { queue, dropped } = open()
  for (const name of ['a', 'b']) queue.want({ kind: 'Rollout', namespace: 'argocd', name, at: 1 })
  const [a, b] = queue.peek()
  if (a === undefined || b === undefined) throw new Error('nothing waits')
  queue.add({ ...b, at: 2 })
  for (const one of [a, b]) queue.putAside(one)
  expect([queue.size, queue.aside]).toEqual([2, 1])
  queue.want(a)
  queue.add({ ...entry('shop'), kind: 'Rollout' })
  expect(queue.peek().map(({ name }) => name)).toEqual(['b', 'shop'])
  queue.takeBack()
  expect(queue.peek().map(({ name }) => name)).toEqual(['b', 'shop', 'a'])
  queue.putAside(a)
  queue.add({ ...a, at: 3 })
  expect([queue.size, queue.aside, queue.peek().at(-1)?.at]).toEqual([3, 0, 3])
  queue.putAside(b)
  expect([queue.aside, dropped()]).toEqual([0, 0])
})

test('applications come first and are not dropped for other objects, and what a full state wants drops nothing', () => {
  const { queue, dropped } = open(1_000, 4)
  const object = (name: string): Entry => ({ ...entry(name), kind: 'Workflow', state: 'wanted' })
  for (const name of ['a', 'b', 'c']) queue.want(object(name))
  queue.add(entry('shop'))
  queue.want({ ...entry('site'), at: 2 })
  for (const name of ['page', 'site']) queue.want(entry(name))
  expect(queue.peek().map(({ name }) => name)).toEqual(['shop', 'site', 'a', 'b'])
  expect(dropped()).toBe(0)
  queue.add(object('d'))
  expect(queue.peek().map(({ name }) => name)).toEqual(['shop', 'site', 'b', 'd'])
  for (const name of ['x', 'y']) queue.add(entry(name))
  queue.add(object('e'))
  expect(queue.peek().map(({ name }) => name)).toEqual(['shop', 'site', 'x', 'y'])
  expect([queue.size, dropped()]).toEqual([4, 4])
})
