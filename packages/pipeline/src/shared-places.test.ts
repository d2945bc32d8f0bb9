/** Aliases and generated steps lead to one place of a document many times. Its expensive checks are made once. */
import { describe, expect, test } from 'vitest'
import { callCounts } from '../../plan/test/call-counts.ts'
import { problemsOf } from '../test/documents.ts'
import { compile } from './compile/compile.ts'
import type { CompileOptions } from './compile/compile.ts'
import type { AccountContext } from './context/account.ts'
import { catalogOf } from './typed/catalog.ts'

/** Returns different words without a similar field. */
function words(count: number, length: number): string[] {
  return Array.from({ length: count }, (_, n) => (n + 1_000).toString(36).padEnd(length, 'qzxjkvwy'))
}

/** Returns a document with `count` steps that are aliases of one, and a step `build_the_app`. */
function repeated(count: number, step: string, root = ''): string {
  const steps = Array.from({ length: count }, (_, n) => `s${n}: *step`)
  return `version: 1\n${root}indicators: [&step ${step}]\nsteps: { build_the_app: { image: x }, ${steps.join(', ')} }\n`
}

async function comparisons(text: string, options: CompileOptions = {}): Promise<number> {
  const counts = await callCounts(['editDistance'], () => compile({ text, file: 'f' }, options))
  return counts['editDistance'] ?? 0
}

const account: AccountContext = {
  autoPush: true,
  disablePush: false,
  registries: words(100, 20).map((name) => ({ name, domain: `${name}.example.com`, isDefault: false })),
}

const wrong = words(50, 13)
const fields = wrong.map((name) => `${name}: 1`).join(', ')
const stepTypes = catalogOf(words(200, 40).map((name) => ({ name, version: '1.0.0', text: '' })))

describe('compares each misspelled name once, however many steps repeat it', () => {
  test.each<[what: string, step: string, root?: string, options?: CompileOptions]>([
    ['fields of a type that accepts any field', `{ image: x, ${fields} }`],
    ['fields of a type that accepts its own', `{ type: push, candidate: x, ${fields} }`],
    ['fields inside a field', `{ image: x, retry: { ${fields} } }`],
    ['words of a list', `{ image: x, when: { steps: [{ name: build_the_app, on: [${words(50, 8).join(', ')}] }] } }`],
    ['a stage', `{ image: x, stage: ${'r'.repeat(40)} }`, `stages: [${words(80, 40).join(', ')}]\n`],
    [
      'services',
      `{ image: x, services: [${wrong.join(', ')}] }`,
      'services: { name: qzxjkvwyqzxjkv, composition: { a: { image: x } } }\n',
    ],
    ['services of a step that ignores them', `{ type: parallel, steps: {}, services: { composition: {}, ${fields} } }`],
    ['registries', `{ type: build, image_name: x, registry_contexts: [${words(30, 21).join(', ')}] }`, '', { account }],
    ['a step type', `{ type: ${'r'.repeat(40)}, arguments: {} }`, '', { stepTypes }],
    ['references to steps', `{ image: "${wrong.map((name) => `\${{steps.${name}.a}}`).join('')}" }`],
  ])('%s', async (_, step, root, options) => {
    const one = await comparisons(repeated(1, step, root), options)
    expect(one).toBeGreaterThan(0)
    expect(await comparisons(repeated(9, step, root), options)).toBe(one)
  })

  test('steps of a matrix', async () => {
    const matrix = (count: number): string =>
      `version: 1\nsteps: { a: { image: x, ${fields}, matrix: { title: [${words(count, 12).join(', ')}] } } }\n`
    const one = await comparisons(matrix(1))
    expect(one).toBeGreaterThan(0)
    expect(await comparisons(matrix(200))).toBe(one)
  })
})

test('reports a misspelled step once for all steps that repeat it, with the suggestion', () => {
  const text = repeated(200, `{ image: x, when: { condition: { all: { a: "biuld_the_app.result == 'success'" } } } }`)
  expect(problemsOf(text).map((problem) => problem.replace(/^\S+ /, ''))).toEqual([
    'error unknown-step step "biuld_the_app" does not exist. Did you mean "build_the_app"?',
  ])
})

test('compiles the pattern of a branch once for all steps that have it', async () => {
  const step = "{ image: x, when: { branch: { only: ['/a{900}/', '/a{900}/', /b/], ignore: ['/(/'] } } }"
  const counts = await callCounts(['compilePattern'], () => {
    expect(problemsOf(repeated(50, step))).toHaveLength(1)
  })
  expect(counts['compilePattern']).toBe(3)
})

describe('reads an expression for places in it only once', () => {
  const counted = async (expression: string, count = 20): Promise<number> => {
    const text = repeated(count, `{ image: x, when: { condition: { all: { a: "${expression}" } } } }`)
    const counts = await callCounts(['readOffsets'], () => compile({ text, file: 'f' }))
    return counts['readOffsets'] ?? -1
  }

  test('and only if it has problems', async () => {
    expect(await counted(`${'1 + '.repeat(1_000)}1`)).toBe(0)
    expect(await counted(`${'a.b + '.repeat(1_000)}1`)).toBe(20)
  })

  test('and shows each problem at its place', () => {
    const text = repeated(2, "{ image: x, when: { condition: { all: { a: 'a.b == ''x''  && c.d', b: \"\\x61.b + e.f\" } } } }")
    const places = compile({ text, file: 'f' }).problems.map(({ line, column, message }) => {
      const at = text.split('\n')[line - 1]?.slice(column - 1) ?? ''
      return [message, at.slice(0, 3)]
    })
    expect(places).toEqual([
      ['step "a" does not exist', 'a.b'],
      ['step "c" does not exist', 'c.d'],
      ['step "a" does not exist', String.raw`\x6`],
      ['step "e" does not exist', 'e.f'],
    ])
  })
})
