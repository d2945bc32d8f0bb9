/** The trace of a job, from the frames of its log. */
import { expect, test } from 'vitest'
import type { Frame, FrameKind } from '../helper/job-log.ts'
import type { JobResult } from '../helper/supervise.ts'
import { sectionEnd, sectionStart, titled } from './sections.ts'
import { endLine, failureLine, failureText, openTraceWriter } from './trace-writer.ts'

/** Microseconds. */
const AT = 5_000_000

function frame(kind: FrameKind, content: string | object): Frame {
  return { kind, at: AT, bytes: Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)) }
}

/** Returns the trace of frames, and the result in them. */
function traceOf(
  frames: readonly Frame[],
  { hasSections = true, masked = [] }: { readonly hasSections?: boolean; readonly masked?: string[] } = {},
): { readonly text: string; readonly result: JobResult | undefined } {
  const parts: Buffer[] = []
  const trace = { masked, tokenPrefixes: [], masksAllTokens: true, hasTimes: false, limit: 1_000_000 }
  const writer = openTraceWriter({ intro: [{ at: AT, text: 'intro\n' }], hasSections, trace }, (bytes) => void parts.push(bytes))
  const results = frames.map((one) => writer.frame(one))
  writer.end({ at: AT, text: 'end\n' })
  return { text: Buffer.concat(parts).toString(), result: results.find((one) => one !== undefined) }
}

test('marks of sections have whole seconds, and titles are bold', () => {
  expect(sectionStart('step_script', 1_999)).toBe('section_start:1:step_script\r\u001B[0K')
  expect(sectionEnd('step_script', 2_000)).toBe('section_end:2:step_script\r\u001B[0K')
  expect(titled('A title')).toBe('\u001B[36;1mA title\u001B[0;m\n')
})

const STAGE = [
  frame('control', { type: 'stage-start', name: 'step_script', title: 'Executing' }),
  frame('work', 'hello\n'),
  frame('control', { type: 'stage-end', name: 'step_script', code: 0 }),
]

test('a stage is a section with its title', () => {
  const seconds = AT / 1_000_000
  expect(traceOf(STAGE).text).toBe(
    `intro\nsection_start:${seconds}:step_script\r\u001B[0K\u001B[36;1mExecuting\u001B[0;m\nhello\n` +
      `section_end:${seconds}:step_script\r\u001B[0Kend\n`,
  )
  expect(traceOf(STAGE, { hasSections: false }).text).toBe('intro\n\u001B[36;1mExecuting\u001B[0;m\nhello\nend\n')
})

test('a masked value is not in the trace, also across frames', () => {
  const { text } = traceOf([frame('work', 'the pass'), frame('work', 'word is here\n')], { masked: ['password'] })
  expect(text).toContain('the [MASKED] is here\n')
})

test('the result of a job is in its last frame', () => {
  const failed = { state: 'failed', reason: 'script_failure', stage: 'step_script', exitCode: 42 } as const
  expect(traceOf([...STAGE, frame('control', { type: 'end', result: failed })]).result).toEqual(failed)
  expect(traceOf(STAGE).result).toBeUndefined()
  expect(() => traceOf([frame('control', 'no JSON')])).toThrow()
  expect(() => traceOf([frame('control', { type: 'end', result: { state: 'failed', reason: 'other', stage: '' } })])).toThrow()
})

const failed = (reason: Extract<JobResult, { state: 'failed' }>['reason'], more: object = {}): JobResult => ({
  state: 'failed',
  reason,
  stage: 'get_sources',
  ...more,
})

test.each([
  [failed('script_failure', { exitCode: 42 }), ': command terminated with exit code 42'],
  [failed('job_execution_timeout'), ': execution took longer than 3600 seconds'],
  [failed('job_execution_timeout', { limitS: 90 }), ': the stage get_sources took longer than 90 seconds'],
  [failed('job_canceled'), ': canceled'],
  [failed('runner_system_failure', { exitCode: 128 }), ' (system failure): the stage get_sources ended with exit code 128'],
])('the last line of a job with %o says why it failed', (result, text) => {
  expect(endLine(failureText(result, { timeoutS: 3_600 }))).toBe(failureLine(text))
  expect(failureLine(text)).toBe(`\u001B[31;1mERROR: Job failed${text}\u001B[0;m\n`)
})

test('the last line of a job that succeeded is that of the original', () => {
  expect(endLine(failureText({ state: 'success' }, { timeoutS: 1 }))).toBe('\u001B[32;1mJob succeeded\u001B[0;m\n')
})
