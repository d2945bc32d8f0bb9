import { expect, test } from 'vitest'
import { growth, LINEAR } from '../../plan/test/cpu-time.ts'
import { sentences } from './faults.ts'

const CASES: readonly (readonly [parts: readonly (string | undefined)[], joined: string])[] = [
  [['no such host', 'Check the name.'], 'no such host. Check the name.'],
  [['It broke.', 'Mend it.'], 'It broke. Mend it.'],
  [['It broke. ', ' Mend it'], 'It broke. Mend it.'],
  [['Is it there?', 'Look!'], 'Is it there? Look!'],
  [['waiting…', 'Wait'], 'waiting… Wait.'],
  [['one'], 'one.'],
  [[], ''],
  [[undefined, '', '  ', ':'], ''],
  [['It broke.', undefined], 'It broke.'],
  // A part that ends with a colon continues in the next part. At the end the colon becomes a full stop.
  [['The daemon said:', 'no such host'], 'The daemon said: no such host.'],
  [['The daemon said: '], 'The daemon said.'],
  [['The daemon said:', ''], 'The daemon said.'],
  [['first;', 'second,'], 'first. second.'],
  // Code, paths and quotes at the end of a sentence are kept.
  [['Run `docker build .`', 'Then look'], 'Run `docker build .`. Then look.'],
  [['Set `a: b`'], 'Set `a: b`.'],
  [['There is no /codefresh/volume/app'], 'There is no /codefresh/volume/app.'],
  [['See https://example.com/a?b=c'], 'See https://example.com/a?b=c.'],
  [['unexpected "}"'], 'unexpected "}".'],
  [['It said "stop."', 'So it stopped'], 'It said "stop." So it stopped.'],
  [['It stopped (at last.)'], 'It stopped (at last.)'],
  [['It stopped (exit code 1)'], 'It stopped (exit code 1).'],
  [['Version 1.2'], 'Version 1.2.'],
  // Output of programs is kept as it is.
  [['git ended with:\nfatal: no such remote\n', 'Check the URL'], 'git ended with:\nfatal: no such remote\nCheck the URL.'],
  [['It ended', 'line 1\n  line 2', 'Look there'], 'It ended.\nline 1\n  line 2\nLook there.'],
]

for (const [parts, joined] of CASES)
  test(`${JSON.stringify(parts)} is joined to ${JSON.stringify(joined)}`, () => {
    expect(sentences(...parts)).toBe(joined)
  })

test('a text that is already joined does not change', () => {
  for (const [, joined] of CASES) expect(sentences(joined)).toBe(joined)
})

const LONG: readonly (readonly [what: string, parts: (size: number) => string[]])[] = [
  ['blanks inside a text', (size) => [`a${' '.repeat(size)}b`]],
  ['colons inside a text', (size) => [`a${':'.repeat(size)}b`]],
  ['blanks behind a text', (size) => [`a${' '.repeat(size)}:`]],
  ['brackets behind full stops', (size) => [`a${'.)'.repeat(size)}b`]],
  ['many parts', (size) => Array.from({ length: size }, () => 'It broke')],
]

for (const [what, parts] of LONG)
  test(`takes linear time for ${what}`, () => {
    expect(growth(2_000, (size) => sentences(...parts(size)))).toBeLessThan(LINEAR)
  })
