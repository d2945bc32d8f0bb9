import type { VariableLayer } from '@windlass/plan'
import { expect, test } from 'vitest'
import { formatProblems, oneStep } from '../../test/documents.ts'
import { compile } from '../compile/compile.ts'

function layer(variables: Record<string, string>): VariableLayer {
  return { level: 'build', variables: Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, { value }])) }
}

const text = oneStep("type: '${{KIND}}'", 'candidate: x', 'registry: r')

test('substitutes a variable in the type of a step when a build is created (P118)', () => {
  const { plan, problems } = compile({ text, file: 'a.yml' }, { variables: [layer({ KIND: '${{PART}}sh', PART: 'pu' })] })
  expect(problems).toEqual([])
  expect(plan?.steps[0]?.action).toMatchObject({ kind: 'push', registry: 'r' })
})

test('uses the fields of the substituted type (P118)', () => {
  const { problems } = compile({ text, file: 'a.yml' }, { variables: [layer({ KIND: 'build' })] })
  expect(formatProblems(problems)).toEqual(
    expect.arrayContaining(['3:3 error required "image_name" is required', '5:5 error unknown-key "candidate" is not allowed']),
  )
})

test('an undefined variable is an error for a build; without a build the step is not checked and there is no plan', () => {
  expect(formatProblems(compile({ text, file: 'a.yml' }, { variables: [] }).problems)).toEqual([
    '4:11 error type-variable "type" refers to "KIND", which has no value before the build starts',
  ])
  const { plan, problems } = compile({ text, file: 'a.yml' })
  expect(plan).toBeUndefined()
  expect(formatProblems(problems)).toEqual([
    '4:11 warning type-variable "type" is known only when a build starts; the step is not checked. Current value: ${{KIND}}',
  ])
})

test('rejects a type that is not a string or too long', () => {
  const type = (value: string): string[] => formatProblems(compile({ text: oneStep(`type: ${value}`), file: 'a.yml' }).problems)
  expect(type('5')).toEqual(['4:11 error wrong-type "type" must be a string. Current value: 5'])
  expect(type("''")).toEqual(['4:11 error empty-value "type" is not allowed to be empty'])
  expect(type('x'.repeat(300))[0]).toContain('"type" is too long')
})
