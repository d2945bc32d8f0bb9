/** Git sources in the shared configuration repository: changes, refusals, files of people, and commits that meet others. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Answer } from '../../../packages/app-proxy/test/support/scene.ts'
import { openGitopsScene, type GitopsScene } from './gitops-scene.ts'

let at: GitopsScene

beforeAll(async () => {
  at = await openGitopsScene()
  const body = { repository: `${at.url}/ann/gitops.git` }
  expect((await at.call('PUT', '/shared-configuration', { body })).status).toBe(200)
})
beforeEach(() => {
  at.beforePush = async () => undefined
})
afterAll(() => at[Symbol.asyncDispose]())

test('a Git source is created, listed, edited and deleted, each with one commit of the user (O035)', async () => {
  const repository = `${at.url}/ann/apps.git/prod?ref=main`
  const created = await at.windlass(
    `gitops git-source create prod apps --git-src-repo ${repository} --label team=shop`,
    at.keys.ben,
  )
  expect(created).toMatchObject({ code: 0, stdout: 'git-source/apps created\n' })
  expect(await at.inClone('gitops', 'log', '--format=%an: %s', '-1')).toBe(
    'ben: Create the Git source apps of the GitOps runtime prod\n',
  )
  expect(await at.inClone('gitops', 'show', '--format=', '--name-status', 'HEAD')).toBe('A\tresources/runtimes/prod/apps.yaml\n')
  expect(await at.read('resources/runtimes/prod/apps.yaml')).toContain(
    `    repoURL: ${at.url}/ann/apps.git\n    path: prod\n    targetRevision: main\n`,
  )
  const again = await at.windlass(
    `gitops git-source create prod apps --git-src-repo ${repository} --label team=shop`,
    at.keys.ben,
  )
  expect(again).toEqual({ code: 0, stdout: 'git-source/apps unchanged\n', stderr: '' })
  expect((await at.windlass('gitops git-source list prod', at.keys.vic)).stdout).toBe(
    `NAME  TYPE      REPOSITORY${' '.repeat(repository.length - 'REPOSITORY'.length)}  INCLUDE  EXCLUDE\napps  standard  ${repository}  *\n`,
  )
  const edited = await at.windlass('gitops git-source edit prod apps --include *.yaml --message Narrow', at.keys.ben)
  expect(edited.stdout).toBe('git-source/apps changed\n')
  expect(await at.inClone('gitops', 'show', '--format=%s', 'HEAD')).toMatch(
    /^Narrow\n[\s\S]*-\s+include: "\*"\n\+\s+include: "\*.yaml"\n/,
  )
  // Without a right to push people still see them.
  expect((await at.call('GET', '/git-sources', { by: at.keys.rea })).body.items).toMatchObject([{ name: 'apps' }])
  expect(await at.call('DELETE', '/git-sources/apps', { by: at.keys.ben })).toMatchObject({
    status: 403,
    body: { right: 'manage-gitops' },
  })
  expect((await at.windlass('gitops git-source delete prod apps')).stdout).toBe('git-source/apps deleted\n')
  expect(await at.filesOf('gitops')).not.toContain('resources/runtimes/prod/apps.yaml')
  expect((await at.windlass('gitops git-source delete prod apps')).code).toBe(3)
  expect((await at.windlass('gitops git-source list prod')).stderr).toBe('No Git sources found.\n')
})

test('a restricted Git source is an object with its destinations, and its type never changes (O037)', async () => {
  const options = `--restricted --source-namespace cf-shop --destination in-cluster/shop-* --git-src-repo ${at.url}/ann/apps.git`
  expect((await at.windlass(`gitops git-source create prod shop ${options}`)).stdout).toBe('git-source/shop created\n')
  const text = await at.read('resources/runtimes/prod/shop.yaml')
  expect(text).toContain('kind: RestrictedGitSource\n')
  expect(text).toContain('  destinations:\n    - name: in-cluster\n      namespace: shop-*\n')
  const list = await at.call('GET', '/git-sources')
  expect(list.body.items).toMatchObject([
    { name: 'shop', type: 'restricted', sourceNamespace: 'cf-shop', file: 'resources/runtimes/prod/shop.yaml' },
  ])
  const standard = { type: 'standard', repository: `${at.url}/ann/apps.git` }
  expect(await at.call('PUT', '/git-sources/shop', { body: standard })).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('never changes') },
  })
  const wrong = await at.windlass(`gitops git-source create prod other ${options.replace('cf-shop', 'shop')}`)
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('must begin with cf-') })
  expect((await at.windlass(`gitops git-source edit prod shop --destination *:x`)).code).toBe(2)
  expect((await at.windlass('gitops git-source edit prod shop --destination https://10.0.0.1:6443/shop')).code).toBe(0)
  expect(await at.read('resources/runtimes/prod/shop.yaml')).toContain(
    '    - server: https://10.0.0.1:6443\n      namespace: shop\n',
  )
})

test('a Git source is refused if its repository, branch or folder is not there, or its name is in use (O035, O036)', async () => {
  const head = await at.inClone('gitops', 'rev-parse', 'HEAD')
  const create = (change: object, by = at.keys.ada): Promise<Answer> =>
    at.call('POST', '/git-sources', {
      by,
      body: { name: 'new', type: 'standard', repository: `${at.url}/ann/apps.git`, ...change },
    })
  for (const name of ['in-cluster', 'prod', 'prod-isc', 'shop'])
    expect(await create({ name })).toMatchObject({ status: 409, body: { code: 'conflict' } })
  for (const repository of [`${at.url}/ann/absent.git`, `${at.url}/ann/apps.git?ref=absent`, `${at.url}/ann/apps.git/absent`])
    expect(await create({ repository })).toMatchObject({ status: 404, body: { code: 'not-found' } })
  for (const repository of ['git@github.com:acme/apps.git', 'http://other.example.com/acme/apps.git', 'https://x:y@h/a/b.git'])
    expect(await create({ repository })).toMatchObject({ status: 400, body: { detail: expect.stringContaining('Invalid URL') } })
  expect(await create({ unknown: 1 })).toMatchObject({ status: 400 })
  expect(await create({}, at.keys.vic)).toMatchObject({ status: 403, body: { right: 'change-gitops' } })
  expect(await create({}, at.keys.rea)).toMatchObject({ status: 403, body: { right: 'git-push' } })
  expect(await at.inClone('gitops', 'rev-parse', 'HEAD')).toBe(head)
})

test('a repository of a host without an integration is written unchecked, and the answer says so (O035)', async () => {
  const made = await at.windlass('gitops git-source create prod far --git-src-repo https://far.example.com/acme/apps.git')
  expect(made).toMatchObject({ code: 0, stdout: 'git-source/far created\n', stderr: expect.stringContaining('was not checked') })
  expect((await at.windlass('gitops git-source delete prod far')).code).toBe(0)
})

test('files of people stay, and one in the place of a Git source is not overwritten', async () => {
  await at.write('gitops', 'resources/runtimes/prod/own.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n')
  await at.write('gitops', 'resources/runtimes/prod/broken.yaml', 'a: [')
  await at.write('gitops', 'resources/runtimes/prod/notes/x.yaml', 'a: 1\n')
  const standard = { type: 'standard', repository: `${at.url}/ann/apps.git` }
  expect((await at.call('GET', '/git-sources')).body.items).toMatchObject([{ name: 'shop' }])
  for (const [method, path, body] of [
    ['POST', '/git-sources', { ...standard, name: 'own' }],
    ['PUT', '/git-sources/own', standard],
    ['PUT', '/git-sources/broken', standard],
    ['DELETE', '/git-sources/own', undefined],
  ] as const)
    expect(await at.call(method, path, { ...(body !== undefined && { body }) })).toMatchObject({ status: 409 })
  expect(await at.call('PUT', '/shared-configuration', { body: {} })).toMatchObject({ body: { commit: { isNew: false } } })
  expect(await at.filesOf('gitops')).toEqual(
    expect.arrayContaining(['own.yaml', 'broken.yaml', 'notes/x.yaml'].map((name) => `resources/runtimes/prod/${name}`)),
  )
})

test('a change is made again on top of another commit of its file, and a name that is taken meanwhile is a conflict (O029, O035)', async () => {
  const repository = `${at.url}/ann/apps.git`
  const file = 'resources/runtimes/prod/race.yaml'
  expect((await at.windlass(`gitops git-source create prod race --git-src-repo ${repository}`)).code).toBe(0)
  const text = await at.read(file)
  let pushes = 0
  at.beforePush = async () => {
    pushes += 1
    if (pushes === 1) await at.write('gitops', file, `# of another person\n${text}`)
  }
  const edit = { type: 'standard', repository, include: 'only.yaml' }
  expect(await at.call('PUT', '/git-sources/race', { body: edit })).toMatchObject({
    status: 200,
    body: { commit: { isNew: true } },
  })
  expect(pushes).toBe(2)
  const both = await at.read(file)
  expect(both).toContain('# of another person\n')
  expect(both).toContain('include: "only.yaml"\n')
  // Another person takes the name between the check and the push.
  pushes = 0
  at.beforePush = async () => {
    pushes += 1
    await at.write('gitops', 'resources/runtimes/prod/taken.yaml', text.replace('name: race', 'name: taken').replace('"*"', 'x'))
  }
  const taken = await at.call('POST', '/git-sources', { body: { name: 'taken', type: 'standard', repository } })
  expect(taken).toMatchObject({ status: 409, body: { code: 'conflict', detail: expect.stringContaining('in use') } })
  expect(pushes).toBe(1)
  // Each try meets another commit.
  at.beforePush = async () => {
    pushes += 1
    await at.write('gitops', file, `# ${pushes}\n${text}`)
  }
  expect(await at.call('PUT', '/git-sources/race', { body: { ...edit, include: 'last.yaml' } })).toMatchObject({
    status: 409,
    body: { code: 'git-conflict', other: { author: 'ann', subject: `Write ${file}` } },
  })
  expect(at.scene.leftovers()).toEqual([])
})

test('Git sources that are created at once are all there (O035)', async () => {
  const names = Array.from({ length: 5 }, (_, number) => `many-${number}`)
  const made = await Promise.all(
    names.map((name) =>
      at.call('POST', '/git-sources', { body: { name, type: 'standard', repository: `${at.url}/ann/apps.git` } }),
    ),
  )
  expect(made.map(({ status }) => status)).toEqual(names.map(() => 200))
  expect((await at.call('GET', '/git-sources')).body.items).toEqual(
    expect.arrayContaining(names.map((name) => expect.objectContaining({ name }))),
  )
})
