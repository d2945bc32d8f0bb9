import { expect, test } from 'vitest'
import { describeManual } from './describe-manual.ts'
import { commands } from '../table.ts'

test('the manual page names every command, option and exit code', () => {
  const text = describeManual().replaceAll('\\-', '-')
  for (const { name, options } of commands) {
    expect(text).toContain(`.B windlass ${name}`)
    for (const { flags } of Object.values(options)) expect(text).toContain(`.B ${flags}\n`)
  }
  expect(text).toContain('.B 130\ninterrupted by Ctrl-C\n')
})

test('no line of a text is a request of roff', () => {
  const REQUESTS = /^\.(?:TH|SH|B|I|TP|PP|RS|RE)\b/
  const lines = describeManual().split('\n')
  expect(lines.filter((line) => /^[.']/.test(line) && !REQUESTS.test(line))).toEqual([])
})
