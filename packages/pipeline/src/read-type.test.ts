import type { VariableLayer } from '@windlass/plan'
import { expect, test } from 'vitest'
import { oneStep, told } from '../test/documents.ts'
import { compile } from './compile.ts'

function layer(variables: Record<string, string>): VariableLayer {
  return { level: 'build', variables: Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, { value }])) }
}

const text = oneStep("type: '${{KIND}}'", 'candidate: x', 'registry: r')

test('P118: a variable in the type of a step is filled in when a build is made', () => {
  const { plan, problems } = compile({ text, file: 'a.yml' }, { variables: [layer({ KIND: '${{PART}}sh', PART: 'pu' })] })
  expect(problems).toEqual([])
  expect(plan?.steps[0]?.action).toMatchObject({ kind: 'push', registry: 'r' })
})

test('P118: the fields are those of the type that comes out', () => {
  const { problems } = compile({ text, file: 'a.yml' }, { variables: [layer({ KIND: 'build' })] })
  expect(told(problems)).toEqual(
    expect.arrayContaining(['3:3 error required "image_name" is required', '5:5 error unknown-key "candidate" is not allowed']),
  )
})

test('a variable that nobody defined is an error for a build; where no build is made the step is not checked, and there is no plan', () => {
  expect(told(compile({ text, file: 'a.yml' }, { variables: [] }).problems)).toEqual([
    '4:11 error type-variable "type" refers to "KIND", which has no value before the build starts',
  ])
  const { plan, problems } = compile({ text, file: 'a.yml' })
  expect(plan).toBeUndefined()
  expect(told(problems)).toEqual([
    '4:11 warning type-variable "type" is known only when a build starts; the step is not checked. Current value: ${{KIND}}',
  ])
})

test('a type is a text of a sane length', () => {
  const type = (value: string): string[] => told(compile({ text: oneStep(`type: ${value}`), file: 'a.yml' }).problems)
  expect(type('5')).toEqual(['4:11 error wrong-type "type" must be a string. Current value: 5'])
  expect(type("''")).toEqual(['4:11 error empty-value "type" is not allowed to be empty'])
  expect(type('x'.repeat(300))[0]).toContain('"type" is too long')
})
