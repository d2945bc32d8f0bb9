/** When the objects of ended jobs are removed. */
import { manualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openPodStarts } from './pods/pod-starts.ts'
import { openRemovals, type Removals } from './removals.ts'

interface Scene {
  readonly removals: Removals
  readonly removed: string[]
  readonly hurry: AbortController
  readonly stop: AbortController
  starts(pod: string, isStarting: boolean): Promise<void>
  /** Moves the clock. Milliseconds. */
  pass(ms: number): Promise<void>
  end(pod: string): Promise<void>
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function openScene(): Scene {
  const clock = manualClock()
  const [hurry, stop] = [new AbortController(), new AbortController()]
  const starts = openPodStarts(clock)
  const removed: string[] = []
  const removals = openRemovals({ starts, hurry: hurry.signal, signal: stop.signal })
  return {
    removals,
    removed,
    hurry,
    stop,
    starts(pod, isStarting) {
      starts.set(pod, isStarting)
      return settle()
    },
    pass(ms) {
      clock.advance(ms)
      return settle()
    },
    end(pod) {
      removals.add(pod, async () => void removed.push(pod))
      return settle()
    },
  }
}

test('objects are removed at once while no pod starts', async () => {
  const scene = openScene()
  await scene.end('one')
  expect(scene.removed).toEqual(['one'])
  expect(scene.removals.has('one')).toBe(false)
})

test('a removal waits for all pods that start', async () => {
  const scene = openScene()
  await scene.starts('two', true)
  await scene.starts('three', true)
  await scene.end('one')
  await scene.starts('two', false)
  expect(scene.removed).toEqual([])
  expect(scene.removals.has('one')).toBe(true)
  await scene.starts('three', false)
  expect(scene.removed).toEqual(['one'])
})

test('a removal waits for at most ten seconds', async () => {
  const scene = openScene()
  await scene.starts('two', true)
  await scene.end('one')
  await scene.pass(9_999)
  expect(scene.removed).toEqual([])
  await scene.pass(1)
  expect(scene.removed).toEqual(['one'])
})

test('a manager that ends removes without waiting, and is tidy after that', async () => {
  const scene = openScene()
  await scene.starts('two', true)
  await scene.end('one')
  scene.hurry.abort()
  await scene.removals.settled()
  expect(scene.removed).toEqual(['one'])
})

test.each(['stop', 'leave'])('objects stay after %s', async (how) => {
  const scene = openScene()
  await scene.starts('two', true)
  await scene.end('one')
  if (how === 'stop') scene.stop.abort()
  else scene.removals.leave('one')
  await scene.removals.settled()
  await scene.starts('two', false)
  expect(scene.removed).toEqual([])
})
