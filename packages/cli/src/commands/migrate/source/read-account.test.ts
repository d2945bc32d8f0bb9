import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { openAccount } from './account-client.ts'
import { readAccount, type Account } from './read-account.ts'

const TOKEN = '6b045df61d5987a1a8c274fc.hunter2hunter2'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

interface FakeAccount {
  readonly url: string
  readonly calls: string[]
  read(): Promise<Account>
}

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

const json =
  (value: unknown): Answer =>
  (_, response) =>
    void response.end(JSON.stringify(value))

/** Serves an empty account, with other answers for some paths. */
async function serve(answers: Readonly<Record<string, Answer>>): Promise<FakeAccount> {
  const all: Readonly<Record<string, Answer>> = {
    '/api/projects': json({ projects: [], count: 0 }),
    '/api/step-types': json({ docs: [], count: 0 }),
    '/api/contexts': json([]),
    '/api/pipelines': json({ docs: [], count: 0 }),
    ...answers,
  }
  const calls: string[] = []
  const server = createServer((request, response) => {
    const { url = '' } = request
    calls.push(url)
    const answer = all[url] ?? all[url.split('?')[0] ?? '']
    if (answer === undefined) response.writeHead(404).end('{"message":"not here"}')
    else answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  const { signal } = new AbortController()
  return { url, calls, read: () => readAccount(openAccount({ url, token: TOKEN, caFile: undefined, signal })) }
}

test('reads all pages, also short ones, and every version of a step type', async () => {
  const pipelineAt = (n: number): object => ({
    version: '1.0',
    kind: 'pipeline',
    metadata: { name: `p${n}`, id: 'x', revision: 3 },
    spec: { steps: { a: { image: 'x' } } },
  })
  const stepType = (version: string): object => ({
    metadata: { name: 'acme/a', version, created_at: 'now' },
    spec: { steps: { a: { image: 'x' } } },
  })
  const account = await serve({
    '/api/pipelines': (request, response) => {
      const offset = Number(new URL(request.url ?? '', 'http://x').searchParams.get('offset'))
      response.end(JSON.stringify({ docs: [pipelineAt(offset), pipelineAt(offset + 1)].slice(0, 5 - offset), count: 5 }))
    },
    '/api/step-types': json({ docs: [stepType('1.1.0'), { metadata: { name: 'git-clone', official: true } }], count: 2 }),
    '/api/step-types/acme%2Fa/versions': json(['1.1.0', '1.0.0']),
    '/api/step-types/acme%2Fa%3A1.0.0': json(stepType('1.0.0')),
  })
  const { documents, left } = await account.read()
  expect(left).toEqual([])
  expect(documents.map(({ text }) => /^ {2}name: .*|^ {2}version: .*/gm.exec(text)?.[0].trim())).toEqual([
    'name: acme/a',
    'name: acme/a',
    'name: p0',
    'name: p1',
    'name: p2',
    'name: p3',
    'name: p4',
  ])
  expect(documents.at(-1)?.text).toBe(
    'version: "1.0"\nkind: pipeline\nmetadata:\n  name: p4\nspec:\n  steps:\n    a:\n      image: x\n',
  )
})

test('reads a pipeline by its name if the list has no spec', async () => {
  const account = await serve({
    '/api/pipelines': json({ docs: [{ metadata: { name: 'demo/app' } }], count: 1 }),
    '/api/pipelines/demo%2Fapp': json({ metadata: { name: 'demo/app' }, spec: { stages: ['one'] } }),
  })
  expect((await account.read()).documents[0]?.text).toContain('stages:')
})

test('names event triggers, which no pipeline contains', async () => {
  const account = await serve({ '/api/hermes/triggers': json([{ event: 'cron:codefresh:daily', pipeline: 'p1' }]) })
  expect((await account.read()).left).toMatchObject([
    {
      kind: 'trigger',
      name: 'cron:codefresh:daily',
      reasons: [{ reason: 'The event starts the pipeline p1. Such triggers do not move.' }],
    },
  ])
})

test('refused calls are faults with the call and what to do, without the token', async () => {
  const echo =
    (status: number): Answer =>
    (request, response) =>
      void response.writeHead(status).end(JSON.stringify({ message: `no: ${request.headers.authorization}\u001b[31m` }))
  for (const [status, code] of [
    [400, 'request-invalid'],
    [401, 'unauthenticated'],
    [403, 'forbidden'],
    [404, 'not-found'],
    [500, 'unavailable'],
  ] as const) {
    const account = await serve({ '/api/contexts': echo(status) })
    const failure = account.read()
    await expect(failure).rejects.toMatchObject({
      code,
      message: `GET /api/contexts of ${account.url} was answered with ${status}: no: *****\\u001b[31m.`,
      hint: expect.stringMatching(/\.$/),
    })
    expect(account.calls.filter((path) => path === '/api/contexts')).toHaveLength(1)
  }
})

test('a token in another spelling of JSON is not quoted', async () => {
  const spelled = Array.from(TOKEN, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
  const account = await serve({ '/api/contexts': (_, response) => void response.writeHead(400).end(`{"message":"${spelled}"}`) })
  await expect(account.read()).rejects.toMatchObject({ message: expect.stringMatching(/answered with 400: \*{5}\.$/) })
})

test('event triggers that the key may not read are reported', async () => {
  const account = await serve({ '/api/hermes/triggers': (_, response) => void response.writeHead(403).end('{}') })
  expect((await account.read()).left).toMatchObject([
    { kind: 'trigger', reasons: [{ reason: expect.stringContaining('may not read') }] },
  ])
})

test('the 404 page of a proxy does not mean that the account has no event triggers', async () => {
  const account = await serve({
    '/api/hermes/triggers': (_, response) => void response.writeHead(404).end('<html>default backend - 404</html>'),
  })
  await expect(account.read()).rejects.toMatchObject({
    code: 'proxy-answered',
    message: `GET /api/hermes/triggers of ${account.url} was answered with 404.`,
  })
})

test('repeats a call that a gateway refused', async () => {
  let count = 0
  const account = await serve({
    '/api/contexts': (_, response) => {
      count += 1
      if (count === 1) response.writeHead(503).end('busy')
      else response.end('[]')
    },
  })
  expect((await account.read()).documents).toEqual([])
  expect(count).toBe(2)
})

test('follows no redirect, so that the token stays on its host', async () => {
  const other = await serve({})
  const account = await serve({
    '/api/projects': (_, response) => void response.writeHead(302, { location: `${other.url}/api/projects` }).end(),
  })
  await expect(account.read()).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('was redirected (302)') })
  expect(other.calls).toEqual([])
})

test('answers that are not complete, not JSON, not a list or too large are faults', async () => {
  const half: Answer = (_, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('[{"metadata":', () => response.destroy())
  }
  const failureOf = async (answer: Answer): Promise<unknown> => (await serve({ '/api/contexts': answer })).read()
  await expect(failureOf(half)).rejects.toMatchObject({
    code: 'server-unreachable',
    message: expect.stringContaining('GET /api/contexts'),
  })
  await expect(failureOf((_, response) => void response.end('[{"metadata":'))).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('is not JSON'),
  })
  await expect(failureOf(json({}))).rejects.toMatchObject({ message: 'The answer to GET /api/contexts has no list.' })
  await expect(failureOf((_, response) => void response.end(' '.repeat(33 * 1_048_576)))).rejects.toMatchObject({
    code: 'payload-too-large',
  })
})

test('a document that is nested too deeply is left, and keys of prototypes are not set', async () => {
  const deep = JSON.parse(`${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`)
  const account = await serve({
    '/api/contexts': (_, response) =>
      void response.end(
        `[${JSON.stringify({ metadata: { name: 'deep' }, spec: { type: 'yaml', data: deep } })},{"metadata":{"name":"p"},"spec":{"type":"config","data":{"__proto__":{"x":"y"}}}}]`,
      ),
  })
  const { documents, left } = await account.read()
  expect(left).toMatchObject([{ kind: 'context', name: 'deep', reasons: [{ reason: 'The document is nested too deeply.' }] }])
  expect(documents).toHaveLength(1)
  expect(Object.hasOwn(Object.prototype, 'x')).toBe(false)
})
