import { describe, expect, test } from 'vitest'
import { compile } from '../compile/compile.ts'
import { SourceText } from '../syntax/source.ts'
import { formatLint, formatMessages, formatTables, formatValid } from './formats.ts'
import { stepOf, toCodefreshProblem } from './codefresh-problem.ts'
import { stepTypes } from './step-types.ts'
import { wrap } from './text-table.ts'

const text = `version: '1.0'
mode: serial
steps:
  docker_push:
    image: x
    timeout: 5 days
  push:
    type: push
    candidate: a
    imag_name: B
  image:
    type: build
    image_name: Me/App
    description: a
    tag: 1.0
`
const source = { text, file: 'codefresh.yml' }
const { problems } = compile(source)
const options = { docsUrl: 'https://docs.example.com', types: stepTypes(source) }

describe('the formats of the Codefresh validator (P172)', () => {
  test('message: one line per error', () => {
    expect(formatMessages(problems)).toMatchInlineSnapshot(`
      ""mode" must be one of [sequential, parallel]. Current value: serial
      "imag_name" is not allowed. Did you mean "image_name"?
      "tag" must be a string. Current value: 1.0
      "
    `)
  })

  test('printify: a table for each error', () => {
    expect(formatTables(problems.slice(-1), options)).toMatchInlineSnapshot(`
      "┌────────────────────┬────────────────────────────────────────────────────────────────────────────────────────────────────┐
      │ Message            │ "tag" must be a string. Current value: 1.0                                                         │
      ├────────────────────┼────────────────────────────────────────────────────────────────────────────────────────────────────┤
      │ Error Type         │ Validation                                                                                         │
      ├────────────────────┼────────────────────────────────────────────────────────────────────────────────────────────────────┤
      │ Error Level        │ step                                                                                               │
      ├────────────────────┼────────────────────────────────────────────────────────────────────────────────────────────────────┤
      │ Step Name          │ image                                                                                              │
      ├────────────────────┼────────────────────────────────────────────────────────────────────────────────────────────────────┤
      │ Documentation Link │ https://docs.example.com/guides/steps/build.md                                                     │
      ├────────────────────┼────────────────────────────────────────────────────────────────────────────────────────────────────┤
      │ Action Items       │ Put it in quotes: "1.0".                                                                           │
      ├────────────────────┼────────────────────────────────────────────────────────────────────────────────────────────────────┤
      │ Error Lines        │ 15                                                                                                 │
      └────────────────────┴────────────────────────────────────────────────────────────────────────────────────────────────────┘
      "
    `)
    expect(formatTables(problems.slice(-1), { colour: true })).toContain('\u001B[31m"tag" must be a string')
  })

  test('lint: errors, warnings, a summary and links', () => {
    const lint = formatLint(problems, options)
    expect(lint.message).toMatchInlineSnapshot(`
      "Yaml validation errors:
      2     error      "mode" must be one of [sequential, parallel]. Current value: serial
      10    error      "imag_name" is not allowed. Did you mean "image_name"?
      15    error      "tag" must be a string. Current value: 1.0                                       Put it in quotes: "1.0".
      "
    `)
    expect(lint.warningMessage).toMatchInlineSnapshot(`
      "Yaml validation warnings:
      6     warning    "timeout" must be a number followed by s, m or h. Current value: 5 days          The value is ignored. Use a duration such as "90s", "10m" or "1.5h".
      13    warning    "image_name" must be lower case. Current value: Me/App                           The name is converted to lower case.
      "
    `)
    expect(lint.summarize).toMatchInlineSnapshot(`"✖ 5 problems (3 errors, 2 warnings)"`)
    expect(lint.documentationLinks).toMatchInlineSnapshot(`
      "Visit https://docs.example.com/guides/steps/freestyle.md for steps documentation
      Visit https://docs.example.com/guides/steps/build.md for image_name documentation
      Visit https://docs.example.com for workflow documentation
      Visit https://docs.example.com/guides/steps/push.md for steps documentation
      Visit https://docs.example.com/guides/steps/build.md for steps documentation
      "
    `)
    expect(
      formatLint(
        problems.filter(({ code }) => code === 'unknown-key'),
        { codes: true },
      ).message,
    ).toBe('Yaml validation errors:\n10    error      "imag_name" is not allowed. Did you mean "image_name"? [unknown-key]\n')
    expect(formatLint([])).toEqual({ message: '', summarize: '', documentationLinks: '' })
    const [warning] = problems.filter(({ severity }) => severity === 'warning')
    const only = formatLint(warning === undefined ? [] : [warning], { colour: true })
    expect(only.summarize).toBe('\u001B[33m✖ 1 problem (0 errors, 1 warning)\u001B[39m')
    expect(only.warningMessage).toContain('\u001B[33mwarning\u001B[39m')
    expect(formatValid(false)).toBe('Yaml is valid!')
  })

  test('the shape of a Codefresh problem, with real lines or those of the Codefresh validator', () => {
    const [first] = problems
    const last = problems.at(-1)
    if (first === undefined || last === undefined) throw new Error('no problems')
    expect(toCodefreshProblem(first)).toEqual({
      message: '"mode" must be one of [sequential, parallel]. Current value: serial',
      type: 'Validation',
      path: 'workflow',
      context: { key: 'mode' },
      level: 'workflow',
      lines: 2,
    })
    expect(toCodefreshProblem(last, options)).toEqual({
      message: '"tag" must be a string. Current value: 1.0',
      type: 'Validation',
      path: 'steps',
      context: { key: 'tag' },
      level: 'step',
      stepName: 'image',
      docsLink: 'https://docs.example.com/guides/steps/build.md',
      actionItems: 'Put it in quotes: "1.0".',
      lines: 15,
    })
    const its = { codefreshLines: new SourceText(text, '') }
    expect(toCodefreshProblem(first, its).lines).toBe(0)
    const wrong = problems.find(({ code }) => code === 'unknown-key')
    expect(wrong === undefined ? undefined : toCodefreshProblem(wrong, its)).toMatchObject({
      stepName: 'push',
      lines: 10,
      suggestion: { from: 'imag_name', to: 'image_name' },
    })
    const folded = compile({
      text: "version: '1.0'\nsteps:\n  a:\n    image: x\n    commands:\n    - >-\n      one\n        two\n",
      file: '',
    })
    expect(folded.problems.map((problem) => toCodefreshProblem(problem))).toMatchObject([
      { type: 'Warning', path: 'indention', code: 500, lines: 8 },
    ])
  })

  test('the key of a problem is the last part of its path, an index, or a reference including its dots', () => {
    const [some] = problems
    if (some === undefined) throw new Error('no problems')
    const keyOf = (path: string): string => toCodefreshProblem({ ...some, path }).context.key
    expect(keyOf('steps.a.tags[0]')).toBe('0')
    expect(keyOf('steps.a.metadata.set[0].${{b.imageId}}')).toBe('${{b.imageId}}')
    expect(keyOf('steps.a.metadata.set[0].${{b.imageId}}.A')).toBe('A')
    expect(keyOf('')).toBe('')
  })

  test('the step of a problem is the innermost one of its path', () => {
    expect(stepOf('mode')).toBeUndefined()
    expect(stepOf('steps.a.when.steps')).toBe('a')
    expect(stepOf('steps.a.steps.b.image')).toBe('b')
    expect(stepOf('spec.steps.a.hooks.on_fail.steps.c.image')).toBe('c')
    expect(stepOf('hooks.on_finish.exec')).toBeUndefined()
  })
})

test('wraps text at words and cuts longer words', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
  expect(wrap('abcdefghij k', 4)).toEqual(['abcd', 'efgh', 'ij k'])
  expect(wrap('', 4)).toEqual([''])
})
