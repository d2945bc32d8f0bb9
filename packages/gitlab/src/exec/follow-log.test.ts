import { expect, test } from 'vitest'
import { encodeFrame, type FrameKind } from '../helper/job-log.ts'
import { followLog, type FollowOptions } from './follow-log.ts'

const plan: FollowOptions['plan'] = {
  masksAllTokens: true,
  variables: { list: [], masked: ['secret-value'], valueOf: () => undefined, expand: (text) => text },
}

const frame = (kind: FrameKind, content: string | object): Buffer =>
  encodeFrame({ kind, at: 1, bytes: Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)) })

/** Returns what is shown of an output that comes in parts of so many bytes. */
async function shownOf(log: Buffer, size: number, errors = ''): Promise<{ text: string; result: unknown }> {
  async function* output() {
    if (errors !== '') yield [{ source: 2 as const, bytes: Buffer.from(errors) }]
    for (let from = 0; from < log.length; from += size) yield [{ source: 1 as const, bytes: log.subarray(from, from + size) }]
  }
  const parts: Buffer[] = []
  const { ended, write } = followLog(output(), { plan, write: async (bytes) => void parts.push(bytes) })
  const result = await ended
  await write('the end\n')
  return { text: Buffer.concat(parts).toString(), result }
}

test.each([1, 7, 10_000])('shows titles on lines of their own and masks values, in parts of %i bytes', async (size) => {
  const log = Buffer.concat([
    frame('control', { type: 'stage-start', name: 'step_script', title: 'Script' }),
    frame('work', 'a secret-'),
    frame('work', 'value without a line end'),
    frame('control', { type: 'stage-end', name: 'step_script', code: 0 }),
    frame('control', { type: 'stage-start', name: 'after_script', title: 'After' }),
    frame('work', 'one\n'),
    frame('control', { type: 'stage-end', name: 'after_script', code: 0 }),
    frame('control', { type: 'end', result: { state: 'success' } }),
  ])
  expect(await shownOf(log, size)).toEqual({
    text: '\u001B[36;1mScript\u001B[0;m\na [MASKED] without a line end\n\u001B[36;1mAfter\u001B[0;m\none\nthe end\n',
    result: { state: 'success' },
  })
})

test('a helper that ends before the job is an error with what it said', async () => {
  const log = frame('work', 'begun\n')
  await expect(shownOf(log, 10, 'ERROR: no program\n')).rejects.toThrow(
    'The helper of the job ended before the job.\nERROR: no program',
  )
})
