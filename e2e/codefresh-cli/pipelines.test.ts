/** Pipelines and their validation with the public command line, and what it prints for refused and unsupported calls. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endOf, openCodefresh, rowsOf, type Codefresh } from './client.ts'

let codefresh: Codefresh

beforeAll(async () => {
  codefresh = await openCodefresh()
})

afterAll(() => codefresh[Symbol.asyncDispose]())

interface Spec {
  readonly labels?: object
  readonly [field: string]: unknown
}

const manifest = (name: string, { labels, ...spec }: Spec = {}): object => ({
  version: '1.0',
  kind: 'pipeline',
  metadata: { name, description: `about ${name}`, ...(labels !== undefined && { labels }) },
  spec: { steps: { hello: { image: codefresh.image, commands: ['echo hello'] } }, ...spec },
})

/** Stores a pipeline as the server does for `create`, for tests of other commands. */
const store = (name: string, spec: Spec = {}): Promise<object> =>
  codefresh.admin.pipelines.create({ name, document: JSON.stringify(manifest(name, spec)) })

const names = async (...words: string[]): Promise<(string | undefined)[]> =>
  rowsOf(await codefresh.must('get', 'pipelines', ...words)).map(([name]) => name)

test('creates a pipeline with its project, and shows it with masked values (F006, F007)', async () => {
  const variables = [
    { key: 'A', value: 'topsecret', encrypted: true },
    { key: 'B', value: 'plain' },
  ]
  const file = await codefresh.file('app.json', manifest('shop/app', { variables, concurrency: 2 }))
  expect(await codefresh.must('create', '-f', file)).toContain('shop/app created')
  const shown: unknown = JSON.parse(await codefresh.must('get', 'pipeline', 'shop/app', '-o', 'json'))
  expect(shown).toMatchObject({
    kind: 'pipeline',
    metadata: { name: 'shop/app', project: 'shop', description: 'about shop/app', revision: 1 },
    spec: {
      concurrency: 2,
      variables: [
        { key: 'A', value: '*****', encrypted: true },
        { key: 'B', value: 'plain', encrypted: false },
      ],
      steps: { hello: { commands: ['echo hello'] } },
    },
  })
  expect(await codefresh.must('get', 'pipeline', 'shop/app', '--decrypt-variables', '-o', 'json')).not.toContain('topsecret')
  expect((await codefresh.admin.pipelines.get('shop/app')).document).not.toContain('topsecret')
  const missing = await codefresh.run('get', 'pipeline', 'shop/none')
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("Pipeline 'shop/none' was not found.") })
  await codefresh.must('delete', 'pipeline', 'shop/app')
})

test('replaces a pipeline by what was read, which keeps encrypted values (F008)', async () => {
  const encrypted = manifest('team/app', { variables: [{ key: 'A', value: 'topsecret', encrypted: true }], triggers: [] })
  await codefresh.must('create', '-f', await codefresh.file('team-app.json', encrypted))
  const read = await codefresh.must('get', 'pipeline', 'team/app', '-o', 'yaml')
  const changed = read.replace('echo hello', 'echo changed')
  expect(await codefresh.must('replace', '-f', await codefresh.file('changed.yml', changed))).toContain(
    "Pipeline 'team/app' updated",
  )
  const stored = await codefresh.admin.pipelines.get('team/app')
  expect(stored).toMatchObject({ revision: 2, variables: [{ key: 'A', value: '*****', encrypted: true }] })
  expect(stored.document).toContain('echo changed')
  const { id } = await codefresh.admin.builds.create({ pipeline: 'team/app', document: SHOWS_A(codefresh.image) })
  expect((await endOf(codefresh.admin, id)).status).toBe('success')
  const none = await codefresh.run('replace', '-f', await codefresh.file('none.json', manifest('team/none')))
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('Could not find pipeline "team/none".') })
  await codefresh.must('delete', 'pipeline', 'team/app')
})

/** A document that succeeds only with the stored value of the variable. */
const SHOWS_A = (image: string): string =>
  JSON.stringify({ version: '1.0', steps: { check: { image, commands: ['test "$A" = topsecret'] } } })

test('lists pipelines by name, project and label, a page at a time (F005)', async () => {
  await Promise.all([
    store('list/one', { labels: { tags: ['x', 'y'] } }),
    store('list/two', { labels: { tags: ['y'] } }),
    store('other'),
  ])
  expect(await names()).toEqual(['list/one', 'list/two', 'other'])
  expect(await names('--name', 'two')).toEqual(['list/two'])
  expect(await names('--project', 'list')).toEqual(['list/one', 'list/two'])
  expect(await names('--label', 'tags=x')).toEqual(['list/one'])
  expect(await names('--label', 'tags=x,y')).toEqual(['list/one', 'list/two'])
  expect(await names('--limit', '1', '--page', '2')).toEqual(['list/two'])
  expect(await names('--all')).toHaveLength(3)
  const none = await codefresh.run('get', 'pipelines', '--project', 'none')
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('Could not get project "none"') })
})

test('deletes pipelines by name and by file (F009)', async () => {
  await Promise.all([store('gone/one'), store('gone/two')])
  expect(await codefresh.must('delete', 'pipeline', 'gone/one')).toContain("Pipeline 'gone/one' deleted.")
  await codefresh.must('delete', '-f', await codefresh.file('gone.json', manifest('gone/two')))
  for (const name of ['gone/one', 'gone/two'])
    await expect(codefresh.admin.pipelines.get(name)).rejects.toMatchObject({ code: 'not-found' })
  const again = await codefresh.run('delete', 'pipeline', 'gone/one')
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('Error: The pipeline "gone/one" does not exist.') })
})

test('validates documents: valid, with errors, and several at once (F010)', async () => {
  const good = await codefresh.file('good.yml', `version: '1.0'\nsteps:\n  a: {image: '${codefresh.image}'}\n`)
  const bad = await codefresh.file('bad.yml', "version: '1.0'\nsteps:\n  a: {image: x, comands: [y]}\n  b: {type: nonsense}\n")
  expect(await codefresh.must('validate', good)).toContain('Yaml is valid!')
  const refused = await codefresh.run('validate', bad)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('nonsense') })
  expect(refused.stderr).toMatch(/1 error/)
  const both = await codefresh.must('validate', good, bad)
  expect(both).toMatch(new RegExp(`Validation result for ${good}:\\n.*Yaml is valid!`))
  expect(both).toMatch(new RegExp(`Validation result for ${bad}:\\n[^]*nonsense`))
})

test('does not create a pipeline whose steps are not valid, and says why (F007, F010)', async () => {
  // The client ends with 0 and prints "created" in any case.
  const created = await codefresh.run(
    'create',
    '-f',
    await codefresh.file('invalid.json', manifest('bad', { steps: { a: { type: 'nonsense' } } })),
  )
  expect(created.stdout + created.stderr).toContain('nonsense')
  await expect(codefresh.admin.pipelines.get('bad')).rejects.toMatchObject({ code: 'not-found' })
})

test('prints one sentence for refused, conflicting and unsupported calls (F042)', async () => {
  await store('twice')
  const twice = await codefresh.run('create', '-f', await codefresh.file('twice.json', manifest('twice')))
  expect(twice).toMatchObject({ code: 1, stderr: 'Error: The pipeline "twice" already exists.\n' })
  const { token } = await codefresh.admin.keys.create({ name: 'reader', role: 'viewer' })
  const viewer = { HOME: codefresh.folder, CF_API_KEY: token, CF_URL: codefresh.url }
  expect((await codefresh.runWith(viewer, 'delete', 'pipeline', 'twice')).stderr).toContain(
    'Error: You do not have permissions to perform this action',
  )
  const unsupported = await codefresh.run('create', 'board', 'red')
  expect(unsupported).toMatchObject({ code: 1, stderr: 'Error: Windlass does not support POST /api/helm/boards.\n' })
})

test('lists resources that Windlass does not have as empty (F040)', async () => {
  for (const what of ['boards', 'helm-repo', 'compositions', 'environments'])
    expect(await codefresh.must('get', what), what).toMatch(/^(?:no available resources)?\s*$/)
})

test('creates events and triggers, lists them, and deletes triggers; they are cron and event triggers (F045)', async () => {
  await store('team/nightly')
  const { id } = await codefresh.admin.pipelines.get('team/nightly')
  expect(await codefresh.must('get', 'triggers')).not.toContain(id)
  const types = rowsOf(await codefresh.must('get', 'trigger-types')).map(([type]) => type)
  expect(types).toEqual(expect.arrayContaining(['cron', 'registry']))
  const cron = ['--type', 'cron', '--kind', 'codefresh', '--value', 'expression=0 0 */2 * * *', '--value', 'message=hello']
  const [uri = ''] = /cron:codefresh:[^\n]*[0-9a-f]{12}/.exec(await codefresh.must('create', 'trigger-event', ...cron)) ?? []
  expect(uri).toContain('cron:codefresh:0 */2 * * *:hello:')
  await codefresh.must('create', 'trigger', uri, id)
  expect((await codefresh.admin.cronTriggers.list({ query: { pipeline: id } })).items).toMatchObject([
    { expression: '0 */2 * * *', message: 'hello' },
  ])
  const image = ['--type', 'registry', '--kind', 'any', '--value', 'namespace=acme', '--value', 'name=base']
  const [pushed = ''] = /registry:any:\S*[0-9a-f]{12}/.exec(await codefresh.must('create', 'trigger-event', ...image)) ?? []
  await codefresh.must('create', 'trigger', pushed, id)
  const listed: unknown = JSON.parse(await codefresh.must('get', 'triggers', '--pipeline', id, '-o', 'json'))
  expect([listed].flat()).toEqual(
    expect.arrayContaining([expect.objectContaining({ event: uri, pipeline: id }), expect.objectContaining({ event: pushed })]),
  )
  expect(await codefresh.must('get', 'triggers', '--event-uri', uri)).toContain(id)
  expect(await codefresh.must('get', 'trigger-events', '--type', 'registry', '--kind', 'any')).toContain('acme')
  for (const event of [uri, pushed]) await codefresh.must('delete', 'trigger', event, id)
  expect((await codefresh.admin.cronTriggers.list({ query: { pipeline: id } })).items).toEqual([])
  expect((await codefresh.admin.eventTriggers.list({ query: { pipeline: id } })).items).toEqual([])
})
