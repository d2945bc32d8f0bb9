import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { growth, LINEAR } from '../../plan/test/cpu-time.ts'
import { problemsOf, formatProblems } from '../test/documents.ts'
import { ACCEPTED } from '../test/language-cases.ts'
import { compile } from './compile/compile.ts'
import { parseYaml } from './syntax/parse.ts'
import { readPipelineDocument } from './compile/pipeline-document.ts'
import { hasAliasOrSpelling } from './syntax/read-tokens.ts'
import { sizeOf, toValue, type TreeNode } from './syntax/tree.ts'

describe('hostile documents give a clear problem in linear time', () => {
  test('rejects a document larger than 1 MiB before parsing', () => {
    expect(problemsOf(`a: ${'x'.repeat(2_000_000)}`)).toEqual(['1:1 error too-large the document is larger than 1 MiB'])
  })

  test('rejects deep nesting', () => {
    const kinds = [
      (n: number) => '['.repeat(n),
      (n: number) => '{a: '.repeat(n),
      (n: number) => `a: ${'['.repeat(n)}${']'.repeat(n)}`,
    ]
    for (const kind of kinds) {
      expect(problemsOf(kind(20_000))[0]).toMatch(/too-deep the document is nested more than 100 levels deep/)
      expect(growth(2_500, (n) => problemsOf(kind(n)))).toBeLessThan(LINEAR)
    }
    const block = Array.from({ length: 200 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')
    expect(problemsOf(block)[0]).toMatch(/too-deep/)
  })

  test('rejects aliases that multiply each other', () => {
    const levels = Array.from(
      { length: 9 },
      (_, n) => `l${n + 1}: &l${n + 1} [${Array.from({ length: 10 }, () => `*l${n}`).join(',')}]`,
    )
    // Ten billion values if all aliases were expanded.
    const text = `l0: &l0 [x,x,x,x,x,x,x,x,x,x]\n${levels.join('\n')}\n`
    expect(problemsOf(text)).toEqual(['1:1 error too-large the document is too large after its aliases are expanded'])
  })

  test('rejects too many, unknown and circular aliases', () => {
    expect(problemsOf(`a: &a x\nb: [${'*a,'.repeat(1_001)}]\n`)[0]).toMatch(/yaml-alias the document has more than 1000 aliases/)
    expect(problemsOf('a: *nope\n')[0]).toMatch(/yaml-alias/)
    expect(problemsOf('a: &a [*a]\n')[0]).toMatch(/yaml-alias the alias "\*a" refers to a node that contains it/)
    expect(problemsOf('a: &a\n  <<: *a\n')[0]).toMatch(/yaml-alias/)
  })

  test('rejects custom tags and tags of the host language', () => {
    for (const tag of ['!!js/function "x"', '!mine x', '!!binary aGk=', '!!set {a}'])
      expect(problemsOf(`a: ${tag}\n`)[0]).toMatch(/error yaml-tag/)
    expect(problemsOf('a: !!str 5\nb: !!int "5"\n').some((problem) => problem.includes('yaml-tag'))).toBe(false)
  })

  test('rejects keys of Object.prototype', () => {
    for (const key of ['__proto__', 'constructor', 'prototype']) {
      expect(problemsOf(`version: 1\nsteps:\n  ${key}: { image: x }\n`)).toEqual([
        `3:3 error forbidden-key "${key}" is not allowed as a key`,
      ])
    }
    const { root } = parseYaml({ text: 'toString: 1\nhasOwnProperty: 2\n', file: '' })
    const value = root === undefined ? undefined : toValue(root)
    expect(Object.getPrototypeOf(value)).toBe(null)
  })

  test('rejects several documents, duplicate keys and keys that are not strings', () => {
    expect(problemsOf('a: 1\n---\nb: 2\n')[0]).toMatch(/^2:1 error several-documents/)
    expect(problemsOf('a: 1\na: 2\n')[0]).toBe('2:1 error duplicate-key duplicate key "a"')
    expect(problemsOf('[1]: 2\n')[0]).toMatch(/wrong-type a key must be a string/)
    expect(problemsOf('')).toEqual(['1:1 error wrong-type the document is empty'])
    expect(problemsOf('just text')).toEqual(['1:1 error wrong-type the document must be an object'])
  })

  test('handles thousands of keys and problems', () => {
    const many = (count: number): string =>
      `version: 1\nsteps: {}\n${Array.from({ length: count }, (_, n) => `key${n}: 1`).join('\n')}\n`
    expect(problemsOf(many(10_000))).toHaveLength(500)
    expect(growth(500, (n) => problemsOf(many(n)))).toBeLessThan(LINEAR)
  })

  test('handles one character repeated to the limit', () => {
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
    for (const sign of signs)
      expect(
        growth(1_000, (n) => problemsOf(sign.repeat(n))),
        sign,
      ).toBeLessThan(LINEAR)
  })

  test('handles long texts that look like references, hosts, patterns or indentation', () => {
    for (const part of ['${{', 'a', 'a.', '- >- ', ' ']) {
      const document = (length: number): string => {
        const text = part.repeat(length / part.length)
        return `version: 1\nsteps:\n  a:\n    image: "${text}"\n    timeout: "${text}"\n    working_directory: "${text}"\n    volumes: ["${text}"]\n`
      }
      expect(
        growth(20_000, (length) => problemsOf(document(length))),
        part,
      ).toBeLessThan(LINEAR)
    }
  })
})

test('compiles ten thousand lines', () => {
  const step = (n: number): string =>
    `  step_${n}:\n    title: Step ${n}\n    image: node:24\n    commands:\n      - echo "\${{CF_BRANCH}}"\n      - npm run thing\n    environment:\n      - A=${n}\n    when:\n      branch: { only: [main] }\n`
  const text = `version: '1.0'\nsteps:\n${Array.from({ length: 1_000 }, (_, n) => step(n)).join('')}`
  expect(text.split('\n').length).toBeGreaterThan(10_000)
  const { plan, problems } = compile({ text, file: 'long.yml' })
  expect(formatProblems(problems)).toEqual([])
  expect(plan?.steps).toHaveLength(1_000)
})

test('a document of eight times the size costs at most about eight times as much', () => {
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
    const document = (count: number): string =>
      `version: 1\nmode: parallel\nsteps:\n${Array.from({ length: count }, (_, n) => kind(n)).join('')}`
    expect(growth(75, (count) => problemsOf(document(count)))).toBeLessThan(LINEAR)
  }
})

test('no text makes the compiler throw, and every problem is inside the text', () => {
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

test('a document without aliases and spelled keys has no more nodes than characters, and only words of its text in keys', () => {
  const signs = [
    '{',
    '}',
    '[',
    ']',
    ', ',
    ': ',
    ':',
    '\n',
    '\n  ',
    '- ',
    '? ',
    '&',
    '&a ',
    '&&a ',
    '*a',
    '*&a',
    '<<',
    '"',
    "'",
    '!!seq ',
    '|\n',
    '\\',
    '\\x61',
  ]
  const closed = [
    '"a":',
    "'b': ",
    '&a [x,x]',
    '{"a":&a [x,x],"b":[*a,*a]}',
    'a: &&a [x]\n',
    'b: [*&a,*&a]\n',
    '"\\x61": 1\n',
    '{<<: *a}',
  ]
  const text = fc
    .array(fc.constantFrom(...signs, ...closed, ...closed, ...closed), { maxLength: 8 })
    .map((parts) => parts.join(''))
  const keysIn = (node: TreeNode): string[] =>
    node.kind === 'scalar'
      ? []
      : node.kind === 'list'
        ? node.items.flatMap(keysIn)
        : [...node.entries.values()].flatMap(({ key, value }) => [key, ...keysIn(value)])
  fc.assert(
    fc.property(text, (source) => {
      const { root } = parseYaml({ text: source, file: 'f' })
      if (root === undefined || hasAliasOrSpelling(source)) return
      expect(sizeOf(root).nodes).toBeLessThanOrEqual(source.length + 1)
      for (const word of keysIn(root).flatMap((key) => key.match(/\w+/g) ?? [])) expect(source).toContain(word)
    }),
    { numRuns: 1_500 },
  )
})

test('a typo anywhere in a valid document never makes the compiler throw', () => {
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

describe('generated steps are limited too', () => {
  const doc = (...lines: string[]): string => `version: 1\nsteps:\n${lines.map((line) => `  ${line}\n`).join('')}`
  const list = (count: number, item = 'x'): string => `[${Array.from({ length: count }, (_, n) => `${item}${n}`).join(',')}]`

  test('rejects a matrix with too many combinations', () => {
    const dimensions = ['image', 'title', 'shell', 'cmd', 'entry_point', 'timeout', 'description', 'working_directory']
    const problems = problemsOf(doc(`a: { matrix: { ${dimensions.map((name) => `${name}: ${list(10)}`).join(', ')} } }`))
    expect(problems).toEqual(['3:16 error too-large this creates 100000000 steps; at most 1000 are allowed'])
  })

  test('rejects a matrix whose steps are too large in total', () => {
    const commands = `[${'echo,'.repeat(20_000)}echo]`
    const problems = problemsOf(doc(`a: { commands: ${commands}, matrix: { image: ${list(1_000)} } }`))
    expect(problems.map((problem) => problem.replace(/^\d+:\d+ /, ''))).toEqual([
      'error too-large this creates 1000 steps that are too large in total',
    ])
    const values = problemsOf(
      doc(`a: { image: x, matrix: { commands: [[${'"'}${'y'.repeat(50_000)}${'"'}]], title: ${list(900)} } }`),
    )
    expect(values.join()).toMatch(/too large in total/)
  })

  test('limits the sum of many matrices', () => {
    const steps = Array.from({ length: 900 }, (_, n) => `s${n}: { matrix: { image: *l } }`)
    const problems = problemsOf(`indicators: [&l ${list(500)}]\n${doc(...steps)}`)
    expect(problems).toEqual(['1:1 error too-large the pipeline has more than 10000 steps'])
  })

  test('rejects a matrix in a matrix and limits matrices in parallel steps', () => {
    expect(problemsOf(doc('a: { image: x, matrix: { scale: [{ b: {} }], image: [y] } }'))).toEqual([
      '3:28 error not-allowed "scale" is not allowed inside "scale" or "matrix"',
    ])
    let inside = 'a: { matrix: { image: [x, y] } }'
    for (let depth = 0; depth < 30; depth += 1)
      inside = `p${depth}: { type: parallel, steps: { ${inside}, m${depth}: { matrix: { image: [x, y] } } } }`
    const problems = problemsOf(doc(inside))
    expect(problems).toEqual([])
  })

  test('rejects parallel steps nested a thousand levels deep', () => {
    let inside = 'a: { image: x }'
    for (let depth = 0; depth < 1_000; depth += 1) inside = `p${depth}: { type: parallel, steps: { ${inside} } }`
    const problems = problemsOf(doc(inside))
    expect(problems[0]).toMatch(/too-deep/)
  })

  test('limits a group that aliases repeat', () => {
    const groups = Array.from({ length: 900 }, (_, n) => `p${n}: *g`)
    const problems = problemsOf(
      `indicators: [&g { type: parallel, steps: { ${Array.from({ length: 150 }, (_, n) => `c${n}: { image: x }`).join(', ')} } }]\n${doc(...groups)}`,
    )
    expect(problems).toHaveLength(150)
    expect(problems[0]).toMatch(/duplicate-step/)
  })

  test('limits hooks of many steps on many steps', () => {
    const hook = `{ on_fail: { steps: { ${Array.from({ length: 150 }, (_, n) => `c${n}: { image: x }`).join(', ')} } } }`
    const steps = Array.from({ length: 900 }, (_, n) => `s${n}: { image: x, hooks: *h }`)
    const problems = problemsOf(`indicators: [&h ${hook}]\n${doc(...steps)}`)
    expect(problems).toEqual(['1:1 error too-large the pipeline has more than 10000 steps'])
  })

  test('rejects hooks in hooks', () => {
    let hook = '[echo]'
    for (let depth = 0; depth < 40; depth += 1) hook = `{ image: x, hooks: { on_fail: ${hook} } }`
    const problems = problemsOf(doc(`a: { image: x, hooks: { on_fail: ${hook} } }`))
    expect(problems).toEqual(['3:48 error not-allowed "hooks" is not allowed inside a hook'])
  })

  test('handles thousands of wrong names and thousands of names', () => {
    const steps = Array.from({ length: 3_000 }, (_, n) => `${`name_of_step_${n}`.padEnd(140, 'x')}: { image: x }`)
    const wrong = Array.from({ length: 1_200 }, (_, n) => {
      const name = `nome_of_step_${n}`.padEnd(140, 'x')
      return `w${n}: { image: "\${{steps.${name}}}", stage: ${'s'.repeat(140)} }`
    })
    const stages = Array.from({ length: 100 }, (_, n) => `${'t'.repeat(139)}${n}`)
    const problems = problemsOf(`stages: [${stages.join(',')}]\n${doc(...steps, ...wrong)}`)
    expect(problems).toHaveLength(500)
  })

  test('handles thousands of steps with conditions on hundreds of others each', () => {
    const steps = Array.from({ length: 900 }, (_, n) => `s${n}: { image: x, when: { steps: *all } }`)
    const asked = Array.from({ length: 150 }, (_, n) => `{ name: s${n * 2 + 1} }`).join(',')
    const problems = problemsOf(`mode: parallel\nindicators: [&all [${asked}]]\n${doc(...steps)}`)
    expect(problems.length).toBeGreaterThan(0)
  })

  test('limits patterns and expressions that would never end', () => {
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
      expect(problemsOf(text).length, pattern).toBeLessThanOrEqual(2)
    }
    const deep = `${'('.repeat(5_000)}1${')'.repeat(5_000)}`
    for (const expression of [deep, '!'.repeat(11_000), '1 + '.repeat(2_900), 'a.'.repeat(5_000), "'a' + ".repeat(1_900)]) {
      const problems = problemsOf(doc(`a: { image: x, when: { condition: { all: { m: "${expression}" } } } }`))
      expect(problems, expression.slice(0, 10)).toHaveLength(1)
    }
  })

  test('limits a huge text that aliases repeat', () => {
    const problems = problemsOf(
      `indicators: [&t "${'x'.repeat(100_000)}"]\n${doc(`a: { image: x, commands: [${'*t,'.repeat(500)}] }`)}`,
    )
    expect(problems).toEqual(['1:1 error too-large the document is too large after its aliases are expanded'])
  })

  test('limits a huge key that aliases repeat', () => {
    const problems = problemsOf(
      `indicators: [&t "${'x'.repeat(100_000)}", ${'{ *t : 1 },'.repeat(500)}]\n${doc('a: { image: x }')}`,
    )
    expect(problems).toEqual(['1:1 error too-large the document is too large after its aliases are expanded'])
  })

  test('limits many merges of a large mapping', () => {
    const base = `{ ${Array.from({ length: 5_000 }, (_, n) => `k${n}: 1`).join(', ')} }`
    const problems = problemsOf(`indicators: [&b ${base}, ${'{ <<: *b },'.repeat(900)}]\n${doc('a: { image: x }')}`)
    expect(problems.map((problem) => problem.split(' ')[2])).toContain('too-large')
  })

  test('handles names as long as the document', () => {
    const problems = problemsOf(
      doc(`? ${'n'.repeat(200_000)}\n  : { ${Array.from({ length: 400 }, (_, n) => `timeout${n}: 1`).join(', ')} }`),
    )
    expect(problems.every((problem) => problem.length < 1_200)).toBe(true)
  })
})
