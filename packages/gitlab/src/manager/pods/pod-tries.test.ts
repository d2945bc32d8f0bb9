import { manualClock, type ManualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { turns } from '../../../../../e2e/gitlab/support/coordinator-pair.ts'
import { PodTries } from './pod-tries.ts'

interface Setup {
  readonly tries: PodTries
  readonly clock: ManualClock
  readonly notes: string[]
  readonly lost: string[]
}

function open(nextPod?: () => Promise<boolean>): Setup {
  const clock = manualClock()
  const [notes, lost]: [string[], string[]] = [[], []]
  const note = (text: string): Promise<void> => Promise.resolve(void notes.push(text))
  const tries = new PodTries({
    clock,
    nextPod,
    note,
    lose: (message, reason) => void lost.push(`${reason ?? 'none'}: ${message}`),
  })
  return { tries, clock, notes, lost }
}

const missing = { type: 'image', image: 'a:1', message: 'manifest unknown', reason: 'runner_configuration_error' } as const
const unreachable = { ...missing, message: 'i/o timeout', reason: 'runner_external_dependency_failure' } as const

test('an image that cannot be pulled fails the job without a further policy', () => {
  const { tries, lost } = open()
  tries.problem(missing)
  expect(lost).toEqual(['runner_configuration_error: the image a:1 cannot be pulled: manifest unknown'])
})

test('a refused login has 30 s, because the kubelet may not have had the logins of the pod', () => {
  const { tries, clock, lost } = open()
  const refused = { ...missing, message: 'failed with status code [manifests 1]: 401 Unauthorized' }
  tries.problem(refused)
  clock.advance(29_999)
  tries.problem(refused)
  expect(lost).toEqual([])
  clock.advance(1)
  tries.problem(refused)
  expect(lost).toHaveLength(1)
})

test('a registry that cannot be reached has 25 s', () => {
  const { tries, clock, lost } = open()
  tries.problem(unreachable)
  clock.advance(24_999)
  tries.problem(unreachable)
  expect(lost).toEqual([])
  clock.advance(1)
  tries.problem(unreachable)
  expect(lost).toHaveLength(1)
})

test('the pod of the next policy replaces the one before, whose changes count no more', async () => {
  const created = Promise.withResolvers<boolean>()
  const { tries, notes, lost } = open(() => created.promise)
  expect(tries.isComing).toBe(false)
  tries.take('one')
  expect([tries.isKnown, tries.isCurrent('one'), tries.isCurrent('other'), tries.isCurrent(undefined)]).toEqual([
    true,
    true,
    false,
    true,
  ])
  tries.problem(missing)
  tries.problem(missing)
  expect([tries.isKnown, tries.isComing, tries.isCurrent('one'), tries.isCurrent('two')]).toEqual([false, true, false, true])
  created.resolve(true)
  await turns()
  expect(notes).toEqual(['WARNING: the image a:1 cannot be pulled: manifest unknown. The next pull policy is tried.'])
  expect([tries.isComing, lost]).toEqual([false, []])
})

test('the last policy and a cluster that refuses the pod fail the job', async () => {
  const last = open(() => Promise.resolve(false))
  last.tries.problem(missing)
  await turns()
  expect(last.lost).toEqual(['runner_configuration_error: the image a:1 cannot be pulled: manifest unknown'])
  const refused = open(() => Promise.reject(new Error('quota')))
  refused.tries.problem(missing)
  await turns()
  expect(refused.lost).toEqual(['none: the image a:1 cannot be pulled: manifest unknown; the pod cannot be created again: quota'])
})
