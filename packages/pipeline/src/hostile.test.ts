import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../plan/test/cpu-time.ts'
import { problemsOf, told } from '../test/documents.ts'
import { compile } from './compile.ts'
import { parseYaml } from './parse.ts'
import { readPipelineDocument } from './pipeline-document.ts'
import { toValue } from './tree.ts'

function timed(text: string): { problems: string[]; ms: number } {
  let problems: string[] = []
  const ms = cpuMs(() => {
    problems = problemsOf(text)
  })
  return { problems, ms }
}

describe('hostile documents end quickly with a clear problem', () => {
  test('a document larger than 1 MiB is refused before it is read', () => {
    const { problems, ms } = timed(`a: ${'x'.repeat(2_000_000)}`)
    expect(problems).toEqual(['1:1 error too-large the document is larger than 1 MiB'])
    expect(ms).toBeLessThan(500)
  })

  test('deep nesting', () => {
    for (const text of ['['.repeat(20_000), `${'{a: '.repeat(20_000)}`, `a: ${'['.repeat(150)}${']'.repeat(150)}`]) {
      const { problems, ms } = timed(text)
      expect(problems[0]).toMatch(/too-deep the document is nested more than 100 levels deep/)
      expect(ms).toBeLessThan(2_000)
    }
    const block = Array.from({ length: 200 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')
    expect(timed(block).problems[0]).toMatch(/too-deep/)
  })

  test('aliases that multiply each other', () => {
    const levels = Array.from(
      { length: 9 },
      (_, n) => `l${n + 1}: &l${n + 1} [${Array.from({ length: 10 }, () => `*l${n}`).join(',')}]`,
    )
    const { problems, ms } = timed(`l0: &l0 [x,x,x,x,x,x,x,x,x,x]\n${levels.join('\n')}\n`)
    expect(problems).toEqual(['1:1 error too-large the document is too large once its aliases are followed'])
    expect(ms).toBeLessThan(500)
  })

  test('too many, unknown and circular aliases', () => {
    expect(problemsOf(`a: &a x\nb: [${'*a,'.repeat(1_001)}]\n`)[0]).toMatch(/yaml-alias the document has more than 1000 aliases/)
    expect(problemsOf('a: *nope\n')[0]).toMatch(/yaml-alias/)
    expect(problemsOf('a: &a [*a]\n')[0]).toMatch(/yaml-alias the alias "\*a" refers to what it is inside of/)
    expect(problemsOf('a: &a\n  <<: *a\n')[0]).toMatch(/yaml-alias/)
  })

  test('tags of one’s own and of the host language', () => {
    for (const tag of ['!!js/function "x"', '!mine x', '!!binary aGk=', '!!set {a}'])
      expect(problemsOf(`a: ${tag}\n`)[0]).toMatch(/error yaml-tag/)
    expect(problemsOf('a: !!str 5\nb: !!int "5"\n').some((problem) => problem.includes('yaml-tag'))).toBe(false)
  })

  test('keys that reach into objects', () => {
    for (const key of ['__proto__', 'constructor', 'prototype']) {
      expect(problemsOf(`version: 1\nsteps:\n  ${key}: { image: x }\n`)).toEqual([
        `3:3 error forbidden-key "${key}" is not allowed as a key`,
      ])
    }
    const { root } = parseYaml({ text: 'toString: 1\nhasOwnProperty: 2\n', file: '' })
    const value = root === undefined ? undefined : toValue(root)
    expect(Object.getPrototypeOf(value)).toBe(null)
  })

  test('several documents, several equal keys, keys that are no texts', () => {
    expect(problemsOf('a: 1\n---\nb: 2\n')[0]).toMatch(/^2:1 error several-documents/)
    expect(problemsOf('a: 1\na: 2\n')[0]).toBe('2:1 error duplicate-key "a" stands twice in this mapping')
    expect(problemsOf('[1]: 2\n')[0]).toMatch(/wrong-type a key must be a text/)
    expect(problemsOf('')).toEqual(['1:1 error wrong-type the document is empty'])
    expect(problemsOf('just text')).toEqual(['1:1 error wrong-type the document must be an object'])
  })

  test('thousands of keys and of problems', () => {
    const many = `version: 1\nsteps: {}\n${Array.from({ length: 10_000 }, (_, n) => `key${n}: 1`).join('\n')}\n`
    const { problems, ms } = timed(many)
    expect(problems).toHaveLength(500)
    expect(ms).toBeLessThan(3_000)
  })

  test('one sign repeated for ever', () => {
    const signs = [
      '{},',
      '[]',
      '"',
      "'",
      '? ',
      '- ',
      'a: ',
      '&a ',
      '!a ',
      '---\n',
      '-\n',
      'a:\n',
      '%TAG ! x\n',
      '# x\n',
      '? a\n: b\n',
      'pct: a "b"\n',
      '\t',
      '\r',
      '{${{a',
    ]
    for (const sign of signs) expect([sign, timed(sign.repeat(4_000)).ms < 1_500]).toEqual([sign, true])
  })

  test('long texts that look like references, hosts, patterns or indentation', () => {
    const texts = ['${{'.repeat(100_000), 'a'.repeat(300_000), 'a.'.repeat(100_000), '- >- '.repeat(50_000), ' '.repeat(300_000)]
    for (const text of texts) {
      const { ms } = timed(
        `version: 1\nsteps:\n  a:\n    image: "${text}"\n    timeout: "${text}"\n    working_directory: "${text}"\n    volumes: ["${text}"]\n`.slice(
          0,
          1_000_000,
        ),
      )
      expect(ms).toBeLessThan(1_500)
    }
  })
})

test('ten thousand lines compile in linear time', () => {
  const step = (n: number): string =>
    `  step_${n}:\n    title: Step ${n}\n    image: node:24\n    commands:\n      - echo "\${{CF_BRANCH}}"\n      - npm run thing\n    environment:\n      - A=${n}\n    when:\n      branch: { only: [main] }\n`
  const text = `version: '1.0'\nsteps:\n${Array.from({ length: 1_000 }, (_, n) => step(n)).join('')}`
  expect(text.split('\n').length).toBeGreaterThan(10_000)
  compile({ text, file: 'warm.yml' })
  const ms = cpuMs(() => {
    const { plan, problems } = compile({ text, file: 'long.yml' })
    expect(told(problems)).toEqual([])
    expect(plan?.steps).toHaveLength(1_000)
  })
  expect(ms).toBeLessThan(600)
})

test('no text makes the compiler throw, and every problem stands inside the text', () => {
  const piece = fc.constantFrom(
    'version: 1\n',
    'steps:\n',
    '  a:\n',
    '    image: x\n',
    '    type: build\n',
    '    when:\n',
    '      steps: [{name: a}]\n',
    '- ',
    '{',
    '}',
    '[',
    ']',
    ': ',
    '\n',
    '  ',
    '\t',
    '&a ',
    '*a ',
    '<<: ',
    '|-\n',
    '"',
    "'",
    '!!str ',
    '# ',
    '? ',
    'x',
    '${{a}}',
    '%YAML 1.1\n',
    '---\n',
  )
  const text = fc
    .array(fc.oneof({ weight: 8, arbitrary: piece }, { weight: 1, arbitrary: fc.string({ maxLength: 4 }) }), { maxLength: 25 })
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, (source) => {
      const lines = source.split('\n').length
      for (const problem of [
        ...compile({ text: source, file: 'f' }).problems,
        ...readPipelineDocument({ text: source, file: 'f' }).problems,
      ]) {
        expect(problem.line).toBeGreaterThanOrEqual(1)
        expect(problem.line).toBeLessThanOrEqual(lines)
        expect(problem.column).toBeGreaterThanOrEqual(1)
      }
    }),
    { numRuns: 1_500 },
  )
})
