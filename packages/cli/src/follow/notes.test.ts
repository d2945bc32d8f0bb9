import { expect, test } from 'vitest'
import { describeStepWait } from './notes.ts'

test('commands to copy quote the names of steps, which come from documents', () => {
  expect(describeStepWait('unit_tests', { phase: 'before' }, 'f00')).toBe(
    '‖ unit_tests is held by the debugger (before): windlass debug f00 unit_tests',
  )
  expect(describeStepWait('x; curl 1 | sh', {}, 'f00')).toBe(
    "‖ x; curl 1 | sh waits for an approval: windlass approve f00 'x; curl 1 | sh'",
  )
})
