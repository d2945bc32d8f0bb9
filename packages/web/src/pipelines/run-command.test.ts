import { expect, test } from 'vitest'
import { readVariables, toBuildInput, toRunCommand } from './run-command.ts'

const FORM = { pipeline: 'demo/app', branch: '', trigger: '', variables: '' }

test('variables keep everything after the first equals sign', () => {
  expect(readVariables('A=1\n\n  B=x=y z\nC=')).toEqual({ A: '1', B: 'x=y z', C: '' })
})

test('the first line that is no variable is named by its number', () => {
  expect(readVariables('A=1\n2B=3')).toBe(2)
  expect(readVariables('A')).toBe(1)
})

test('the command quotes what a shell would interpret', () => {
  const form = { ...FORM, branch: 'next', trigger: 'push main' }
  expect(toRunCommand(form, { GREETING: "it's $HOME", PLAIN: 'a' })).toBe(
    String.raw`windlass run demo/app --branch next --trigger 'push main' -v 'GREETING=it'\''s $HOME' -v PLAIN=a`,
  )
})

test('fields that are empty are absent from the call', () => {
  expect(toBuildInput(FORM, { A: '1' })).toEqual({ pipeline: 'demo/app', variables: { A: '1' } })
  expect(toBuildInput({ ...FORM, branch: 'next', trigger: 'push' }, {})).toMatchObject({ branch: 'next', trigger: 'push' })
})
