import { fault, isFault } from '@windlass/kit'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { field, openGraphql, schemaText, type GraphqlAnswer } from './index.ts'
import { MAX_DEPTH, MAX_FIELDS } from './limits.ts'

const SCHEMA = `
type Query {
  person(name: String!): Person
  deny: Boolean
  bug: Person!
}
type Mutation {
  rename(name: String!): String
  put(login: Login!): Boolean
}
input Login {
  token: String!
  name: String!
  count: Int
  level: Level
}
enum Level {
  HIGH
  LOW
}
type Person {
  name: String!
  age: Int
  friend: Person
}
`
interface Caller {
  readonly calls: string[]
}
const friends = { name: 'ann', age: undefined, friend: { name: 'ben', friend: undefined } }
const run = openGraphql<Caller>({
  schema: SCHEMA,
  queries: {
    person: field(z.object({ name: z.string().max(5, 'must be short') }), async ({ name }, call) => {
      call.calls.push(name)
      if (name === 'none') throw fault('not-found')
      return friends
    }),
    deny: async () => {
      throw fault('forbidden', { message: 'Not you.', right: 'see-people' })
    },
    bug: async () => ({ name: null }),
  },
  mutations: { rename: async () => 'done', put: async () => true },
  toFault: (error) => (isFault(error) ? error : fault('internal', {}, error)),
})

async function ask(query: string, variables?: Record<string, unknown>): Promise<GraphqlAnswer & Caller> {
  const call: Caller = { calls: [] }
  return { ...(await run({ query, variables }, call)), ...call }
}
const messageOf = ({ body }: GraphqlAnswer): string => body.errors?.[0]?.message ?? ''

test('a field gets its arguments, and absent values are null', async () => {
  const answer = await ask('query P($n: String!) { person(name: $n) { name age friend { name __typename } } }', { n: 'ann' })
  expect([answer.status, JSON.parse(JSON.stringify(answer.body))]).toEqual([
    200,
    { data: { person: { name: 'ann', age: null, friend: { name: 'ben', __typename: 'Person' } } } },
  ])
  expect(answer.calls).toEqual(['ann'])
  expect((await ask('mutation { rename(name: "x") }')).body).toMatchObject({ data: { rename: 'done' } })
})

test('faults keep their code, and only a refusal changes the status', async () => {
  const absent = await ask('{ person(name: "none") { name } }')
  expect([absent.status, absent.body]).toMatchObject([
    200,
    { data: { person: null }, errors: [{ path: ['person'], extensions: { code: 'not-found', status: 404 } }] },
  ])
  const denied = await ask('{ deny }')
  expect([denied.status, denied.body]).toMatchObject([
    403,
    {
      data: { deny: null },
      errors: [{ message: 'Not you.', extensions: { code: 'forbidden', status: 403, right: 'see-people' } }],
    },
  ])
  const long = await ask('{ person(name: "longer") { name } }')
  expect([long.status, messageOf(long), long.calls]).toEqual([200, 'name: must be short', []])
  const bug = await ask('{ bug { name } }')
  expect([bug.status, bug.body.data, bug.body.errors?.[0]?.extensions['code']]).toEqual([200, null, 'internal'])
  expect(messageOf(bug)).not.toContain('non-nullable')
})

test('a request that is not valid is told what is wrong, and nothing is carried out', async () => {
  for (const [query, why] of [
    ['{ person(name: "ann") { nam } }', 'Cannot query field "nam" on type "Person". Did you mean "name"?'],
    ['{ person { name } }', '"Query.person(name:)" of type "String!" is required'],
    ['{ nothing }', 'Cannot query field "nothing"'],
    ['{ person(', 'Syntax Error'],
    ['query P($n: String!) { person(name: $n) { name } }', '"$n"'],
    ['{ __schema { types { name } } }', 'introspection has been disabled'],
    ['query A { deny } mutation B { rename(name: "x") }', 'a query and a mutation'],
    ['subscription { person }', 'subscription'],
    ['{ a: person(name: "ann") { name } b: person(name: "ann") { name } }', 'has 2 fields at its root'],
    ['{ person(name: "ann") { ...f } } fragment f on Person { friend { ...f } }', 'contains itself'],
  ] as const) {
    const answer = await ask(query)
    expect([query, answer.status, answer.body.data, answer.calls]).toEqual([query, 400, undefined, []])
    expect(messageOf(answer)).toContain(why)
    expect(answer.body.errors?.[0]?.extensions).toMatchObject({ code: 'request-invalid' })
  }
})

test('an answer has no value of the request, which may be a token', async () => {
  const put = 'mutation P($l: Login!) { put(login: $l) }'
  for (const [query, login, why] of [
    [
      put,
      { token: 'SECRET' },
      'Variable "$l" has invalid value: Expected value of type "Login" to include required field "name".',
    ],
    [put, { token: 'SECRET', name: 'x', more: 1 }, 'not to include unknown field "more".'],
    [
      put,
      { token: ['SECRET'], name: 'x' },
      'Variable "$l" has invalid value at .token: String cannot represent a non string value.',
    ],
    [put, { token: 'x', name: 'x', count: 'SECRET' }, 'Int cannot represent non-integer value.'],
    [put, 'SECRET', 'Expected value of type "Login" to be an object.'],
    ['mutation { put(login: { token: "SECRET" }) }', undefined, 'to include required field "name".'],
    ['mutation { put(login: { token: ["SECRET"], name: "x" }) }', undefined, 'String cannot represent a non string value.'],
    [
      'mutation { put(login: { token: "x", name: "x", level: "SECRET" }) }',
      undefined,
      'Enum "Level" cannot represent non-enum value.',
    ],
    ['mutation { put(login: "SECRET") }', undefined, 'to be an object.'],
    ['mutation { put(login: { token "SECRET" }) }', undefined, 'Syntax Error: Expected ":".'],
    ['mutation { put "SECRET" }', undefined, 'Syntax Error: Expected Name.'],
    ['"SECRET" { put }', undefined, 'Syntax Error'],
    ['{ person(name: "SECRET"', undefined, 'Syntax Error: Expected Name.'],
  ] as const) {
    const { status, body } = await ask(query, login === undefined ? undefined : { l: login })
    expect([query, login, status]).toEqual([query, login, 400])
    expect(body.errors?.[0]?.message).toContain(why)
    expect(JSON.stringify(body)).not.toContain('SECRET')
  }
  expect(messageOf(await ask(`{ ${'x'.repeat(10_000)} }`))).toHaveLength(500)
})

test('a request that costs much is refused by its size, also if fragments hide it', async () => {
  const deep = `{ person(name: "ann") ${'{ friend '.repeat(MAX_DEPTH - 1)}{ name }${' }'.repeat(MAX_DEPTH - 1)} }`
  expect(messageOf(await ask(deep))).toBe(`The operation has ${MAX_DEPTH + 1} levels, and may have ${MAX_DEPTH}.`)
  const wide = `{ person(name: "ann") { ${Array.from({ length: MAX_FIELDS }, (_, at) => `a${at}: name`).join(' ')} } }`
  expect(messageOf(await ask(wide))).toBe(`The operation has ${MAX_FIELDS + 1} fields, and may have ${MAX_FIELDS}.`)
  // Each fragment has the next one twice: 2^20 fields in a short text.
  const bomb = Array.from(
    { length: 20 },
    (_, at) => `fragment f${at} on Person { a: friend { ...f${at + 1} } b: friend { ...f${at + 1} } }`,
  )
  expect(messageOf(await ask(`{ person(name: "ann") { ...f0 } } ${bomb.join(' ')} fragment f20 on Person { name }`))).toContain(
    'fields',
  )
  const unused = `fragment f on Person { ${'friend { name } '.repeat(60)} }`
  expect(messageOf(await ask(`{ deny } ${unused}`))).toBe(`The fragment "f" has 120 fields, and may have ${MAX_FIELDS}.`)
  expect(messageOf(await ask(`{ person(name: "ann") { ${'name '.repeat(2_000)} } }`))).toMatch(/token/i)
  expect(messageOf(await ask(`{ person(name: "ann") ${'{ friend '.repeat(3_000)}`))).toMatch(/token/i)
})

test('a schema and its functions must have the same fields', async () => {
  const open = openGraphql<Caller>({ schema: SCHEMA, queries: {}, mutations: {}, toFault: () => fault('internal') })
  await expect(open({ query: '{ deny }' }, { calls: [] })).rejects.toThrow('person, deny, bug')
  expect(schemaText(SCHEMA)).toContain('input SlicePaginationArgs')
})
