import type { Context } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { newDraft, toContextInput, toDraft } from './draft.ts'

const CONTEXT: Context = {
  id: 'a'.repeat(24),
  name: 'registry',
  type: 'registry',
  isDefault: false,
  data: { domain: 'registry.example.com', username: 'ci', password: '*****' },
  createdAt: 0,
  updatedAt: 0,
}

test('a stored secret has no value in the form, and is kept when the rest is saved (W083)', () => {
  const fields = toDraft(CONTEXT)
  expect(fields.find(({ name }) => name === 'password')).toMatchObject({ value: '', isSecret: true, isKept: true })
  const changed = fields.map((field) => (field.name === 'username' ? { ...field, value: 'bot' } : field))
  expect(toContextInput({ ...CONTEXT, fields: changed })).toMatchObject({
    data: { domain: 'registry.example.com', username: 'bot', password: '*****' },
  })
})

test('names what is missing', () => {
  expect(toContextInput({ name: 'r', type: 'registry', isDefault: false, fields: newDraft('registry') })).toBe(
    'The field domain is empty.',
  )
  const [field] = newDraft('config')
  if (field === undefined) throw new Error('no field')
  const write = (names: string[]): unknown =>
    toContextInput({ name: 'c', type: 'config', isDefault: false, fields: names.map((name) => ({ ...field, name, value: '1' })) })
  expect(write(['A', 'A'])).toBe('The variable A is there twice.')
  expect(write([''])).toBe('A variable has a value but no name.')
  expect(write(['A'])).toMatchObject({ data: { A: '1' } })
})

test('values of any shape are JSON, other texts are strings', () => {
  const [field] = newDraft('yaml')
  if (field === undefined) throw new Error('no field')
  const fields = [
    { ...field, name: 'list', value: '[1, 2]' },
    { ...field, name: 'text', value: 'plain words' },
  ]
  expect(toContextInput({ name: 'y', type: 'yaml', isDefault: false, fields })).toMatchObject({
    data: { list: [1, 2], text: 'plain words' },
  })
})
