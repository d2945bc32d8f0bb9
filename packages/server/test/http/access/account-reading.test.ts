/** The routes through which public clients read an account. */
import { get, type IncomingMessage } from 'node:http'
import { fault, nodeTransport } from '@windlass/kit'
import { createClient } from '@windlass/protocol'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { savePipeline } from '../../../src/store/pipelines/pipelines.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const Any = z.unknown()
const Fields = z.looseObject({})
const List = z.object({ docs: z.array(z.looseObject({ metadata: Fields, spec: Fields })), count: z.int() })

const MANIFEST = `kind: pipeline
metadata: {name: demo/app, description: The app, labels: {tags: [a]}}
spec:
  triggers: [{name: push, type: git}]
  concurrency: 2
  variables:
    - {key: A, value: topsecret, encrypted: true}
    - {key: B, value: plain}
  contexts: [shared]
  stages: [one]
  steps:
    b: {image: x, stage: one}
    a: {image: y}
`

async function fill({ admin }: HttpScene): Promise<void> {
  await admin.projects.create({ name: 'demo', variables: { P: 'q' } })
  await admin.projects.create({ name: 'other' })
  await admin.contexts.create({ name: 'shared', type: 'secret', data: { TOKEN: 'topsecret' } })
  await admin.contexts.create({
    name: 'work',
    type: 'git',
    isDefault: true,
    data: { url: 'https://git.example.com', password: 'topsecret' },
  })
  await admin.pipelines.create({ name: 'demo/app', document: MANIFEST })
  await admin.pipelines.create({ name: 'demo/app-two', document: "version: '1.0'\nsteps: {a: {image: x}}\n", priority: 3 })
  await admin.pipelines.create({ name: 'broken', document: 'steps: {a: b: c}\n' })
  for (const version of ['1.0.0', '1.10.0'])
    await admin.stepTypes.create({
      manifest: `kind: step-type\nmetadata: {name: acme/greet, version: ${version}}\nspec:\n  arguments: {type: object}\n  steps: {main: {image: x}}\n`,
    })
}

const read = (scene: HttpScene, path: string, query: Record<string, string | number | string[]> = {}): Promise<unknown> =>
  scene.admin.call('GET', `/api${path}`, Any, { query })

test('lists projects with their variables and number of pipelines', async () => {
  await using scene = await openHttpScene()
  await fill(scene)
  expect(await read(scene, '/projects')).toMatchObject({
    projects: [
      { projectName: 'demo', variables: [{ key: 'P', value: 'q', encrypted: false }], tags: [], pipelinesNumber: 2 },
      { projectName: 'other', pipelinesNumber: 0 },
    ],
    count: 2,
  })
  expect(await read(scene, '/projects', { limit: 1, offset: 1 })).toMatchObject({
    projects: [{ projectName: 'other' }],
    count: 2,
  })
  expect(await read(scene, '/projects', { name: 'th' })).toMatchObject({ projects: [{ projectName: 'other' }], count: 1 })
})

test('shows pipelines with settings and steps in one spec, and masks encrypted values', async () => {
  await using scene = await openHttpScene()
  await fill(scene)
  const list = List.parse(await read(scene, '/pipelines'))
  expect(list.count).toBe(3)
  expect(list.docs.map(({ metadata }) => metadata['name'])).toEqual(['broken', 'demo/app', 'demo/app-two'])
  expect(list.docs[0]).toMatchObject({ version: '1.0', kind: 'pipeline', spec: { triggers: [], variables: [] } })
  expect(list.docs[0]?.spec).not.toHaveProperty('steps')
  expect(list.docs[1]).toMatchObject({
    metadata: {
      project: 'demo',
      description: 'The app',
      labels: { tags: ['a'] },
      revision: 1,
      created_at: expect.stringMatching(/Z$/),
    },
    spec: {
      triggers: [{ name: 'push', type: 'git' }],
      concurrency: 2,
      contexts: ['shared'],
      variables: [
        { key: 'A', value: '*****', encrypted: true },
        { key: 'B', value: 'plain', encrypted: false },
      ],
      stages: ['one'],
    },
  })
  expect(Object.keys(Fields.parse(list.docs[1]?.spec['steps']))).toEqual(['b', 'a'])
  expect(list.docs[2]).toMatchObject({ spec: { priority: 3, steps: { a: { image: 'x' } } } })
  expect(JSON.stringify(list)).not.toContain('topsecret')
  expect(await read(scene, '/pipelines/demo%2Fapp')).toEqual(list.docs[1])
  const id = String(list.docs[1]?.metadata['id'])
  expect(await read(scene, `/pipelines/${id}`)).toEqual(list.docs[1])
  await expect(read(scene, '/pipelines/none')).rejects.toMatchObject({
    code: 'not-found',
    message: 'Could not find pipeline "none".',
  })
})

test('finds pipelines by name and project, exact names first, a page at a time', async () => {
  await using scene = await openHttpScene()
  await fill(scene)
  const names = async (query: Record<string, string | number | string[]>): Promise<unknown[]> =>
    List.parse(await read(scene, '/pipelines', query)).docs.map(({ metadata }) => metadata['name'])
  expect(await names({ id: 'app-two' })).toEqual(['demo/app-two'])
  expect(await names({ id: ['demo/app'] })).toEqual(['demo/app', 'demo/app-two'])
  expect(await names({ id: ['broken', 'demo/app-two'] })).toEqual(['broken', 'demo/app-two'])
  expect(await names({ limit: 1, offset: 1 })).toEqual(['demo/app'])
  const { items } = await scene.admin.projects.list()
  expect(await names({ projectId: items[0]?.id ?? '' })).toEqual(['demo/app', 'demo/app-two'])
})

test('shows contexts with masked secrets, also to viewers, and never decrypts', async () => {
  await using scene = await openHttpScene()
  await fill(scene)
  const { token } = await scene.admin.keys.create({ name: 'reader', role: 'viewer' })
  const viewer = createClient({ url: scene.server.url, token, transport: nodeTransport() })
  const expected = [
    {
      apiVersion: 'v1',
      kind: 'context',
      metadata: { name: 'shared', default: false, system: false },
      spec: { type: 'secret', data: { TOKEN: '*****' } },
    },
    {
      apiVersion: 'v1',
      kind: 'context',
      metadata: { name: 'work', default: true, system: false },
      spec: { type: 'git', data: { url: 'https://git.example.com', password: '*****' } },
    },
  ]
  expect(await viewer.call('GET', '/api/contexts', Any, { query: { decrypt: 'true' } })).toEqual(expected)
  expect(await read(scene, '/contexts', { type: ['git', 'config'] })).toEqual(expected.slice(1))
})

test('shows step types with their schemas as text, and their versions', async () => {
  await using scene = await openHttpScene()
  await fill(scene)
  const { docs } = List.parse(await read(scene, '/step-types', { limit: 1000 }))
  const own = docs.filter(({ metadata }) => metadata['official'] !== true)
  expect(own).toMatchObject([
    {
      version: '1.0',
      kind: 'step-type',
      metadata: { name: 'acme/greet', version: '1.10.0', isPublic: false },
      spec: { arguments: '{"type":"object"}', steps: { main: { image: 'x' } } },
    },
  ])
  expect(docs.length).toBeGreaterThan(own.length)
  expect(await read(scene, '/step-types/acme%2Fgreet/versions')).toEqual(['1.10.0', '1.0.0'])
  expect(await read(scene, '/step-types/acme%2Fgreet%3A1.0.0')).toMatchObject({ metadata: { version: '1.0.0' } })
  await expect(read(scene, '/step-types/none')).rejects.toMatchObject({ code: 'not-found' })
})

test('a page of large documents ends early, and the count says that there is more', async () => {
  await using scene = await openHttpScene()
  const document = `version: '1.0'\nsteps: {a: {image: x}}\n#${'x'.repeat(900_000)}\n`
  for (let n = 0; n < 6; n += 1) await scene.admin.pipelines.create({ name: `p${n}`, document })
  const { docs, count } = List.parse(await read(scene, '/pipelines', { limit: 100 }))
  expect(count).toBe(6)
  expect(docs).toHaveLength(4)
  const rest = List.parse(await read(scene, '/pipelines', { limit: 100, offset: 4 }))
  expect(rest.docs.map(({ metadata }) => metadata['name'])).toEqual(['p4', 'p5'])
})

test('a page ends before its answer is larger than 4 MiB, whatever the documents expand to', async () => {
  await using scene = await openHttpScene()
  // 5 KB of text, 1.5 MB of steps.
  const document = `version: '1.0'\nx: &x "${'x'.repeat(4_000)}"\nsteps: {a: {image: x, commands: [${'*x,'.repeat(375)}]}}\n`
  for (let n = 0; n < 3; n += 1) await scene.admin.pipelines.create({ name: `p${n}`, document })
  const first = List.parse(await read(scene, '/pipelines'))
  expect(first.count).toBe(3)
  expect(first.docs.map(({ metadata }) => metadata['name'])).toEqual(['p0', 'p1'])
  expect(JSON.stringify(first).length).toBeLessThan(4_194_304)
  const rest = List.parse(await read(scene, '/pipelines', { offset: 2 }))
  expect(rest.docs.map(({ metadata }) => metadata['name'])).toEqual(['p2'])
})

test('a page of step types ends before its answer is larger than 4 MiB, but has at least one', async () => {
  await using scene = await openHttpScene()
  await fill(scene)
  vi.spyOn(scene.server.app.documentPool, 'read').mockResolvedValue({ value: { spec: { x: 'x'.repeat(4_194_304) } } })
  const first = List.parse(await read(scene, '/step-types'))
  const second = List.parse(await read(scene, '/step-types', { offset: 1 }))
  expect([first.count, second.count]).toEqual([2, 2])
  expect([...first.docs, ...second.docs].map(({ metadata }) => metadata['name'])).toEqual(['acme/greet', 'codefresh-run'])
})

test('a list shows pipelines and step types whose documents are too expensive without their content', async () => {
  await using scene = await openHttpScene()
  await fill(scene)
  const { documentPool } = scene.server.app
  const original = documentPool.read.bind(documentPool)
  vi.spyOn(documentPool, 'read').mockImplementation(async (...input) => {
    if (/topsecret|The app|acme/.test(input[2])) throw fault('document-too-expensive')
    return original(...input)
  })
  const { docs } = List.parse(await read(scene, '/pipelines'))
  expect(docs.map(({ metadata, spec }) => [metadata['name'], spec['steps']])).toEqual([
    ['broken', undefined],
    ['demo/app', undefined],
    ['demo/app-two', { a: { image: 'x' } }],
  ])
  expect(docs[1]).toMatchObject({
    metadata: { description: 'The app', project: 'demo' },
    spec: { concurrency: 2, contexts: ['shared'], variables: [{ key: 'A', value: '*****' }, { key: 'B' }] },
  })
  await expect(read(scene, '/pipelines/demo%2Fapp')).rejects.toMatchObject({ code: 'document-too-expensive' })
  const types = List.parse(await read(scene, '/step-types'))
  expect(types.docs.map(({ metadata, spec }) => [metadata['name'], metadata['version'], Object.keys(spec).length > 0])).toEqual([
    ['acme/greet', '1.10.0', false],
    ['codefresh-run', '2.0.0', true],
  ])
})

test('a page ends early when the key has used its processing time', async () => {
  await using scene = await openHttpScene()
  await fill(scene)
  const names = async (offset: number): Promise<unknown[]> =>
    List.parse(await read(scene, '/pipelines', { offset })).docs.map(({ metadata }) => metadata['name'])
  const limited = fault('rate-limited')
  const mock = vi.spyOn(scene.server.app.documentPool, 'read').mockResolvedValueOnce({}).mockRejectedValueOnce(limited)
  expect(await names(0)).toEqual(['broken'])
  mock.mockRejectedValueOnce(limited)
  await expect(names(1)).rejects.toMatchObject({ code: 'rate-limited' })
  expect(await names(1)).toEqual(['demo/app', 'demo/app-two'])
})

test('a page has at most 300 pipelines, and other work runs between them', async () => {
  await using scene = await openHttpScene()
  const { store, documentPool } = scene.server.app
  await scene.admin.pipelines.create({ name: 'p', document: "version: '1.0'\nsteps: {a: {image: x}}\n" })
  const row = await store.query.selectFrom('pipeline').selectAll().executeTakeFirstOrThrow()
  await store.write(async (tx) => {
    for (let n = 1; n <= 300; n += 1) await savePipeline(tx, { ...row, id: `${row.id}${n}`, name: `p${n}` })
  })
  let turn = 0
  let isOver = false
  const countTurns = (): void => {
    turn += 1
    if (!isOver) setImmediate(countTurns)
  }
  countTurns()
  const turns: number[] = []
  const original = documentPool.read.bind(documentPool)
  vi.spyOn(documentPool, 'read').mockImplementation((...input) => {
    turns.push(turn)
    return original(...input)
  })
  const page = List.parse(await read(scene, '/pipelines', { limit: 10_000 }))
  isOver = true
  expect([page.docs.length, page.count]).toEqual([300, 301])
  expect(new Set(turns).size).toBe(300)
  expect(List.parse(await read(scene, '/pipelines', { limit: 10_000, offset: 300 })).docs).toHaveLength(1)
})

/** Sends a GET with a connection of its own. Does not read the body of the answer. */
function getUnread({ server, adminToken }: HttpScene, path: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  get(server.url + path, { agent: false, headers: { authorization: `Bearer ${adminToken}` } }, resolve).on('error', reject)
  return promise
}

test('answers concurrent lists of one key, and ends a call before its answer is read', async () => {
  await using scene = await openHttpScene({ documentLimits: { callsAtOnce: 2 } })
  await fill(scene)
  // More than the buffers of a connection take.
  vi.spyOn(scene.server.app.documentPool, 'read').mockResolvedValue({ value: { steps: 'x'.repeat(16_000_000) } })
  const unread = await Promise.all([getUnread(scene, '/api/pipelines'), getUnread(scene, '/api/pipelines')])
  unread.push(await getUnread(scene, '/api/step-types'))
  expect(unread.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200])
  for (const answer of unread) answer.destroy()
})
