/** Sign-in, keys, projects, contexts, registries and step types with the public command line. */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { idIn, openCodefresh, rowsOf, type Codefresh } from './client.ts'

let codefresh: Codefresh

beforeAll(async () => {
  codefresh = await openCodefresh()
})

afterAll(() => codefresh[Symbol.asyncDispose]())

test('creates, lists and switches contexts, and refuses a wrong key (F001, F002, F003)', async () => {
  const { url, key } = codefresh
  const HOME = join(codefresh.folder, 'other-home')
  await mkdir(HOME)
  const auth = (...words: string[]): ReturnType<Codefresh['run']> => codefresh.runWith({ HOME }, 'auth', ...words)
  const wrong = await auth('create-context', 'wrong', '--api-key', `${key.slice(0, -4)}xxxx`, '--url', url)
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('API Key is not valid') })
  expect(await auth('create-context', 'one', '--api-key', key, '--url', url)).toMatchObject({ code: 0 })
  const { token } = await codefresh.admin.keys.create({ name: 'viewer', role: 'viewer' })
  expect(await auth('create-context', 'two', '--api-key', token, '--url', url)).toMatchObject({ code: 0 })
  const stored = await readFile(join(HOME, '.cfconfig'), 'utf8')
  expect(stored.match(/onPrem: \w+/g)).toEqual(['onPrem: true', 'onPrem: false'])
  const { stdout } = await auth('get-contexts')
  expect(rowsOf(stdout)).toEqual([
    ['one', url, 'default', 'Valid'],
    ['*', 'two', url, 'default', 'Valid'],
  ])
  expect(await auth('use-context', 'one')).toMatchObject({ code: 0 })
  await codefresh.admin.keys.delete('viewer')
  expect(rowsOf((await auth('current-context')).stdout)).toEqual([['*', 'one', url, 'default', 'Valid']])
  expect(rowsOf((await auth('get-contexts')).stdout)[1]?.slice(-1)).toEqual(['Revoked'])
})

test('shows the version of the server (F004)', async () => {
  const { version } = await codefresh.admin.server.status()
  const [api, ...parts] = await Promise.all(['api', 'hermes', 'nomios'].map((part) => codefresh.must('version', '-c', part)))
  expect(api).toBe(`api version: ${version}\n`)
  for (const text of parts) expect(text).toContain(version)
})

test('creates, lists, changes and revokes keys; the token is shown once and is refused afterwards (F026)', async () => {
  const { url } = codefresh
  const printed = await codefresh.must('create', 'token', 'ci', '--scope', 'pipeline', 'project:read')
  const token = /[0-9a-f]{24}\.\S+/.exec(printed)?.[0] ?? ''
  const asKey = (...words: string[]): ReturnType<Codefresh['run']> =>
    codefresh.runWith({ HOME: codefresh.folder, CF_API_KEY: token, CF_URL: url }, ...words)
  expect(await asKey('get', 'pipelines')).toMatchObject({ code: 0 })
  expect(await asKey('get', 'contexts')).toMatchObject({ code: 1, stderr: expect.stringContaining('do not have permissions') })
  const listed = rowsOf(await codefresh.must('get', 'tokens', 'ci'))
  expect(listed).toEqual([expect.arrayContaining([idIn(token), 'ci', token.slice(0, 8)])])
  await codefresh.must('patch', 'token', idIn(token), '--name', 'renamed', '--scope', 'pipeline:read')
  expect((await codefresh.admin.keys.list()).items).toContainEqual(
    expect.objectContaining({ name: 'renamed', scopes: ['build:read', 'pipeline:read'] }),
  )
  expect(await codefresh.must('delete', 'token', idIn(token))).toContain(`Deleted token: '${idIn(token)}'`)
  expect(await asKey('get', 'pipelines')).toMatchObject({ code: 1, stderr: expect.stringContaining('Error') })
  expect(await codefresh.must('delete', 'token', idIn(token))).toContain('Not deleted')
})

test('creates, lists, changes and deletes projects (F022)', async () => {
  expect(await codefresh.run('get', 'project', 'shop')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('No projects found'),
  })
  await codefresh.must('create', 'project', 'shop', '-v', 'A=1')
  expect(await codefresh.run('create', 'project', 'shop')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('already exists'),
  })
  expect(await codefresh.run('create', 'project', 'tagged', '--tag', 'a')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Projects have no tags.'),
  })
  expect(rowsOf(await codefresh.must('get', 'projects', '--name', 'sho'))).toEqual([expect.arrayContaining(['shop'])])
  await codefresh.must('patch', 'project', 'shop', '-v', 'B=2')
  expect(JSON.parse(await codefresh.must('get', 'project', 'shop', '-o', 'json'))).toMatchObject({
    projectName: 'shop',
    variables: [{ key: 'B', value: '2', encrypted: false }],
  })
  const secret = await codefresh.run('patch', 'project', 'shop', '-v', 'C=3', '-e', 'C')
  expect(secret).toMatchObject({ code: 1, stderr: expect.stringContaining('no encrypted variables') })
  await codefresh.must('delete', 'project', 'shop')
  expect((await codefresh.admin.projects.list()).items).toEqual([])
})

test('creates contexts, masks their secrets, and replaces, changes and deletes them (F023, F025)', async () => {
  await codefresh.must('create', 'context', 'config', 'plain', '-v', 'A=1', '-v', 'B=2')
  await codefresh.must('create', 'context', 'secret', 'hidden', '-v', 'TOKEN=topsecret')
  await codefresh.must('create', 'context', 'yaml', 'tree', '-v', 'A=1')
  const listed = await codefresh.must('get', 'contexts', '-o', 'json')
  expect(listed).not.toContain('topsecret')
  expect(rowsOf(await codefresh.must('get', 'contexts'))).toEqual([
    ['hidden', 'secret'],
    ['plain', 'config'],
    ['tree', 'yaml'],
  ])
  expect(JSON.parse(await codefresh.must('get', 'context', 'hidden', '--decrypt', '-o', 'json'))).toMatchObject({
    spec: { data: { TOKEN: '*****' } },
  })
  expect(rowsOf(await codefresh.must('get', 'contexts', '--type', 'config'))).toEqual([['plain', 'config']])
  const context = (data: object): object => ({ kind: 'context', metadata: { name: 'plain' }, spec: { type: 'config', data } })
  await codefresh.must('patch', 'context', '-f', await codefresh.file('patch.json', context({ B: '3' })))
  expect((await codefresh.admin.contexts.get('plain')).data).toEqual({ A: '1', B: '3' })
  await codefresh.must('replace', '-f', await codefresh.file('replace.json', context({ C: '4' })))
  expect((await codefresh.admin.contexts.get('plain')).data).toEqual({ C: '4' })
  await codefresh.must('patch', 'context', '-f', await codefresh.file('new.json', { ...context({}), metadata: { name: 'new' } }))
  await codefresh.must('delete', 'context', 'new')
  await codefresh.must('delete', '-f', await codefresh.file('delete.json', context({})))
  expect((await codefresh.admin.contexts.list()).items.map(({ name }) => name)).toEqual(['hidden', 'tree'])
})

test('creates contexts for Git, whose passwords engines get (F024)', async () => {
  const git = (...words: string[]): Promise<string> => codefresh.must('create', 'context', 'git', ...words)
  await git('github', 'hub', '--access-token', 'topsecret')
  await git('github', 'hub-own', '--access-token', 'topsecret', '--host', 'github.example.com')
  await git('gitlab', 'lab', '--access-token', 'topsecret', '--api-url', 'https://gitlab.example.com/api/v4/')
  const of = async (name: string): Promise<unknown> => (await codefresh.admin.contexts.get(name)).data
  expect(await of('hub')).toEqual({ url: 'https://github.com', password: '*****' })
  expect(await of('hub-own')).toEqual({ url: 'https://github.example.com', password: '*****' })
  expect(await of('lab')).toEqual({ url: 'https://gitlab.example.com', password: '*****' })
  expect(rowsOf(await codefresh.must('get', 'contexts', '--type', 'git.github')).map(([name]) => name)).toEqual([
    'hub',
    'hub-own',
    'lab',
  ])
  const other = { kind: 'context', metadata: { name: 'charts' }, spec: { type: 'helm-repository', data: {} } }
  const refused = await codefresh.run('create', '-f', await codefresh.file('charts.json', other))
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('no contexts of type "helm-repository"') })
})

test('adds, lists and removes registries without showing their passwords (F039)', async () => {
  const words = ['--username', 'ann', '--password', 'topsecret', '--domain', 'registry.example.com']
  await codefresh.must('create', 'registry', 'standard', 'main', ...words)
  const listed = await codefresh.must('get', 'registry', '-o', 'json')
  expect(listed).not.toContain('topsecret')
  const [row = []] = rowsOf(await codefresh.must('get', 'registry'))
  expect(row).toEqual([expect.stringMatching(/^[0-9a-f]{24}$/), 'other', 'main', 'standard', 'false', 'false'])
  expect(await codefresh.admin.contexts.get('main')).toMatchObject({
    type: 'registry',
    data: { domain: 'registry.example.com', username: 'ann', password: '*****' },
  })
  await codefresh.must('delete', 'registry', row[0] ?? '')
  await expect(codefresh.admin.contexts.get('main')).rejects.toMatchObject({ code: 'not-found' })
})

test('creates, lists, replaces and deletes step types with their versions (F038)', async () => {
  const manifest = (version: string, text: string): object => ({
    version: '1.0',
    kind: 'step-type',
    metadata: { name: 'acme/greet', version, description: 'greets' },
    spec: {
      arguments: JSON.stringify({ type: 'object', properties: { NAME: { type: 'string' } } }),
      steps: { main: { image: codefresh.image, commands: [`echo ${text}`] } },
    },
  })
  for (const version of ['1.0.0', '1.1.0'])
    await codefresh.must('create', '-f', await codefresh.file(`${version}.json`, manifest(version, 'hi')))
  expect(rowsOf(await codefresh.must('get', 'step-types', 'acme/greet', '--versions'))).toEqual([['1.1.0'], ['1.0.0']])
  const text = await codefresh.must('get', 'step-type', 'acme/greet', '-o', 'json')
  expect(JSON.parse(text)).toMatchObject({ metadata: { version: '1.1.0', isPublic: false } })
  await codefresh.must('replace', '-f', await codefresh.file('again.json', text.replace('echo hi', 'echo again')))
  expect((await codefresh.admin.stepTypes.get('acme/greet')).manifest).toContain('echo again')
  const own = rowsOf(await codefresh.must('get', 'step-types', '--name', 'acme'))
  expect(own).toEqual([expect.arrayContaining(['acme/greet', '1.1.0', 'private'])])
  await codefresh.must('delete', 'step-type', 'acme/greet')
  const missing = await codefresh.run('get', 'step-type', 'acme/greet')
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("Step-type 'acme/greet' was not found.") })
})

test('creates and lists teams, and adds and removes members (F044)', async () => {
  const { admin } = codefresh
  const [mira, jo] = await Promise.all(
    ['mira', 'jo'].map((name) => admin.users.create({ name, kind: 'service-account', role: 'developer' })),
  )
  if (mira === undefined || jo === undefined) throw new Error('no users')
  expect(await codefresh.must('create', 'team', 'releasers', '-u', mira.id)).toContain('Team: releasers created')
  expect(await codefresh.run('create', 'team', 'releasers')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('already exists'),
  })
  expect(await codefresh.run('create', 'team', 'tagged', '-t', 'a')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Teams have no tags.'),
  })
  const team = await admin.teams.get('releasers')
  expect(team).toMatchObject({ role: 'none', members: ['mira'] })
  await codefresh.must('patch', 'team', '-t', team.id, '-u', jo.id)
  expect((await admin.teams.get('releasers')).members).toEqual(['jo', 'mira'])
  const listed = JSON.parse(await codefresh.must('get', 'teams', '-o', 'json')) as unknown
  expect([listed].flat()).toEqual([expect.objectContaining({ id: team.id, name: 'releasers', type: 'default' })])
  await codefresh.must('delete', 'team', '-t', team.id, '-u', jo.id)
  expect((await admin.teams.get('releasers')).members).toEqual(['mira'])
})

test('downloads the audit log (F048)', async () => {
  await codefresh.must('create', 'project', 'audited')
  await codefresh.must('download', 'audit', '--file', join(codefresh.folder, 'audit.csv'))
  const [heading = '', ...lines] = (await codefresh.read('audit.csv')).split('\r\n')
  expect(heading.split(',').slice(0, 3)).toEqual(['seq', 'at', 'kind'])
  const { last } = await codefresh.admin.audit.chain()
  expect(lines.pop()).toBe('')
  // Reading the chain is not recorded, so it ends where the download began.
  expect(lines).toHaveLength(last.seq)
  expect(lines[0]?.endsWith(last.hash)).toBe(true)
  expect(lines.some((line) => line.includes('POST /api/projects'))).toBe(true)
  expect(
    await codefresh.run('download', 'audit', '--entity', 'pipeline', '--file', join(codefresh.folder, 'no.csv')),
  ).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be filtered by entity') })
})
