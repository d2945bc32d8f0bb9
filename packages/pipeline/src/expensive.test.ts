import { beforeAll, describe, expect, test } from 'vitest'
import { cpuMs as once } from '../../plan/test/cpu-time.ts'
import { problemsOf } from '../test/documents.ts'
import { compile } from './compile/compile.ts'
import { MAX_PIECES } from './syntax/read-tokens.ts'

const MIB = 1_048_576

const MAX_RATIO = 4

/** Returns the shorter of two runs, because other work on the machine only adds time. */
function cpuMs(work: () => void): number {
  return Math.min(once(work), once(work))
}

/** Returns the time as a multiple of `usual`; measures again, at most twice, while it is too high. */
function ratioTo(usual: number, work: () => void): number {
  let ratio = once(work) / usual
  for (let again = 0; again < 2 && ratio >= MAX_RATIO; again += 1) ratio = Math.min(ratio, once(work) / usual)
  return ratio
}

function steps(count: number, step: (n: number) => string): string {
  return `version: 1\nsteps:\n${Array.from({ length: count }, (_, n) => `  s${n}: ${step(n)}\n`).join('')}`
}

describe('any mebibyte costs no more than a long pipeline', () => {
  /** Close to the longest accepted pipeline. */
  const long = steps(6_500, (n) => `{ image: node:24, commands: [a, b], title: Step ${n} }`)
  const dense: Readonly<Record<string, string>> = {
    'commas in a list': `[${','.repeat(MIB - 1)}`,
    'empty mappings in a list': `a: [${'{},'.repeat(MIB / 3 - 2)}]`,
    'empty lists in a list': `a: [${'[],'.repeat(MIB / 3 - 2)}]`,
    'nested lists side by side': `[${`${'['.repeat(95)}${']'.repeat(95)},`.repeat(5_400)}`,
    'unterminated quotes': '"'.repeat(MIB),
    'invalid escapes': `a: "${'\\q'.repeat(MIB / 2 - 10)}"`,
    'lines of an unterminated string': `a: "${'x\n'.repeat(MIB / 2 - 10)}"`,
    'tags in a row': '!a '.repeat(MIB / 3),
    'items without a value': '-\n'.repeat(MIB / 2),
    'the same key repeatedly': 'a:\n'.repeat(MIB / 3),
    'commands of one character': `steps: { a: { image: x, commands: [${'x,'.repeat(MIB / 2 - 50)}] } }`,
  }

  let usual = Number.NaN
  let compiled = 0
  beforeAll(() => {
    usual = cpuMs(() => (compiled = compile({ text: long, file: 'long.yml' }).plan?.steps.length ?? 0))
  })

  test('compiles the long pipeline', () => {
    expect(compiled).toBe(6_500)
  })

  test.each(Object.entries(dense))('%s', (_name, text) => {
    expect(text.length).toBeLessThanOrEqual(MIB)
    let problems: unknown[] = []
    expect(ratioTo(usual, () => (problems = problemsOf(text)))).toBeLessThan(MAX_RATIO)
    expect(problems).toHaveLength(1)
  })

  test('rejects a document with too many tokens at the first excess token', () => {
    const [problem, ...others] = compile({ text: '-\n'.repeat(MIB / 2), file: 'f' }).problems
    expect(others).toEqual([])
    expect(problem).toMatchObject({ code: 'too-large', message: 'the document has more than 250,000 YAML tokens' })
    expect(problem?.line).toBe(MAX_PIECES / 2)
  })

  test('accepts a single value of almost the maximum document size', () => {
    const { problems } = compile({ text: steps(1, () => `{ image: x, title: "${'word '.repeat(150_000)}" }`), file: 'f' })
    expect(problems).toEqual([])
  })
})

/** Expects that a document with many problems takes little longer than one without. */
function expectSimilar({ right, wrong, problems }: { right: string; wrong: string; problems: number }): void {
  let ofRight: unknown[] = []
  let ofWrong: unknown[] = []
  const usual = cpuMs(() => (ofRight = problemsOf(right)))
  expect(ratioTo(usual, () => (ofWrong = problemsOf(wrong)))).toBeLessThan(MAX_RATIO)
  expect(ofRight).toEqual([])
  expect(ofWrong).toHaveLength(problems)
}

describe('comparisons stay linear', () => {
  test('for thousands of wrong stages and thousands of stages', () => {
    const document = (stage: string): string =>
      `stages: [${Array.from({ length: 30_000 }, (_, n) => `stage${n}`).join(',')}]\n${steps(4_000, (n) => `{ image: x, stage: ${stage}${n} }`)}`
    expectSimilar({ right: document('stage'), wrong: document('nope'), problems: 500 })
  })

  test('for thousands of references to missing steps and thousands of steps', () => {
    const document = (name: string): string => {
      const references = Array.from({ length: 38_000 }, (_, n) => `\${{steps.${name}${n % 6_000}.a}}`).join(' ')
      return steps(6_000, (n) => (n > 0 ? '{ image: x }' : `{ image: x, title: "${references}" }`))
    }
    expectSimilar({ right: document('s'), wrong: document('nope'), problems: 500 })
  })

  test('for unknown fields and links of one composition that many steps share', () => {
    const names = Array.from({ length: 100 }, (_, n) => `${n % 2 === 0 ? 'comand' : 'imag'}${n}`)
    const document = (prefix: string, link: (name: string) => string): string => {
      const fields = names.map((name) => `${prefix}${name}: 1`).join(', ')
      const service = `{ ${fields}, links: [${names.map(link).join(', ')}] }`
      const rest = 'composition_candidates: { t: { image: x } } }'
      return steps(
        500,
        (n) => `{ type: composition, composition: ${n > 0 ? '*c' : `&c { services: { s: ${service} } }`}, ${rest}`,
      )
    }
    const right = document('x-', () => 't')
    const wrong = document('', (name) => name)
    expectSimilar({ right, wrong, problems: 200 })
  })
})
