import { manualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import type { ViewItem } from './log-view.ts'
import { reorder } from './reorder.ts'

const event = (type: string, step: string, at: number): ViewItem => ({
  kind: 'event',
  attempt: 1,
  at,
  type: `step.${type}`,
  data: { step },
})
const log = (step: string, text: string, at: number): ViewItem => ({
  kind: 'log',
  attempt: 1,
  at,
  stream: `step/${step}`,
  bytes: Buffer.from(text),
})

function collect() {
  const clock = manualClock()
  const shown: string[] = []
  const order = reorder(clock, (item) =>
    shown.push(item.kind === 'log' ? Buffer.from(item.bytes).toString() : `${item.type} ${String(item.data['step'])}`),
  )
  return { clock, shown, order }
}

test('the last lines of a step come before its end, although they arrive after it', () => {
  const { shown, order } = collect()
  for (const item of [
    event('started', 'a', 0),
    log('a', 'a1', 10),
    event('finished', 'a', 100),
    event('started', 'b', 100),
    log('b', 'b1', 101),
    log('a', 'a2', 90),
    log('b', 'b2', 150),
  ])
    order.push(item)
  order.flush()
  expect(shown).toEqual(['step.started a', 'a1', 'a2', 'step.finished a', 'step.started b', 'b1', 'b2'])
})

test('nothing waits while no step has just ended', () => {
  const { shown, order } = collect()
  order.push(event('started', 'a', 0))
  order.push(log('a', 'one', 5))
  expect(shown).toEqual(['step.started a', 'one'])
})

test('the end of a step is shown after a moment although nothing follows it', async () => {
  const { clock, shown, order } = collect()
  order.push(event('finished', 'a', 100))
  expect(shown).toEqual([])
  clock.advance(200)
  await Promise.resolve()
  await Promise.resolve()
  expect(shown).toEqual(['step.finished a'])
})

test('a stored log is not slowed down: newer items let older ones go', () => {
  const { shown, order } = collect()
  order.push(event('finished', 'a', 100))
  order.push(log('b', 'b1', 400))
  expect(shown).toEqual(['step.finished a', 'b1'])
})
