import type { Attempt } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { isLost, sentenceOfAttempt } from './attempt-text.ts'

const attempt = (more: Partial<Attempt>): Attempt => ({ number: 1, status: 'ended', createdAt: 0, ...more })

test('a lost attempt says why in the words of the cluster, and what followed', () => {
  const lost = attempt({
    reason: 'node-lost',
    message: 'Node 10.0.3.7 is gone',
    startedAt: 0,
    endedAt: 131_000,
    retryDecision: 'retried',
  })
  expect(isLost(lost)).toBe(true)
  expect(sentenceOfAttempt(lost)).toBe(
    'Attempt 1 was lost after 2:11 (node-lost): Node 10.0.3.7 is gone. The build continued in another attempt.',
  )
})

test('other attempts say their state, and why their pods cannot start', () => {
  expect(sentenceOfAttempt(attempt({ result: 'success', startedAt: 0, endedAt: 5_000 }))).toBe(
    'Attempt 1 ended after 0:05 with success.',
  )
  const starting = attempt({ status: 'starting', reason: 'unschedulable', message: '0/3 nodes are available.' })
  expect(isLost(starting)).toBe(false)
  expect(sentenceOfAttempt(starting)).toBe('Attempt 1 is starting (unschedulable): 0/3 nodes are available.')
  expect(sentenceOfAttempt(attempt({ status: 'running' }))).toBe('Attempt 1 runs.')
  expect(sentenceOfAttempt(attempt({ status: 'suspect' }))).toBe('Attempt 1 has not reported for a while.')
})
