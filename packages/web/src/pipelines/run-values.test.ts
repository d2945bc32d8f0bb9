import { expect, test } from 'vitest'
import { findWrong, NO_VALUES, readRunValues, toBuildInput, toRunCommand, writeRunValues } from './run-values.ts'

const variable = (name: string, value: string, isSecret = false) => ({ name, value, isSecret })

test('an address gives the values back, without secrets', () => {
  const values = {
    ...NO_VALUES,
    branch: 'feature/a b',
    trigger: 'push',
    only: 'unit,lint',
    memory: '2Gi',
    noCache: true,
    debug: true,
    variables: [variable('GREETING', 'a=b&c\nd'), variable('EMPTY', '')],
    annotations: 'why=a test',
  }
  const address = writeRunValues({ ...values, variables: [...values.variables, variable('TOKEN', 'hunter2', true)] })
  expect(address).not.toContain('hunter2')
  expect(address).not.toContain('TOKEN')
  expect(readRunValues(address)).toEqual(values)
  expect(writeRunValues(NO_VALUES)).toBe('')
  expect(readRunValues('?only=a&only=b&unknown=1')).toEqual({ ...NO_VALUES, only: 'a,b' })
})

test('fields that are empty are absent from the call', () => {
  expect(toBuildInput('demo/app', NO_VALUES)).toEqual({ pipeline: 'demo/app', variables: {}, secrets: {} })
})

test('the call and the command have every value', () => {
  const values = {
    ...NO_VALUES,
    branch: 'next',
    commit: '9e11f03',
    trigger: 'push main',
    runtime: 'prod',
    cpu: '2000m',
    skip: 'lint, types',
    resetVolume: true,
    debug: true,
    variables: [variable('GREETING', "it's $HOME"), variable('TOKEN', 'hunter2', true)],
    annotations: 'why=a test',
  }
  expect(toBuildInput('demo/app', values, 'steps: {}')).toEqual({
    pipeline: 'demo/app',
    document: 'steps: {}',
    branch: 'next',
    revision: '9e11f03',
    trigger: 'push main',
    runtime: 'prod',
    machine: { cpu: '2000m' },
    skip: ['lint', 'types'],
    resetVolume: true,
    debug: {},
    variables: { GREETING: "it's $HOME" },
    secrets: { TOKEN: 'hunter2' },
    annotations: { why: 'a test' },
  })
  expect(toRunCommand('demo/app', values)).toBe(
    String.raw`windlass run demo/app --branch next --sha 9e11f03 --trigger 'push main' --runtime prod --cpu 2000m -v 'GREETING=it'\''s $HOME' -S TOKEN --skip lint --skip types -a 'why=a test' --reset-volume --debug`,
  )
})

test('names what is wrong', () => {
  expect(findWrong(NO_VALUES)).toBeUndefined()
  expect(findWrong({ ...NO_VALUES, variables: [variable('', 'x')] })).toBe('A variable has no name.')
  expect(findWrong({ ...NO_VALUES, variables: [variable('2B', 'x')] })).toContain('"2B" is not the name of a variable')
  expect(findWrong({ ...NO_VALUES, variables: [variable('A', '1'), variable('A', '2')] })).toBe('The variable A is there twice.')
  expect(findWrong({ ...NO_VALUES, annotations: 'a=1\nnothing' })).toBe('Line 2 of the annotations is not NAME=value.')
})
