import { expect, test } from 'vitest'
import { textLine } from './log.ts'

test('the text form has the time, the level, the message and the fields of a JSON line', () => {
  const line = { level: 40, time: 0, name: 'gitlab-runner', job: 7, why: 'two words', err: { type: 'Error', message: 'broken' } }
  expect(textLine(`${JSON.stringify({ ...line, msg: 'the job cannot run' })}\n`)).toBe(
    'time=1970-01-01T00:00:00.000Z level=warn msg="the job cannot run" name=gitlab-runner job=7 why="two words" err=broken\n',
  )
})

test('the text form keeps a value on one line', () => {
  expect(textLine('{"level":30,"time":0,"msg":"a","value":"one\\ntwo","list":[1]}')).toBe(
    'time=1970-01-01T00:00:00.000Z level=info msg=a value="one\\ntwo" list="[1]"\n',
  )
  expect(textLine('no JSON\n')).toBe('no JSON\n')
})
