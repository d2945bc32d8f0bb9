import { expect, test } from 'vitest'
import { EngineEvent, MAX_EVENTS } from './events.ts'
import { EventBatch } from './engine.ts'

const finished = { type: 'step.finished', seq: 1, at: 1, step: 'one', try: 1, status: 'success', members: {}, exports: [] }

test('step.finished keeps the lengths of its own streams and drops others', () => {
  const own = { 'step/one': 4, 'step/one.services': 5 }
  const streams = { ...own, 'step/two': 1, 'step/ones': 1, system: 1, 'of a later version': { bytes: 'many' } }
  expect(EngineEvent.parse({ ...finished, streams })).toEqual({ ...finished, streams: own })
  expect(EngineEvent.parse({ ...finished, streams: { 'step/two': 1 } })).toEqual({ ...finished, streams: {} })
  expect(EngineEvent.parse(finished)).toEqual(finished)
})

test('rejects invalid lengths of its own streams', () => {
  for (const streams of [{ 'step/one': -1 }, { 'step/one': '4' }, [], 'step/one', null])
    expect(EngineEvent.safeParse({ ...finished, streams }).success).toBe(false)
})

test('rejects a value that is not an event, alone and in a batch', () => {
  for (const value of [null, [], 'step.finished', { type: 'step.finished' }, { ...finished, seq: 0 }]) {
    expect(EngineEvent.safeParse(value).success).toBe(false)
    expect(EventBatch.safeParse({ events: [value] }).success).toBe(false)
  }
  expect(EventBatch.safeParse({ events: Array.from({ length: MAX_EVENTS }, () => finished) }).success).toBe(true)
})
