import { nodeTransport } from '@windlass/kit'
import { Build, Context, page, Pipeline, ProblemDocument, Project, Runtime, ServerStatus } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { HELLO, openHttpScene } from '../../support/http-scene.ts'

const transport = nodeTransport()

test('returns errors as problem documents with a code, a hint, each invalid field and the request id', async () => {
  await using scene = await openHttpScene()
  const headers = {
    authorization: `Bearer ${scene.adminToken}`,
    'content-type': 'application/json',
    'x-request-id': 'my-request-1',
  }
  const answer = await transport({
    method: 'POST',
    url: `${scene.server.url}/v1/pipelines`,
    headers,
    body: '{"name":"bad name","priority":1000}',
  })
  expect([answer.status, answer.headers['content-type'], answer.headers['x-request-id']]).toEqual([
    400,
    'application/problem+json; charset=utf-8',
    'my-request-1',
  ])
  const problem = ProblemDocument.parse(JSON.parse(await answer.text()))
  expect(problem).toMatchObject({ code: 'request-invalid', status: 400, requestId: 'my-request-1' })
  expect(problem.message).toBe(problem.detail)
  expect(problem.problems?.map(({ path }) => path).toSorted()).toEqual(['document', 'name', 'priority'])
  const bad = await transport({ method: 'POST', url: `${scene.server.url}/v1/pipelines`, headers, body: '{"name":' })
  expect(JSON.parse(await bad.text())).toMatchObject({ code: 'request-invalid' })
  const missing = await transport({ method: 'GET', url: `${scene.server.url}/v1/no-such-thing`, headers })
  expect(JSON.parse(await missing.text())).toMatchObject({ code: 'not-found' })
  const large = await transport({
    method: 'POST',
    url: `${scene.server.url}/v1/keys`,
    headers,
    body: `{"name":"${'x'.repeat(5_000_000)}"}`,
  })
  expect(JSON.parse(await large.text())).toMatchObject({ code: 'payload-too-large' })
})

test('the OpenAPI 3.1 document describes every route with the validated shapes', async () => {
  await using scene = await openHttpScene()
  const Document = z.looseObject({
    openapi: z.literal('3.1.0'),
    paths: z.record(z.string(), z.record(z.string(), z.looseObject({ operationId: z.string(), responses: z.looseObject({}) }))),
    components: z
      .record(z.string(), z.record(z.string(), z.unknown()))
      .and(z.object({ schemas: z.record(z.string(), z.unknown()) })),
  })
  const document = await scene.nobody.call('GET', '/v1/openapi.json', Document)
  const { paths, components } = document
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
  expect(Object.keys(paths)).toEqual(
    expect.arrayContaining(['/v1/builds', '/v1/builds/{id}/follow', '/v1/engine/claim', '/v1/openapi.json', '/healthz']),
  )
  expect(JSON.stringify(paths['/v1/builds'])).toContain('#/components/schemas/BuildInput')
  expect(paths['/v1/builds']?.['post']).toMatchObject({ security: [{ token: ['build:write'] }, { session: ['build:write'] }] })
  const text = JSON.stringify(document)
  expect(JSON.stringify(components.schemas['BuildInput'])).toContain('resetVolume')
  const references = [...text.matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)]
  expect(references.length).toBeGreaterThan(100)
  for (const [, kind = '', name = ''] of references) expect(components[kind], `${kind} ${name}`).toHaveProperty([name])
  expect(text).not.toContain('$defs')
  const Parameter = z.union([z.object({ name: z.string() }), z.object({ $ref: z.string() })])
  const Named = z.object({ name: z.string() })
  const parametersOf = (path: string): string[] =>
    z
      .object({ parameters: z.array(Parameter) })
      .parse(paths[path]?.['get'])
      .parameters.map((parameter) =>
        '$ref' in parameter
          ? Named.parse(components['parameters']?.[parameter.$ref.replace('#/components/parameters/', '')]).name
          : parameter.name,
      )
  expect(parametersOf('/v1/pipelines')).toEqual(expect.arrayContaining(['limit', 'cursor']))
  expect(parametersOf('/v1/builds/{id}/log').toSorted()).toEqual([
    'attempt',
    'download',
    'gzip',
    'id',
    'limit',
    'offset',
    'stream',
    'tail',
  ])
})

test('serves status and health without a credential, and metrics with one', async () => {
  await using scene = await openHttpScene()
  expect(await scene.nobody.call('GET', '/v1/status', ServerStatus)).toMatchObject({ bootstrapped: true, protocol: 2 })
  expect(await scene.nobody.text('GET', '/healthz')).toBe('ok\n')
  expect(await scene.nobody.text('GET', '/readyz')).toBe('ok\n')
  const { engine, build } = await scene.start()
  await engine.succeed()
  await scene.admin.call('GET', `/v1/builds/${build.id}/wait`, Build)
  await expect(scene.nobody.text('GET', '/metrics')).rejects.toMatchObject({ code: 'unauthenticated' })
  const metrics = await scene.admin.text('GET', '/metrics')
  for (const line of [
    'windlass_builds_total{result="success"} 1',
    'windlass_tasks_queued 1',
    'windlass_build_duration_seconds_count{result="success"} 1',
  ]) {
    expect(metrics).toContain(line)
  }
  expect(metrics).toMatch(/windlass_task_wait_seconds_count 1\b/)
  expect(metrics).toMatch(/windlass_agent_last_seen_seconds\{agent="agent"\} [\d.]+/)
})

test('HEAD is served only for public documents, never for logs and streams', async () => {
  await using scene = await openHttpScene()
  const { engine, build } = await scene.start()
  await engine.succeed()
  const head = async (path: string): Promise<number> => {
    const headers = { authorization: `Bearer ${scene.adminToken}` }
    return (await fetch(scene.server.url + path, { method: 'HEAD', headers })).status
  }
  for (const path of ['/healthz', '/readyz', '/v1/status', '/v1/openapi.json'])
    expect([path, await head(path)]).toEqual([path, 200])
  for (const path of ['log', 'log?tail=5', 'feed', 'follow', 'wait'])
    expect([path, await head(`/v1/builds/${build.id}/${path}`)]).toEqual([path, 404])
  expect(await head('/v1/builds')).toBe(404)
})

test('PUT creates and replaces a pipeline by name and checks its revision', async () => {
  await using scene = await openHttpScene()
  const path = `/v1/pipelines/${encodeURIComponent('shop/build')}`
  const put = (headers: Record<string, string>, document = HELLO): Promise<Pipeline> =>
    scene.admin.call('PUT', path, Pipeline, { body: { name: 'shop/build', document }, headers })
  expect(await put({ 'if-none-match': '*' })).toMatchObject({ name: 'shop/build', project: 'shop', revision: 1 })
  await expect(put({ 'if-none-match': '*' })).rejects.toMatchObject({ code: 'conflict' })
  expect(await put({ 'if-match': '"1"' }, `# second\n${HELLO}`)).toMatchObject({ revision: 2, document: `# second\n${HELLO}` })
  await expect(put({ 'if-match': '"1"' })).rejects.toMatchObject({ code: 'conflict' })
  expect((await scene.admin.call('GET', path, Pipeline)).document).toBe(`# second\n${HELLO}`)
  expect((await scene.admin.call('GET', '/v1/projects/shop', Project)).pipelines).toBe(1)
  await expect(scene.admin.text('DELETE', '/v1/projects/shop')).rejects.toMatchObject({ code: 'conflict' })
  await scene.admin.text('DELETE', path)
  await expect(scene.admin.text('GET', path)).rejects.toMatchObject({ code: 'not-found' })
  await scene.admin.text('DELETE', '/v1/projects/shop')
})

test('pages of lists neither skip nor repeat items', async () => {
  await using scene = await openHttpScene()
  for (let n = 0; n < 7; n += 1) {
    await scene.admin.call('POST', '/v1/pipelines', Pipeline, { body: { name: `p/${n}`, document: HELLO } })
    await scene.submit({ branch: n % 2 === 0 ? 'even' : 'odd' })
  }
  const collect = async <T extends z.ZodType>(path: string, item: T, query: object = {}): Promise<z.output<T>[]> => {
    const all: z.output<T>[] = []
    for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
      const answer = await scene.admin.call('GET', path, page(item), { query: { limit: 3, cursor, ...query } })
      all.push(...answer.items)
      cursor = answer.next
    }
    return all
  }
  expect((await collect('/v1/pipelines', Pipeline)).map(({ name }) => name)).toEqual([
    'p/0',
    'p/1',
    'p/2',
    'p/3',
    'p/4',
    'p/5',
    'p/6',
  ])
  expect((await collect('/v1/builds', Build)).map(({ number }) => number)).toEqual([7, 6, 5, 4, 3, 2, 1])
  expect((await collect('/v1/builds', Build, { branch: 'odd' })).map(({ number }) => number)).toEqual([6, 4, 2])
  expect(await collect('/v1/builds', Build, { status: 'success,error' })).toEqual([])
})

test('runs a POST with an Idempotency-Key once and repeats its response', async () => {
  await using scene = await openHttpScene()
  const post = (body: object, key = 'one'): Promise<Build> =>
    scene.admin.call('POST', '/v1/builds', Build, { body, headers: { 'idempotency-key': key } })
  const first = await post({ document: HELLO })
  expect((await post({ document: HELLO })).id).toBe(first.id)
  await expect(post({ document: HELLO, branch: 'b' })).rejects.toMatchObject({ code: 'idempotency-mismatch' })
  const many = await Promise.all(
    Array.from({ length: 8 }, () => post({ document: HELLO }, 'two').catch((error: unknown) => error)),
  )
  const ids = new Set(many.flatMap((answer) => (answer instanceof Error ? [] : [Build.parse(answer).id])))
  expect(ids.size).toBe(1)
  expect((await scene.admin.call('GET', '/v1/builds', page(Build))).items).toHaveLength(2)
  await expect(post({ pipeline: 'missing' }, 'three')).rejects.toMatchObject({ code: 'not-found' })
  await scene.admin.call('POST', '/v1/pipelines', Pipeline, { body: { name: 'missing', document: HELLO } })
  expect(await post({ pipeline: 'missing' }, 'three')).toMatchObject({ pipeline: 'missing' })
})

test('reports problems of a document by line, and requires a pipeline or a document for a build', async () => {
  await using scene = await openHttpScene()
  const Validation = z.object({ valid: z.boolean(), problems: z.array(z.looseObject({ line: z.int(), code: z.string() })) })
  const check = (document: string): Promise<z.output<typeof Validation>> =>
    scene.admin.call('POST', '/v1/validate', Validation, { body: { document, file: 'a.yaml' } })
  expect(await check(HELLO)).toEqual({ valid: true, problems: [] })
  expect(await check('steps: [')).toMatchObject({ valid: false, problems: [{ file: 'a.yaml' }] })
  await expect(scene.submit({ document: undefined })).rejects.toMatchObject({ code: 'request-invalid' })
  await expect(scene.submit({ runtime: 'nowhere' })).rejects.toMatchObject({ code: 'runtime-unknown' })
  expect(await scene.submit({ document: 'steps: [' })).toMatchObject({ status: 'error', reason: 'invalid-pipeline' })
})

test('stores a pipeline and reports its problems, including those with its account (P175)', async () => {
  await using scene = await openHttpScene()
  const document = "version: '1.0'\nsteps:\n  it:\n    type: push\n    candidate: '${{IMAGE}}'\n    registry: '${{TARGET}}'\n"
  const push = { name: 'push', document: document.replace("'${{TARGET}}'", 'nowhere') }
  expect(await scene.admin.call('POST', '/v1/pipelines', Pipeline, { body: push })).toMatchObject({
    problems: [{ line: 3, column: 3, severity: 'error', code: 'registry-missing' }],
  })
  const body = { name: 'hub', type: 'registry', data: { domain: 'r.example.com' } }
  await scene.admin.call('POST', '/v1/contexts', Context, { body })
  expect(await scene.admin.call('PUT', '/v1/pipelines/push', Pipeline, { body: push })).toMatchObject({
    problems: [{ line: 6, column: 15, severity: 'error', code: 'registry-unknown' }],
  })
  const put = { name: 'push', document }
  expect((await scene.admin.call('PUT', '/v1/pipelines/push', Pipeline, { body: put })).problems).toBeUndefined()
  expect((await scene.admin.call('GET', '/v1/pipelines/push', Pipeline)).problems).toBeUndefined()
})

test.each([
  { type: 'git', secret: 'password', field: 'url', from: 'https://git.test', to: 'https://evil.test' },
  { type: 'registry', secret: 'password', field: 'domain', from: 'r.test', to: 'evil.test' },
  { type: 'secret-store', secret: 'token', field: 'url', from: 'https://vault.test', to: 'https://evil.test' },
])('rejects a kept $secret of a $type context with another $field', async ({ type, secret, field, from, to }) => {
  await using scene = await openHttpScene()
  const put = (data: Record<string, string>): Promise<unknown> =>
    scene.admin.call('PUT', '/v1/contexts/c', Context, { body: { name: 'c', type, data } })
  await put({ [field]: from, [secret]: 'real' })
  await expect(put({ [field]: to, [secret]: '*****' })).rejects.toMatchObject({
    code: 'request-invalid',
    message: `The field "${field}" changes, so the stored value of "${secret}" is not kept.`,
    hint: `Send the value of "${secret}" together with the new "${field}".`,
  })
  await put({ [field]: from, [secret]: '*****' })
  await put({ [field]: to, [secret]: 'other' })
})

test('creates, replaces, shows and deletes contexts, runtimes and agents', async () => {
  await using scene = await openHttpScene()
  const body = { name: 'git', type: 'git', isDefault: true, data: { url: 'https://git.test', username: 'u', password: 'p' } }
  expect(await scene.admin.call('POST', '/v1/contexts', Context, { body })).toMatchObject({
    data: { password: '*****', username: 'u' },
  })
  const wrong = scene.admin.text('POST', '/v1/contexts', { body: { name: 'x', type: 'git', data: { token: 't' } } })
  await expect(wrong).rejects.toMatchObject({ code: 'request-invalid' })
  const kept = { ...body, data: { ...body.data, password: '*****', username: 'v' } }
  expect(await scene.admin.call('PUT', '/v1/contexts/git', Context, { body: kept })).toMatchObject({
    data: { password: '*****', username: 'v' },
  })
  await scene.admin.text('DELETE', '/v1/contexts/git')
  expect((await scene.admin.call('GET', '/v1/contexts', page(Context))).items).toEqual([])
  expect(await scene.admin.call('GET', '/v1/runtimes/local', Runtime)).toMatchObject({
    agentOnline: true,
    isDefault: true,
    running: 0,
    waiting: 0,
  })
  await scene.admin.call('PUT', '/v1/runtimes/other', Runtime, { body: { name: 'other', type: 'kubernetes', isDefault: true } })
  expect(
    (await scene.admin.call('GET', '/v1/runtimes', page(Runtime))).items.map(({ name, isDefault }) => [name, isDefault]),
  ).toEqual([
    ['local', false],
    ['other', true],
  ])
  await scene.admin.text('DELETE', '/v1/runtimes/other?force=true')
  await scene.admin.text('DELETE', '/v1/agents/agent')
  await expect(scene.agent.claim(0)).rejects.toMatchObject({ code: 'unauthenticated' })
  const { agentOnline, agentState } = await scene.admin.call('GET', '/v1/runtimes/local', Runtime)
  expect([agentOnline, agentState]).toEqual([false, { exists: false }])
})

test('rejects new builds below the configured free disk space', async () => {
  await using scene = await openHttpScene({ minFreeShare: 1.1 })
  await expect(scene.submit()).rejects.toMatchObject({ code: 'storage-full', status: 507 })
  expect((await scene.admin.call('GET', '/v1/builds', page(Build))).items).toEqual([])
})

test('a restart runs the same document, variables, secrets and commit again', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start({
    branch: 'main',
    revision: 'abc',
    variables: { A: '1' },
    secrets: { S: 's3cret' },
  })
  await engine.finish({ status: 'error', reason: 'step-failed' })
  const again = await scene.admin.call('POST', `/v1/builds/${build.id}/restart`, Build)
  expect(again).toMatchObject({
    restartOf: build.id,
    branch: 'main',
    revision: 'abc',
    trigger: { kind: 'restart' },
    status: 'pending',
  })
  const tasks = await scene.agent.claim()
  const start =
    tasks.find((task) => task.kind === 'start-attempt') ??
    (await scene.agent.claim()).find((task) => task.kind === 'start-attempt')
  expect(start?.buildId).toBe(again.id)
})
