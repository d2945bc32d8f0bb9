import { manualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { noteIfSlow } from './note-if-slow.ts'

test('tells what it waits for after two seconds, once, and not if the work ends before', async () => {
  const clock = manualClock(0)
  const notes: string[] = []
  const work = Promise.withResolvers<string>()
  const slow = noteIfSlow(clock, work.promise, () => void notes.push('waiting'))
  clock.advance(1_900)
  await Promise.resolve()
  expect(notes).toEqual([])
  clock.advance(200)
  await expect.poll(() => notes).toEqual(['waiting'])
  clock.advance(5_000)
  work.resolve('done')
  expect(await slow).toBe('done')
  expect(notes).toEqual(['waiting'])
  expect(await noteIfSlow(clock, Promise.resolve('fast'), () => void notes.push('late'))).toBe('fast')
  await expect(noteIfSlow(clock, Promise.reject(new Error('broken')), () => void notes.push('late'))).rejects.toThrow('broken')
  clock.advance(5_000)
  expect(notes).toEqual(['waiting'])
})
