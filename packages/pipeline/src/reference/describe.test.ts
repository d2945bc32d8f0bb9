import { expect, test } from 'vitest'
import { describeLanguage } from './describe.ts'
import { jsonSchema } from './json-schema.ts'
import { STEP_TYPES } from '../actions/index.ts'
import { COMMON, ROOT } from '../language/language.ts'

test('the description contains every type, field, function, variable and code', () => {
  const language = describeLanguage()
  expect(language.types.map(({ name }) => name)).toEqual(Object.keys(STEP_TYPES))
  expect(language.root.map(({ name }) => name)).toEqual(Object.keys(ROOT))
  expect(language.common.find(({ name }) => name === 'when')?.fields.find(({ name }) => name === 'steps')).toMatchObject({
    type: 'list of object, or object',
    fields: [{ name: 'name', required: true }, { name: 'on' }, { name: 'all' }, { name: 'any' }],
  })
  const hook = language.root.find(({ name }) => name === 'hooks')?.fields.find(({ name }) => name === 'on_finish')
  expect(hook?.type).toBe('list of text, or object, or step')
  expect(hook?.fields.map(({ name }) => name)).toEqual([
    'steps',
    'mode',
    'fail_fast',
    'strict_fail_fast',
    'exec',
    'metadata',
    'annotations',
  ])
  expect(language.functions.map(({ name }) => name)).toContain('match')
  expect(language.variables.map(({ name }) => name)).toContain('CF_BRANCH')
  for (const field of [...language.root, ...language.common, ...language.types.flatMap(({ fields }) => fields)])
    expect(field.about).toMatch(/[.!]$/)
})

test('the JSON Schema is generated from the same tables', () => {
  const schema = JSON.parse(JSON.stringify(jsonSchema()))
  expect(Object.keys(schema.$defs)).toEqual(expect.arrayContaining(['step', ...Object.keys(STEP_TYPES), 'typed', 'flag']))
  expect(schema.required).toEqual(['version', 'steps'])
  expect(schema.$defs.tag_policy).toMatchObject({ enum: ['original', 'lowercase'] })
  expect(schema.$defs.build.properties['image-name']).toMatchObject({ deprecated: true })
  expect(schema.$defs.build.additionalProperties).toBe(false)
  expect(schema.$defs.freestyle.additionalProperties).toBeUndefined()
  expect(schema.$defs.build.properties.buildx.anyOf).toHaveLength(2)
  expect(Object.keys(schema.$defs.push.properties)).toEqual(expect.arrayContaining(Object.keys(COMMON)))
})
