import { expect, test } from 'vitest'
import { compileLocally } from './compile-locally.ts'

const facts = { buildId: '0'.repeat(24), createdAt: 0, trigger: { kind: 'manual' as const }, git: { branch: 'main' } }
const steps = 'steps:\n  a: { image: x, commands: [echo a] }\n  b: { image: x, commands: [echo b] }\n'

function compiled(text: string, secrets: Record<string, string> = {}) {
  return compileLocally({ source: { text, file: 'p.yml' }, facts, variables: { X: 'run' }, secrets })
}

test('gives an inline document the built-in and the given variables', () => {
  const { local } = compiled(`version: '1.0'\n${steps}`, { TOKEN: 'abc' })
  expect(local?.plan.variables.map(({ level }) => level)).toEqual(['system', 'build'])
  expect(local?.plan.variables[0]?.variables['CF_BRANCH']).toEqual({ value: 'main' })
  expect(local?.plan.variables[1]?.variables).toEqual({ X: { value: 'run' }, TOKEN: { secret: 'build/TOKEN' } })
  expect(local?.secrets).toEqual({ 'build/TOKEN': 'abc' })
})

test('does not put values of secrets into the plan', () => {
  expect(JSON.stringify(compiled(`version: '1.0'\n${steps}`, { TOKEN: 'hunter2' }).local?.plan)).not.toContain('hunter2')
})

test('uses the name and the variables of a pipeline document', () => {
  const text = `kind: pipeline\nmetadata: { name: demo/app }\nspec:\n  variables:\n    - { key: A, value: b }\n    - { key: S, value: s3cret, encrypted: true }\n${steps.replaceAll(/^/gm, '  ').trimEnd()}\n`
  const { local, problems } = compiled(text)
  expect(problems.filter(({ severity }) => severity === 'error')).toEqual([])
  expect(local?.plan.variables[0]?.variables['CF_PIPELINE_NAME']).toEqual({ value: 'demo/app' })
  expect(local?.plan.variables[1]).toMatchObject({
    level: 'pipeline',
    variables: { A: { value: 'b' }, S: { secret: 'pipeline/S' } },
  })
})
