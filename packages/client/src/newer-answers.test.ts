/** Answers of a newer server, whose closed lists have further values. */
import type { Transport } from '@windlass/protocol'
import { Build, FeedPage, tolerant } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { openClient, ROUTES, type Route } from './index.ts'

const ANSWERS = Object.values(ROUTES)
  .flatMap((group) => Object.values<Route>(group))
  .flatMap(({ method, path, answer }) => (typeof answer === 'string' ? [] : [{ name: `${method} ${path}`, answer }]))

type JsonSchema = Readonly<Record<string, unknown>>

/** Returns the paths of the values that a schema limits to a list, or whose further fields it refuses, except the kinds of unions. */
function closedParts(schema: unknown, path = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const isKind = /\.oneOf\.\d+\.properties\.(kind|type)$/.test(path)
  const own = ('enum' in schema || typeof (schema as JsonSchema)['const'] === 'string') && !isKind ? [path] : []
  return [...own, ...Object.entries(schema).flatMap(([key, inside]) => closedParts(inside, `${path}.${key}`))]
}

const toSchema = (answer: z.ZodType): unknown => z.toJSONSchema(answer, { io: 'input', unrepresentable: 'any' })

test('answers have closed lists', () => {
  expect(ANSWERS.flatMap(({ answer }) => closedParts(toSchema(answer))).length).toBeGreaterThan(50)
})

test.each(ANSWERS)('$name is read with further values in its closed lists', ({ answer }) => {
  expect(closedParts(toSchema(tolerant(answer)))).toEqual([])
})

const BUILD = {
  id: '65a1b2c3d4e5f60718293a4b',
  number: 1,
  status: 'paused',
  reason: 'quota-exceeded',
  initiator: 'admin',
  trigger: { kind: 'pigeon' },
  attempt: 1,
  retries: 0,
  createdAt: 1,
  steps: [{ name: 'a', title: 'A', type: 'freestyle', status: 'napping', reason: 'tired', try: 1 }],
  attempts: [{ number: 1, status: 'floating', reason: 'solar-flare', createdAt: 1, retryDecision: 'delegated' }],
  approvals: [{ step: 'a', waitingSince: 1, expiresAt: 2, decision: 'deferred' }],
}

const answering =
  (body: unknown): Transport =>
  async () => {
    const text = JSON.stringify(body)
    return { status: 200, headers: {}, body: [new TextEncoder().encode(text)] as never, text: async () => text }
  }

test('keeps the values that it does not know as text, and ignores fields', async () => {
  const client = openClient({ url: 'http://server', transport: answering({ ...BUILD, mood: 'fine' }) })
  expect(await client.builds.get('b')).toEqual(BUILD)
  expect(Build.safeParse(BUILD).success).toBe(false)
})

test('still refuses an answer of another shape', async () => {
  const { builds } = openClient({ url: 'http://server', transport: answering({ ...BUILD, status: 5 }) })
  await expect(builds.get('b')).rejects.toMatchObject({ code: 'internal', details: { foreign: true } })
  const items = [{ kind: 'smell', position: 1, attempt: 1, at: 1 }]
  expect(tolerant(FeedPage).safeParse({ items, next: 1 }).success).toBe(false)
})

test('takes a problem with a further severity as the answer of the server', async () => {
  const problems = [{ message: 'odd', severity: 'remark' }]
  const problem = {
    type: 'urn:windlass:fault:conflict',
    title: 'c',
    detail: 'c',
    message: 'c',
    status: 409,
    code: 'conflict',
    problems,
  }
  const text = JSON.stringify(problem)
  const headers = { 'content-type': 'application/problem+json' }
  const transport: Transport = async () => ({ status: 409, headers, body: [] as never, text: async () => text })
  await expect(openClient({ url: 'http://server', transport }).keys.list()).rejects.toMatchObject({
    code: 'conflict',
    details: { problems },
  })
})

test('the schemas of requests stay strict', () => {
  tolerant(ROUTES.contexts.create.body)
  expect(ROUTES.contexts.create.body.safeParse({ name: 'a', type: 'scroll', data: {} }).success).toBe(false)
  expect(ROUTES.keys.create.body.safeParse({ name: 'a', role: 'king' }).success).toBe(false)
})
