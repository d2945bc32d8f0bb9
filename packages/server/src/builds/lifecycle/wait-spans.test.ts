import { expect, test } from 'vitest'
import { sumWaits, waitSpansOf } from './wait-spans.ts'

const event = (type: string, at: number, data: object = {}) => ({ type, at, data: JSON.stringify(data) })

test('a build waits from its creation to each attempt, and again after losses and approvals', () => {
  const events = [
    event('build.created', 100),
    event('build.waiting', 110, { reason: 'pipeline-limit' }),
    event('build.waiting', 140, { reason: 'runtime-capacity' }),
    event('attempt.created', 150),
    event('attempt.lost', 200),
    event('attempt.created', 230),
    event('build.waiting', 300, { reason: 'approval' }),
    event('build.resumed', 900),
    event('attempt.created', 905),
  ]
  const spans = waitSpansOf({ created_at: 100, finished_at: 1000 }, events)
  expect(spans).toEqual([
    { reason: 'queued', start: 100, end: 110 },
    { reason: 'pipeline-limit', start: 110, end: 140 },
    { reason: 'runtime-capacity', start: 140, end: 150 },
    { reason: 'queued', start: 200, end: 230 },
    { reason: 'approval', start: 300, end: 900 },
    { reason: 'queued', start: 900, end: 905 },
  ])
  expect(sumWaits(spans, 1000)).toEqual([
    { reason: 'approval', ms: 600 },
    { reason: 'queued', ms: 45 },
    { reason: 'pipeline-limit', ms: 30 },
    { reason: 'runtime-capacity', ms: 10 },
  ])
})

test('an open wait counts until now, and ends with the build', () => {
  const events = [event('build.waiting', 110, { reason: 'agent-offline' })]
  const open = waitSpansOf({ created_at: 100, finished_at: null }, events)
  expect(sumWaits(open, 170)).toEqual([
    { reason: 'agent-offline', ms: 60, since: 110 },
    { reason: 'queued', ms: 10 },
  ])
  const ended = waitSpansOf({ created_at: 100, finished_at: 150 }, events)
  expect(sumWaits(ended, 170)[0]).toEqual({ reason: 'agent-offline', ms: 40 })
})
