import { PipelineCronTrigger, PipelineTrigger } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { describeTrigger, showNextTimes } from './describe-trigger.ts'

const STORED = { id: 'a'.repeat(24), pipeline: 'a/b', origin: 'api', createdAt: 0, updatedAt: 0 }

test('a git trigger is described by its events and filters', () => {
  const trigger = PipelineTrigger.parse({
    ...STORED,
    name: 't',
    repo: 'acme/app',
    events: ['push.heads'],
    branchRegex: '/^main$/',
    modifiedFilesGlob: 'src/**',
  })
  expect(describeTrigger(trigger)).toBe('push.heads of acme/app, branch /^main$/, files src/**')
})

test('a cron trigger has words, and its next three times in its zone stay right over a change of clocks (W076)', () => {
  const schedule = { expression: '30 2 * * *', timezone: 'Europe/Berlin' }
  const trigger = PipelineCronTrigger.parse({ ...STORED, ...schedule, name: 't', message: 'nightly' })
  expect(describeTrigger(trigger)).toBe('At 02:30 every day, Europe/Berlin')
  // The night of 2026-03-29 has no 02:30, that of 2026-10-25 has it twice.
  expect(showNextTimes(schedule, Date.parse('2026-03-27T12:00:00Z'))).toEqual([
    'Sat 28 Mar, 02:30',
    'Sun 29 Mar, 03:00',
    'Mon 30 Mar, 02:30',
  ])
  expect(showNextTimes(schedule, Date.parse('2026-10-24T12:00:00Z'))).toEqual([
    'Sun 25 Oct, 02:30',
    'Mon 26 Oct, 02:30',
    'Tue 27 Oct, 02:30',
  ])
})
