import { expect, test } from 'vitest'
import { LogMarker } from './log-marks.ts'
import { tellingProblem } from './telling-problem.ts'

function linesOf(text: string): number | undefined {
  const marker = new LogMarker()
  marker.take(text, text)
  return tellingProblem(marker.state.problems)?.line
}

test('the first problem is shown, or its repetition with the details', () => {
  expect(linesOf('all is well\n')).toBeUndefined()
  expect(linesOf('a.c:1:2: error: one\na.c:9:2: error: two\n')).toBe(0)
  const named = '✖ greets (1 ms)\n✖ leaves (1 ms)\nℹ fail 2\n\n✖ failing tests:\n'
  const details = "✖ greets (1 ms)\n  AssertionError [ERR_ASSERTION]: 'Hallo'\n✖ leaves (1 ms)\n  AssertionError: 'Tschüss'\n"
  expect(linesOf(named + details)).toBe(5)
})
