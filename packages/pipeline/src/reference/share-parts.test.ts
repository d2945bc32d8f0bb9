import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { shareParts } from './share-parts.ts'

const port = { type: 'object', properties: { number: { type: 'integer' }, name: { type: 'string' } }, required: ['number'] }
const large = {
  type: 'object',
  properties: { in: { description: 'Enters.', ...port }, out: { description: 'Leaves.', ...port }, short: { type: 'string' } },
  additionalProperties: { $ref: '#/$defs/other' },
  $defs: { other: { type: 'object', properties: { at: port } } },
}

test('a part that occurs more than once is written once, and keeps its descriptions in place', () => {
  const small = shareParts(large, {})
  expect(small['properties']).toEqual({
    in: { description: 'Enters.', $ref: '#/$defs/in' },
    out: { description: 'Leaves.', $ref: '#/$defs/in' },
    short: { type: 'string' },
  })
  expect(small.$defs).toEqual({ other: { type: 'object', properties: { at: { $ref: '#/$defs/in' } } }, in: port })
  expect(Object.keys(shareParts(large, { port }).$defs)).toEqual(['other', 'port'])
})

test('the small schema accepts and refuses the same documents', () => {
  const [before, after] = [large, shareParts(large, {})].map((schema) => new Ajv2020({ strict: false }).compile(schema))
  for (const document of [
    { in: { number: 1 } },
    { in: {} },
    { out: { number: 'x' } },
    { more: { at: { number: 1 } } },
    { more: { at: {} } },
  ])
    expect(after?.(document)).toBe(before?.(document))
})
