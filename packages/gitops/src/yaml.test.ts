import { expect, test } from 'vitest'
import { editYaml, toYaml } from './yaml.ts'

/** Texts that YAML 1.1 reads as booleans and numbers, and YAML 1.2 as texts. */
const WORDS = ['yes', 'no', 'on', 'off', 'y', 'n', 'Y', 'N', '0b1', '1_000', '1:30', '0777']

test.each(WORDS)('the text %s has quotes as name, label and value, so that readers of YAML 1.1 get a text', (word) => {
  const quoted = `"${word}"`
  expect(toYaml({ metadata: { name: word, labels: { [word]: word } }, list: [word] })).toBe(
    `metadata:\n  name: ${quoted}\n  labels:\n    ${quoted}: ${quoted}\nlist:\n  - ${quoted}\n`,
  )
  const edited = editYaml('metadata:\n  name: a # kept\n  labels: {}\n', [
    [['metadata', 'name'], word],
    [['metadata', 'labels', word], word],
    [['spec', word], { [word]: [word] }],
  ])
  expect(edited).toBe(
    `metadata:\n  name: ${quoted} # kept\n  labels: { ${quoted}: ${quoted} }\nspec:\n  ${quoted}:\n    ${quoted}:\n      - ${quoted}\n`,
  )
  const again = editYaml(edited ?? '', [[['metadata', 'labels', word], undefined]])
  expect(again).toContain('labels: {}')
})

test('an edit leaves other fields as they are in the file, also those that YAML 1.1 and 1.2 read differently', () => {
  const file = `a: yes
b: [ off, 'no' ]
mode: 0777
account: 012345678901
large: 12345678901234567890
real: 1e3
hex: 0x1F
none: ~
empty:
yes: &x { <<: 1 }
alias: *x
`
  expect(editYaml(file, [[['new'], 'x']])).toBe(`${file}new: x\n`)
})

test('an edit keeps the quotes of a text, and writes other values without them', () => {
  const file = "text: 'a'\nflag: 'true'\ncount: 1\n"
  expect(
    editYaml(file, [
      [['text'], 'b'],
      [['flag'], false],
      [['count'], '2'],
    ]),
  ).toBe(`text: 'b'\nflag: false\ncount: "2"\n`)
  expect(editYaml(file, [[['text', 'below'], 'x']])).toBeUndefined()
})
