import { expect, test } from 'vitest'
import { REASON_NAMES, REASONS } from '../lists.ts'
import { advise, type AdviceFacts } from './advice.ts'

const GIB = 1_073_741_824
const failed = (reason: string, more: Partial<AdviceFacts['step']> = {}): AdviceFacts['step'] => ({
  name: 'test',
  type: 'freestyle',
  status: 'error',
  reason,
  ...more,
})
const texts = (facts: AdviceFacts): string[] => advise(facts).map(({ text }) => text)

test.each([
  ['out-of-memory', { usage: { memoryLimitBytes: 2 * GIB } }, {}, 'Its limit is 2 GiB. Ask for 3Gi with `memory`.'],
  ['out-of-memory', {}, {}, 'Increase `memory` of the runtime'],
  [
    'exit-code',
    { usage: { memoryPeakBytes: 1.95 * GIB, memoryLimitBytes: 2 * GIB } },
    {},
    'Its memory came close to the limit of 2 GiB. Ask for 2560Mi.',
  ],
  ['timeout', {}, { usualMs: 62_000 }, 'It usually ends within 1 m 02 s, so look for a command that hangs'],
  ['timeout', {}, {}, 'Increase `timeout` if the step needs longer'],
  ['image-not-found', {}, { registries: ['hub', 'own'] }, 'The registry contexts of the account are hub, own.'],
  ['image-not-found', {}, { registries: [] }, 'The account has no registry context for private images.'],
  ['command-not-found', {}, {}, 'set `shell` to one that the image has'],
  ['clone-failed', {}, {}, 'the Git context may read the repository'],
  ['push-failed', {}, {}, 'the login of the registry context may push'],
  ['integration-missing', {}, {}, 'Create the context that the step names'],
  ['denied', {}, {}, 'Restart the build to ask for approval again.'],
] as const)('%s with %o and %o gets its advice from these facts (W029)', (reason, step, facts, expected) => {
  expect(texts({ step: failed(reason, step), ...facts }).join('\n')).toContain(expected)
})

test('memory far from its limit is not named, and the hint of the step comes first (W029)', () => {
  const usage = { memoryPeakBytes: GIB, memoryLimitBytes: 2 * GIB }
  expect(texts({ step: failed('exit-code', { usage, hint: 'Run it with -v.' }) })).toEqual([
    'Run it with -v.',
    'The command itself failed. Its output says why.',
  ])
})

test('each loss of infrastructure says that nothing is to be done, and green, skipped and running steps get no advice (W029)', () => {
  for (const reason of REASON_NAMES.filter((name) => REASONS[name].blame === 'infra'))
    expect(texts({ step: failed(reason) })).toEqual([expect.stringContaining('The infrastructure failed, not the step.')])
  for (const status of ['success', 'skipped', 'running', 'pending', 'terminated'])
    for (const reason of [undefined, ...REASON_NAMES])
      expect(advise({ step: { ...failed('exit-code'), status, reason } })).toEqual([])
})

test('at most three pieces of advice are given', () => {
  for (const reason of REASON_NAMES) {
    const usage = { memoryPeakBytes: 2 * GIB, memoryLimitBytes: 2 * GIB }
    expect(advise({ step: failed(reason, { usage, hint: 'Hint.' }), registries: ['a'], usualMs: 1 }).length).toBeLessThanOrEqual(
      3,
    )
  }
})
