import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../plan/test/cpu-time.ts'
import { problemsOf, told } from '../test/documents.ts'
import { ACCEPTED } from '../test/language-cases.ts'
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

test('four times the document costs no more than about four times as much, whatever is in it', () => {
  const kinds: ((n: number) => string)[] = [
    (n) =>
      `  p${n}:\n    type: parallel\n    timeout: 5m\n    steps:\n      a${n}: { image: x }\n      b${n}: { type: build, image_name: y }\n`,
    (n) => `  m${n}:\n    environment: [A=1]\n    matrix:\n      image: [x, y]\n      environment: [[B=1], [B=2]]\n`,
    (n) =>
      `  h${n}:\n    image: x\n    hooks:\n      on_success: [echo]\n      on_fail:\n        steps:\n          t: { image: y }\n`,
    (n) =>
      `  w${n}:\n    image: x\n    when:\n      steps:\n        - name: w${Math.max(0, n - 1)}\n          on: [success, pending]\n`,
  ]
  for (const kind of kinds) {
    const cost = (count: number): number => {
      const text = `version: 1\nmode: parallel\nsteps:\n${Array.from({ length: count }, (_, n) => kind(n)).join('')}`
      return Math.min(...[1, 2, 3].map(() => timed(text).ms))
    }
    cost(300)
    expect(cost(1_200) / cost(300)).toBeLessThan(9)
  }
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

test('a slip of the hand anywhere in a good document makes nothing throw', () => {
  const pieces = fc.constantFrom(
    '',
    ' ',
    '\n',
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '- ',
    "'",
    '"',
    '&a ',
    '*a',
    '<<: *a',
    '${{',
    '}}',
    'steps: ',
    '\t',
    '#',
  )
  fc.assert(
    fc.property(fc.constantFrom(...Object.values(ACCEPTED)), fc.nat(500), fc.nat(8), pieces, (text, at, length, piece) => {
      const slipped = text.slice(0, at) + piece + text.slice(at + length)
      const lines = slipped.split('\n').length
      for (const { line } of compile({ text: slipped, file: 'f' }).problems) expect(line).toBeLessThanOrEqual(lines)
    }),
    { numRuns: 800 },
  )
})

describe('what is made of a document stays bounded too', () => {
  const doc = (...lines: string[]): string => `version: 1\nsteps:\n${lines.map((line) => `  ${line}\n`).join('')}`
  const list = (count: number, item = 'x'): string => `[${Array.from({ length: count }, (_, n) => `${item}${n}`).join(',')}]`

  test('a matrix of more combinations than a build can have', () => {
    const dimensions = ['image', 'title', 'shell', 'cmd', 'entry_point', 'timeout', 'description', 'working_directory']
    const { problems, ms } = timed(doc(`a: { matrix: { ${dimensions.map((name) => `${name}: ${list(10)}`).join(', ')} } }`))
    expect(problems).toEqual(['3:16 error too-large this makes 100000000 steps; at most 1000 are allowed'])
    expect(ms).toBeLessThan(500)
  })

  test('a matrix whose steps would be too large together', () => {
    const commands = `[${'echo,'.repeat(20_000)}echo]`
    const { problems, ms } = timed(doc(`a: { commands: ${commands}, matrix: { image: ${list(1_000)} } }`))
    expect(problems.map((problem) => problem.replace(/^\d+:\d+ /, ''))).toEqual([
      'error too-large this makes 1000 steps that are too large together',
    ])
    expect(ms).toBeLessThan(3_000)
    const value = timed(doc(`a: { image: x, matrix: { commands: [[${'"'}${'y'.repeat(50_000)}${'"'}]], title: ${list(900)} } }`))
    expect(value.problems.join()).toMatch(/too large together/)
    expect(value.ms).toBeLessThan(1_500)
  })

  test('many matrices, one after the other', () => {
    const steps = Array.from({ length: 900 }, (_, n) => `s${n}: { matrix: { image: *l } }`)
    const { problems, ms } = timed(`indicators: [&l ${list(500)}]\n${doc(...steps)}`)
    expect(problems).toEqual(['1:1 error too-large the pipeline has more than 10000 steps'])
    expect(ms).toBeLessThan(3_000)
  })

  test('a matrix in a matrix, and matrices in parallel steps', () => {
    expect(problemsOf(doc('a: { image: x, matrix: { scale: [{ b: {} }], image: [y] } }'))).toEqual([
      '3:28 error not-allowed "scale" is not allowed inside "scale" or "matrix"',
    ])
    let inside = 'a: { matrix: { image: [x, y] } }'
    for (let depth = 0; depth < 30; depth += 1)
      inside = `p${depth}: { type: parallel, steps: { ${inside}, m${depth}: { matrix: { image: [x, y] } } } }`
    const { problems, ms } = timed(doc(inside))
    expect(problems).toEqual([])
    expect(ms).toBeLessThan(1_000)
  })

  test('parallel steps nested a thousand deep', () => {
    let inside = 'a: { image: x }'
    for (let depth = 0; depth < 1_000; depth += 1) inside = `p${depth}: { type: parallel, steps: { ${inside} } }`
    const { problems, ms } = timed(doc(inside))
    expect(problems[0]).toMatch(/too-deep/)
    expect(ms).toBeLessThan(1_500)
  })

  test('the same group again and again through aliases', () => {
    const groups = Array.from({ length: 900 }, (_, n) => `p${n}: *g`)
    const { problems, ms } = timed(
      `indicators: [&g { type: parallel, steps: { ${Array.from({ length: 150 }, (_, n) => `c${n}: { image: x }`).join(', ')} } }]\n${doc(...groups)}`,
    )
    expect(problems).toHaveLength(150)
    expect(problems[0]).toMatch(/duplicate-step/)
    expect(ms).toBeLessThan(3_000)
  })

  test('hooks of many steps on many steps', () => {
    const hook = `{ on_fail: { steps: { ${Array.from({ length: 150 }, (_, n) => `c${n}: { image: x }`).join(', ')} } } }`
    const steps = Array.from({ length: 900 }, (_, n) => `s${n}: { image: x, hooks: *h }`)
    const { problems, ms } = timed(`indicators: [&h ${hook}]\n${doc(...steps)}`)
    expect(problems).toEqual(['1:1 error too-large the pipeline has more than 10000 steps'])
    expect(ms).toBeLessThan(4_000)
  })

  test('hooks in hooks', () => {
    let hook = '[echo]'
    for (let depth = 0; depth < 40; depth += 1) hook = `{ image: x, hooks: { on_fail: ${hook} } }`
    const { problems, ms } = timed(doc(`a: { image: x, hooks: { on_fail: ${hook} } }`))
    expect(problems).toEqual(['3:48 error not-allowed "hooks" is not allowed inside a hook'])
    expect(ms).toBeLessThan(500)
  })

  test('thousands of wrong names beside thousands of names', () => {
    const steps = Array.from({ length: 3_000 }, (_, n) => `${`name_of_step_${n}`.padEnd(140, 'x')}: { image: x }`)
    const wrong = Array.from({ length: 1_200 }, (_, n) => {
      const name = `nome_of_step_${n}`.padEnd(140, 'x')
      return `w${n}: { image: "\${{steps.${name}}}", stage: ${'s'.repeat(140)} }`
    })
    const stages = Array.from({ length: 100 }, (_, n) => `${'t'.repeat(139)}${n}`)
    const { problems, ms } = timed(`stages: [${stages.join(',')}]\n${doc(...steps, ...wrong)}`)
    expect(problems).toHaveLength(500)
    expect(ms).toBeLessThan(5_000)
  })

  test('thousands of steps that ask about hundreds of others each', () => {
    const steps = Array.from({ length: 900 }, (_, n) => `s${n}: { image: x, when: { steps: *all } }`)
    const asked = Array.from({ length: 150 }, (_, n) => `{ name: s${n * 2 + 1} }`).join(',')
    const { problems, ms } = timed(`mode: parallel\nindicators: [&all [${asked}]]\n${doc(...steps)}`)
    expect(problems.length).toBeGreaterThan(0)
    expect(ms).toBeLessThan(4_000)
  })

  test('patterns and expressions that would run for ever', () => {
    for (const pattern of [
      '/(a+)+$/',
      '/(a|a)*b/',
      '/((a{1,100}){1,100}){1,100}/',
      `/${'(a*)*'.repeat(500)}/`,
      `/${'a?'.repeat(5_000)}/`,
    ]) {
      const text = doc(
        `a: { image: x, when: { branch: { only: ['${pattern}'] }, condition: { all: { m: "match('aaaaaaaaaaaaaaaaaaaaaaaaaaa!', '${pattern.slice(1, -1)}', false)" } } } }`,
      )
      expect([pattern, timed(text).ms < 1_500]).toEqual([pattern, true])
    }
    const deep = `${'('.repeat(5_000)}1${')'.repeat(5_000)}`
    for (const expression of [deep, '!'.repeat(11_000), '1 + '.repeat(2_900), 'a.'.repeat(5_000), "'a' + ".repeat(1_900)]) {
      const { ms } = timed(doc(`a: { image: x, when: { condition: { all: { m: "${expression}" } } } }`))
      expect([expression.slice(0, 10), ms < 1_000]).toEqual([expression.slice(0, 10), true])
    }
  })

  test('the same huge text again and again through aliases', () => {
    const { problems, ms } = timed(
      `indicators: [&t "${'x'.repeat(100_000)}"]\n${doc(`a: { image: x, commands: [${'*t,'.repeat(500)}] }`)}`,
    )
    expect(problems).toEqual(['1:1 error too-large the document is too large once its aliases are followed'])
    expect(ms).toBeLessThan(1_000)
  })

  test('many merges of a large mapping', () => {
    const base = `{ ${Array.from({ length: 5_000 }, (_, n) => `k${n}: 1`).join(', ')} }`
    const { problems, ms } = timed(`indicators: [&b ${base}, ${'{ <<: *b },'.repeat(900)}]\n${doc('a: { image: x }')}`)
    expect(problems.map((problem) => problem.split(' ')[2])).toContain('too-large')
    expect(ms).toBeLessThan(3_000)
  })

  test('names as long as the document', () => {
    const { problems, ms } = timed(
      doc(`? ${'n'.repeat(200_000)}\n  : { ${Array.from({ length: 400 }, (_, n) => `timeout${n}: 1`).join(', ')} }`),
    )
    expect(problems.every((problem) => problem.length < 1_200)).toBe(true)
    expect(ms).toBeLessThan(1_500)
  })
})
