import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseYaml } from './syntax/parse.ts'
import { toValue } from './syntax/tree.ts'
import { ACCEPTED, REJECTED } from '../test/language-cases.ts'
import { compile } from './compile/compile.ts'
import { describeLanguage } from './reference/describe.ts'
import type { FieldDescription } from './reference/describe.ts'
import type { Diagnostic } from './language/diagnostic.ts'
import { jsonSchema } from './reference/json-schema.ts'
import { findType, STEP_TYPES, type SupportedType } from './actions/index.ts'
import { COMMON, ROOT } from './language/language.ts'
import type { Fields } from './language/shape.ts'

const validate = new Ajv2020({ strict: false }).compile({ ...jsonSchema() })

/** Errors that come from the tables; only `compile` reports rules between fields. */
const TABLE_CODES: readonly Diagnostic['code'][] = ['wrong-type', 'unknown-key', 'required', 'empty-value']

const SAMPLES: readonly unknown[] = [
  'text',
  '',
  '  ',
  5,
  '5',
  true,
  'YES',
  '${{X}}',
  [],
  ['text'],
  [5],
  {},
  { wrong_key: 1 },
  [{ wrong_key: 1 }],
]

/** The minimum fields of a step of each type. */
const NEEDED: Readonly<Record<SupportedType, Readonly<Record<string, unknown>>>> = {
  freestyle: { image: 'x' },
  'git-clone': { repo: 'a/b' },
  build: { image_name: 'x' },
  push: { candidate: 'x' },
  'push-tag': { image_name: 'x', tags: ['y'] },
  composition: { composition: {}, composition_candidates: { a: { image: 'x' } } },
  'launch-composition': { composition: {} },
  deploy: { kind: 'kubernetes', cluster: 'c', namespace: 'n', service: 's' },
  parallel: { steps: { inside: { image: 'x' } } },
  travis: { services: {}, test: { image: 'x', command: 'y' } },
  simple_travis: { services: ['redis'], test: { image: 'x', command: 'y' } },
  'integration-test': { test: { image: 'x', commands: ['y'] } },
  'pending-approval': {},
  'obtain-oidc-id-token': {},
}

/** Fields that separate code checks more strictly than a schema can. */
const OWN_RULES = new Set(['hooks', 'scale', 'matrix', 'metadata', 'annotations', 'arguments', 'version', 'type', 'timeout'])

function diagnose(document: unknown): readonly Diagnostic[] {
  return compile({ text: JSON.stringify(document), file: 'x.yml' }).problems
}

function problemsOf(document: unknown): readonly Diagnostic[] {
  return diagnose(document).filter(({ severity }) => severity === 'error')
}

function judge(document: unknown, where: string): void {
  const problems = problemsOf(document)
  const passes = validate(document)
  // A schema has no warnings, so it also rejects fields that are ignored with a warning.
  if (!passes) expect([where, diagnose(document).length > 0]).toEqual([where, true])
  if (problems.some(({ code }) => TABLE_CODES.includes(code))) expect([where, passes]).toEqual([where, false])
}

function samplesFor(fields: Fields): [string, unknown][] {
  return Object.keys(fields)
    .filter((name) => !OWN_RULES.has(name))
    .flatMap((name) => SAMPLES.map((sample): [string, unknown] => [name, sample]))
}

const TYPES = Object.keys(STEP_TYPES) as SupportedType[]

describe('validation and the JSON Schema agree', () => {
  test('on root fields', () => {
    for (const [name, sample] of samplesFor(ROOT))
      judge({ version: '1.0', steps: {}, [name]: sample }, `${name}: ${JSON.stringify(sample)}`)
  })

  test.each(TYPES)('on all fields of %s steps', (type) => {
    for (const [name, sample] of samplesFor({ ...COMMON, ...findType(type)?.fields })) {
      const step = { type, ...NEEDED[type], [name]: sample }
      judge({ version: '1.0', steps: { it: step } }, `${name}: ${JSON.stringify(sample)}`)
    }
  })

  test('on required and unknown fields of each type', () => {
    for (const type of TYPES) {
      judge({ version: '1.0', steps: { it: { type } } }, type)
      judge({ version: '1.0', steps: { it: { type, ...NEEDED[type] } } }, type)
      expect([type, validate({ version: '1.0', steps: { it: { type, ...NEEDED[type] } } })]).toEqual([type, true])
    }
    judge({ version: '1.0', steps: {}, unknown: 1 }, 'root')
  })

  test.each(Object.entries(ACCEPTED))('accepting %s', (_, text) => {
    const { problems } = compile({ text, file: 'x.yml' })
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([])
    expect([validate(toPlain(text)), validate.errors]).toEqual([true, null])
  })

  test.each(Object.entries(REJECTED))('on %s: everything that the schema rejects is rejected', (_, { text }) => {
    const { problems } = compile({ text, file: 'x.yml' })
    expect(problems.some(({ severity }) => severity === 'error')).toBe(true)
  })
})

/** Replaces the value at one place of a document. */
function changed(value: unknown, place: number, by: unknown): unknown {
  let at = 0
  const walk = (one: unknown): unknown => {
    at += 1
    if (at === place) return by
    if (Array.isArray(one)) return one.map(walk)
    if (one === null || typeof one !== 'object') return one
    return Object.fromEntries(Object.entries(one).map(([key, inner]) => [key, walk(inner)]))
  }
  return walk(value)
}

test('on accepted documents with a random change, and the compiler never throws', () => {
  const documents = Object.values(ACCEPTED).map(toPlain)
  const by = fc.constantFrom<unknown[]>(
    null,
    'text',
    '',
    5,
    true,
    [],
    {},
    ['x'],
    { a: 1 },
    { image: 'x' },
    { steps: { z: { image: 'x' } } },
    [[]],
    '${{steps.nope.result}}',
    { type: 'parallel' },
  )
  fc.assert(
    fc.property(fc.constantFrom(...documents), fc.integer({ min: 1, max: 40 }), by, (document, place, value) => {
      const mutant = changed(document, place, value)
      const problems = diagnose(mutant)
      // A schema has no warnings, so it also rejects fields that are ignored with a warning.
      if (!validate(mutant)) expect([JSON.stringify(mutant), problems.length > 0]).toEqual([JSON.stringify(mutant), true])
    }),
    { numRuns: 600 },
  )
})

test('the reference, the JSON Schema and the tables have the same fields', () => {
  const language = describeLanguage()
  const schema = JSON.parse(JSON.stringify(jsonSchema()))
  expect(namesOf(language.root)).toEqual(Object.keys(schema.properties).toSorted())
  for (const { name, fields } of language.types) {
    const expected = [...new Set([...namesOf(language.common), ...namesOf(fields)])].toSorted()
    expect(Object.keys(schema.$defs[name].properties).toSorted()).toEqual(expected)
  }
})

/** With aliases, as editors complete them. */
function namesOf(fields: readonly FieldDescription[]): string[] {
  return fields.flatMap(({ name, aliases }) => [name, ...aliases]).toSorted()
}

function toPlain(text: string): unknown {
  const { root } = parseYaml({ text, file: 'x.yml' })
  return root === undefined ? undefined : JSON.parse(JSON.stringify(toValue(root)))
}
