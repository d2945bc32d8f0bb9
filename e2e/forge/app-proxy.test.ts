/** An app-proxy at a real server and a real forge: Git tokens, what they list, commits and conflicts. */
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { KubeObject } from '@windlass/kube'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { openScene, type Answer, type Scene } from '../../packages/app-proxy/test/support/scene.ts'
import { NAMESPACE } from '../../packages/app-proxy/test/support/kube-api.ts'
import { openHttpScene, type HttpScene } from '../../packages/server/test/support/http-scene.ts'
import { startGitea, type Gitea, type GiteaUser } from '../support/gitea.ts'

const run = promisify(execFile)

let server: HttpScene
let scene: Scene
let forge: Gitea
/** Owner of the repository `ann/deploy`. */
let ann: GiteaUser
/** Has a right to write. */
let ben: GiteaUser
/** Keys of the server. */
let keys: Record<'admin' | 'ann' | 'ben' | 'eve', string>
const closing = new AsyncDisposableStack()

beforeAll(async () => {
  server = closing.use(await openHttpScene())
  forge = closing.use(await startGitea())
  const { token: runtimeToken } = await server.admin.gitopsRuntimes.createToken('prod')
  const control = { url: server.server.url, accountId: server.server.app.accountId, runtimeToken }
  scene = closing.use(await openScene(control))
  ann = await forge.addUser('ann')
  ben = await forge.addUser('ben')
  await ann.api('PATCH', '/user/settings', { full_name: 'Ann <Lee>', hide_email: false })
  await ann.api('POST', '/user/repos', { name: 'deploy', private: true, default_branch: 'main', auto_init: true })
  await ann.api('PUT', '/repos/ann/deploy/collaborators/ben', { permission: 'write' })
  keys = { admin: server.adminToken, ann: await addKey('ann'), ben: await addKey('ben'), eve: await addKey('eve') }
  const integration = { provider: 'gitea', url: forge.url }
  expect((await scene.call('PUT', '/git-integrations/default', { token: keys.admin, body: integration })).status).toBe(200)
})

afterAll(() => closing.disposeAsync())

async function addKey(name: string): Promise<string> {
  await server.admin.users.create({ name, role: 'developer', password: 'correct horse battery' })
  return (await server.admin.keys.create({ name: `${name}-key`, role: 'admin', owner: name })).token
}

function register(user: GiteaUser, token: string): Promise<Answer> {
  return scene.call('PUT', '/git-integrations/default/token', { token, body: { token: user.token } })
}

function browse(path: string, query: Record<string, string> = {}, token = keys.ann): Promise<Answer> {
  return scene.call('GET', `/git-integrations/default/${path}?${new URLSearchParams(query).toString()}`, { token })
}

interface Commit {
  readonly files?: readonly object[]
  readonly deletes?: readonly string[]
  readonly message?: string
  readonly base?: string
  readonly branch?: string
  readonly repo?: string
}

function commit(change: Commit, token = keys.ann): Promise<Answer> {
  const body = { repo: 'ann/deploy', branch: 'main', message: 'Change the deployment', ...change }
  return scene.call('POST', '/git-integrations/default/commits', { token, body })
}

const text = (path: string, content: string): object => ({ path, content })

/** Returns the record of a Secret. */
function sealedOf(secret: KubeObject | undefined): string {
  return z.object({ token: z.string() }).parse(secret?.['data']).token
}

/** Commits with the API of the forge, as another person would. */
async function pushElsewhere(path: string, content: string): Promise<string> {
  const contents = `/repos/ann/deploy/contents/${path}`
  const found = (await ben.api('GET', contents).catch(() => undefined)) as { sha: string } | undefined
  const body = { content: Buffer.from(content).toString('base64'), message: `Write ${path}`, branch: 'main' }
  const made = await ben.api(
    found === undefined ? 'POST' : 'PUT',
    contents,
    found === undefined ? body : { ...body, sha: found.sha },
  )
  return (made as { commit: { sha: string } }).commit.sha
}

/** Clones the repository with git. Returns what a git command prints there. */
async function inClone(args: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-clone-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const env = { ...process.env, ...ann.gitEnv }
  await run('git', ['clone', '--quiet', `${forge.url}/ann/deploy.git`, folder], { env })
  return (await run('git', ['-C', folder, ...args], { env })).stdout
}

test('a Git token is checked at the forge, encrypted in a Secret, and in no answer and no log (O027)', async () => {
  expect(await browse('repositories')).toMatchObject({ status: 422, body: { code: 'git-token-missing' } })
  const wrong = { token: 'f'.repeat(40) }
  expect(await scene.call('PUT', '/git-integrations/default/token', { token: keys.ann, body: wrong })).toMatchObject({
    status: 422,
    body: { code: 'git-token-refused' },
  })
  expect(scene.kube.objects.size).toBe(1)
  expect(await register(ann, keys.ann)).toMatchObject({
    status: 200,
    body: { login: 'ann', name: 'Ann <Lee>', email: 'ann@example.com', registeredAt: expect.any(Number) },
  })
  expect((await register(ben, keys.ben)).status).toBe(200)
  const { id } = await server.admin.users.get('ann')
  const secret = scene.kube.objects.get(`secrets/git-default-${id}`)
  expect(secret?.metadata.labels).toMatchObject({
    'io.codefresh.integration-type': 'git',
    'io.codefresh.integration-name': 'default',
  })
  const stored = Buffer.from(sealedOf(secret), 'base64').toString()
  expect(stored).toMatch(/^wl1\.[\w-]+\.[\w-]+\.[\w-]+$/)
  const list = await scene.call('GET', '/git-integrations', { token: keys.ann })
  expect(list.body.items).toMatchObject([{ name: 'default', registration: { login: 'ann' } }])
  expect(list.body.items[0]?.registeredUsers).toHaveLength(2)
  const seen = [JSON.stringify([...scene.kube.objects.values()]), JSON.stringify(list.body), ...scene.lines].join('\n')
  for (const token of [ann.token, ben.token, keys.ann, wrong.token]) {
    expect(seen).not.toContain(token)
    expect(seen).not.toContain(Buffer.from(token).toString('base64').replace(/=+$/, ''))
  }
})

test('lists what the token of the user sees, in pages and by search (O026)', async () => {
  await ann.api('POST', '/orgs', { username: 'acme', full_name: 'Acme' })
  for (let number = 0; number < 55; number += 1)
    await ann.api('POST', '/orgs/acme/repos', { name: `app-${String(number).padStart(2, '0')}`, private: true })
  expect((await browse('organizations')).body).toEqual({ items: [{ name: 'acme', title: 'Acme' }] })
  const first = await browse('repositories', { organization: 'acme' })
  expect(first.body.items).toHaveLength(50)
  const second = await browse('repositories', { organization: 'acme', cursor: first.body.cursor })
  expect(second.body.items).toHaveLength(5)
  expect(second.body.cursor).toBeUndefined()
  const names = [...first.body.items, ...second.body.items].map(({ fullName }) => fullName)
  expect(new Set(names).size).toBe(55)
  const found = await browse('repositories', { organization: 'acme', search: 'APP-54' })
  expect(found.body.items).toMatchObject([{ fullName: 'acme/app-54', isPrivate: true, canPush: true }])
  expect((await browse('repositories', { search: 'deploy' })).body.items).toMatchObject([{ fullName: 'ann/deploy' }])
  // Another user does not see them.
  expect((await browse('repositories', { organization: 'acme' }, keys.ben)).body.items ?? []).toEqual([])
  expect((await browse('repository', { repo: 'acme/app-01' }, keys.ben)).status).toBe(404)
})

test('lists branches, tags, commits and folders, and reads files (O026)', async () => {
  const head = await pushElsewhere('deploy/values.yaml', 'replicas: 1\n')
  await ann.api('POST', '/repos/ann/deploy/branches', { new_branch_name: 'release/1.0', old_branch_name: 'main' })
  await ann.api('POST', '/repos/ann/deploy/tags', { tag_name: 'v1', target: 'main' })
  const repo = 'ann/deploy'
  const branches = (await browse('branches', { repo })).body.items
  expect(branches).toEqual(
    expect.arrayContaining([
      { name: 'main', revision: head },
      { name: 'release/1.0', revision: head },
    ]),
  )
  expect((await browse('tags', { repo })).body.items).toEqual([{ name: 'v1', revision: head }])
  expect((await browse('commits', { repo, ref: 'release/1.0', path: 'deploy' })).body.items).toMatchObject([
    { revision: head, message: expect.stringContaining('Write deploy/values.yaml'), author: 'ben' },
  ])
  expect((await browse('tree', { repo })).body.items).toEqual(
    expect.arrayContaining([expect.objectContaining({ name: 'deploy', path: 'deploy', type: 'folder' })]),
  )
  expect((await browse('tree', { repo, path: '/deploy/', ref: 'v1' })).body.items).toEqual([
    { name: 'values.yaml', path: 'deploy/values.yaml', type: 'file', size: 12 },
  ])
  expect((await browse('file', { repo, path: 'deploy/values.yaml', ref: head })).body).toEqual({
    path: 'deploy/values.yaml',
    size: 12,
    encoding: 'utf8',
    content: 'replicas: 1\n',
  })
  expect((await browse('file', { repo, path: 'deploy' })).status).toBe(404)
  expect((await browse('file', { repo, path: 'deploy/values.yaml', ref: 'nothing' })).status).toBe(404)
  for (const query of [
    { repo, path: '../../user' },
    { repo: '../user', path: 'x' },
    { repo: 'ann/..', path: 'x' },
    { repo, path: 'x', ref: '-x' },
    { repo, path: 'x', url: 'http://evil.test' },
  ])
    expect(await browse('file', query)).toMatchObject({ status: 400, body: { code: 'request-invalid' } })
})

test('commits in the name of the user, with their identity at the forge (O028)', async () => {
  const made = await commit({
    message: 'Scale to three replicas\n\nThe shop is busy.',
    files: [
      text('shop/values.yaml', 'replicas: 3\n'),
      { path: 'shop/logo ü.png', content: '/9g=', encoding: 'base64' },
      text('-c', 'x'),
    ],
  })
  expect(made).toMatchObject({ status: 200, body: { isNew: true, isRebased: false, branch: 'main' } })
  expect(made.body.url).toBe(`${forge.url}/ann/deploy/commit/${made.body.revision}`)
  expect(await inClone(['log', '-1', '--format=%H%n%an <%ae>%n%cn <%ce>%n%B'])).toBe(
    `${made.body.revision}\nAnn Lee <ann@example.com>\nAnn Lee <ann@example.com>\nScale to three replicas\n\nThe shop is busy.\n\n`,
  )
  expect(await inClone(['show', 'HEAD:shop/values.yaml'])).toBe('replicas: 3\n')
  // The same contents make no second commit, so a repeated call does no harm.
  expect((await commit({ files: [text('shop/values.yaml', 'replicas: 3\n')] })).body).toMatchObject({
    revision: made.body.revision,
    isNew: false,
  })
  const second = await commit({ deletes: ['-c'], files: [text('shop/values.yaml', 'replicas: 4\n')] }, keys.ben)
  expect(await inClone(['log', '-1', '--format=%H %an', '--name-status'])).toBe(
    `${second.body.revision} ben\n\nD\t-c\nM\tshop/values.yaml\n`,
  )
  expect(scene.leftovers()).toEqual([])
})

test('keeps the mode of files, and refuses links, folders and paths that lead elsewhere (O028)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-clone-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const identity = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@x', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@x' }
  const git = (...args: string[]): Promise<unknown> =>
    run('git', args, { cwd: folder, env: { ...process.env, ...ann.gitEnv, ...identity } })
  await git('clone', '--quiet', `${forge.url}/ann/deploy.git`, '.')
  symlinkSync('/etc', join(folder, 'link'))
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin/run'), 'first')
  chmodSync(join(folder, 'bin/run'), 0o755)
  await git('add', '.')
  await git('commit', '--quiet', '-m', 'Add a link and a program')
  await git('push', '--quiet', 'origin', 'HEAD:main')
  expect((await commit({ files: [text('bin/run', '#!/bin/sh\n')] })).status).toBe(200)
  expect(await inClone(['ls-tree', 'HEAD', 'bin/run'])).toMatch(/^100755 blob/)
  const before = await inClone(['rev-parse', 'HEAD'])
  for (const change of [
    { files: [text('link', 'x')] },
    { files: [text('link/x', 'x')] },
    { files: [text('bin', 'x')] },
    { deletes: ['bin'] },
    { files: [text('bin/run/x', 'x')] },
    { files: [text('.git/hooks/post-checkout', 'x')] },
    { files: [text('a/.GIT/config', 'x')] },
    { files: [text('../x', 'x')] },
    { files: [text('a\nb', 'x')] },
    { files: [text('a', 'x'), text('a/b', 'x')] },
    { files: [text('a', 'x')], deletes: ['a'] },
    { files: [] },
    { files: [text('a', 'x')], branch: '--upload-pack=touch' },
    { files: [text('a', 'x')], base: '--all' },
    { files: [{ path: 'a', content: 'no base64!', encoding: 'base64' }] },
    { files: [text('a', 'x')], message: ' ' },
  ])
    expect(await commit(change)).toMatchObject({ status: 400, body: { code: 'request-invalid' } })
  expect(await inClone(['rev-parse', 'HEAD'])).toBe(before)
  expect(await commit({ files: [text('a', 'x')], branch: 'nothing' })).toMatchObject({ status: 404, body: { code: 'not-found' } })
  expect(scene.leftovers()).toEqual([])
})

test('a commit on top of other files is rebased, and one of the same files is a conflict that names the other commit (O029)', async () => {
  const base = (await commit({ files: [text('conflict/a.yaml', '1\n'), text('conflict/b.yaml', '1\n')] })).body.revision
  const other = await pushElsewhere('conflict/b.yaml', '2\n')
  const apart = await commit({ base, files: [text('conflict/a.yaml', '2\n')] })
  expect(apart).toMatchObject({ status: 200, body: { isNew: true, isRebased: true } })
  expect((await inClone(['log', '-2', '--format=%H'])).split('\n')).toEqual([apart.body.revision, other, ''])
  const together = await commit({ base, files: [text('conflict/b.yaml', '3\n')] })
  expect(together).toMatchObject({
    status: 409,
    body: {
      code: 'git-conflict',
      detail: expect.stringContaining('conflict/b.yaml'),
      other: { revision: other, author: 'ben', subject: 'Write conflict/b.yaml', paths: ['conflict/b.yaml'] },
    },
  })
  // What the other commit has written already is no conflict.
  expect(await commit({ base, files: [text('conflict/b.yaml', '2\n')] })).toMatchObject({ status: 200, body: { isNew: false } })
  expect(await commit({ base: 'f'.repeat(40), files: [text('conflict/a.yaml', '9\n')] })).toMatchObject({ status: 404 })
})

test('of commits at once each one is on the branch, or its user learns of the conflict (O029)', async () => {
  let isOver = false
  // Another person pushes other files meanwhile. Their call fails if it comes second.
  const elsewhere = (async () => {
    for (let number = 0; number < 8 && !isOver; number += 1)
      await pushElsewhere(`elsewhere/${number}.yaml`, `${number}\n`).catch(() => '')
  })()
  const apart = await Promise.all(
    [0, 1, 2, 3].map((number) =>
      commit({ files: [text(`many/${number}.yaml`, `${number}\n`)] }, number === 0 ? keys.ben : keys.ann),
    ),
  )
  isOver = true
  await elsewhere
  const log = (await inClone(['log', '--format=%H'])).split('\n')
  for (const { status, body } of apart)
    if (status === 200) expect(log).toContain(body.revision)
    else expect(body.code).toBe('git-conflict')
  const base = log[0] ?? ''
  const together = await Promise.all([1, 2, 3].map((number) => commit({ base, files: [text('many/same.yaml', `${number}\n`)] })))
  expect(together.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409])
  expect(scene.leftovers()).toEqual([])
})

test('who may not push at the forge is refused, and so is what a rule of the branch refuses', async () => {
  await forge.addUser('eve').then((eve) => register(eve, keys.eve))
  const change = { files: [text('x', 'x')] }
  expect(await commit(change, keys.eve)).toMatchObject({ status: 404 })
  await ann.api('PUT', '/repos/ann/deploy/collaborators/eve', { permission: 'read' })
  expect(await commit(change, keys.eve)).toMatchObject({ status: 403, body: { code: 'forbidden', right: 'git-push' } })
  await ann.api('POST', '/repos/ann/deploy/branch_protections', { rule_name: 'release/*', enable_push: false })
  const refused = await commit({ ...change, branch: 'release/1.0' })
  expect(refused).toMatchObject({ status: 422, body: { code: 'git-refused', detail: expect.stringMatching(/protected/i) } })
  expect(JSON.stringify([refused.body, ...scene.lines])).not.toContain(ann.token)
})

test('after the token of the runtime changes, Git tokens are encrypted again and still work (O027)', async () => {
  const sealed = (): string[] =>
    [...scene.kube.objects].flatMap(([key, object]) =>
      key.startsWith('secrets/') ? [Buffer.from(sealedOf(object), 'base64').toString()] : [],
    )
  const keyIds = (): Set<string | undefined> => new Set(sealed().map((record) => record.split('.')[1]))
  const [before] = keyIds()
  // Ann registers again while her record is encrypted again: her new one stays.
  let late: string | undefined
  scene.kube.beforePatch = (name) => {
    const object = scene.kube.objects.get(`secrets/${name}`)
    if (late !== undefined || object === undefined) return
    late = name
    scene.kube.objects.set(`secrets/${name}`, { ...object, metadata: { ...object.metadata, resourceVersion: 'changed' } })
  }
  const next = await server.admin.gitopsRuntimes.createToken('prod')
  scene.writeToken(next.token)
  await expect.poll(() => keyIds().size === 1 && !keyIds().has(before)).toBe(true)
  expect(late).toBeDefined()
  expect((await browse('repository', { repo: 'ann/deploy' })).status).toBe(200)
  // Another replacement while the app-proxy does not run needs the earlier token.
  const last = await server.admin.gitopsRuntimes.createToken('prod')
  const folder = mkdtempSync(join(tmpdir(), 'windlass-token-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const previousTokenFile = join(folder, 'previous')
  await scene.proxy.close()
  scene.writeToken(last.token)
  await scene.restart()
  expect(await browse('repository', { repo: 'ann/deploy' })).toMatchObject({ status: 422, body: { code: 'git-token-missing' } })
  writeFileSync(previousTokenFile, next.token)
  await scene.restart({ previousTokenFile })
  expect((await browse('repository', { repo: 'ann/deploy' })).status).toBe(200)
  await expect.poll(() => keyIds().size).toBe(1)
  await scene.restart()
  expect((await browse('repository', { repo: 'ann/deploy' })).status).toBe(200)
})

test('an integration that is changed to another forge does not get the Git tokens of the first one (O027)', async () => {
  const { id } = await server.admin.users.get('ben')
  const put = (url: string): Promise<Answer> =>
    scene.call('PUT', '/git-integrations/default', { token: keys.admin, body: { provider: 'gitea', url } })
  await put('https://evil.example.com')
  expect(await browse('repositories')).toMatchObject({ status: 422, body: { code: 'git-token-missing' } })
  await put(forge.url)
  expect((await browse('repository', { repo: 'ann/deploy' })).status).toBe(200)
  // A record under the name of another user does not open.
  const annId = (await server.admin.users.get('ann')).id
  const [mine, theirs] = [`secrets/git-default-${annId}`, `secrets/git-default-${id}`]
  const [own, other] = [scene.kube.objects.get(mine), scene.kube.objects.get(theirs)]
  if (own === undefined || other === undefined) throw new Error('a token is missing')
  scene.kube.objects.set(theirs, { ...other, data: own['data'] })
  expect(await browse('repositories', {}, keys.ben)).toMatchObject({ status: 422, body: { code: 'git-token-missing' } })
  expect(own.metadata.namespace).toBe(NAMESPACE)
})

test('deregistering deletes the Secret, and removing the integration deletes those of all users (O027)', async () => {
  const path = '/git-integrations/default/token'
  expect((await scene.call('DELETE', path, { token: keys.ann })).status).toBe(204)
  expect(await scene.call('DELETE', path, { token: keys.ann })).toMatchObject({
    status: 422,
    body: { code: 'git-token-missing' },
  })
  expect(await browse('repositories')).toMatchObject({ status: 422, body: { code: 'git-token-missing' } })
  const { id } = await server.admin.users.get('eve')
  const ofBen = `/git-integrations/default/tokens/${id}`
  expect(await scene.call('DELETE', ofBen, { token: keys.ben })).toMatchObject({ status: 403, body: { right: 'manage-gitops' } })
  expect((await scene.call('DELETE', ofBen, { token: keys.admin })).status).toBe(204)
  expect((await scene.call('DELETE', ofBen, { token: keys.admin })).status).toBe(404)
  expect((await scene.call('DELETE', '/git-integrations/default', { token: keys.admin })).status).toBe(204)
  expect([...scene.kube.objects.keys()]).toEqual([])
  expect((await browse('repositories')).status).toBe(404)
})

test('admins can keep an integration for themselves', async () => {
  const body = { provider: 'gitea', url: forge.url, sharingPolicy: 'ACCOUNT_ADMINS' }
  expect((await scene.call('PUT', '/git-integrations/own', { token: keys.admin, body })).status).toBe(200)
  expect((await scene.call('GET', '/git-integrations', { token: keys.ann })).body.items).toEqual([])
  expect((await scene.call('GET', '/git-integrations/own', { token: keys.ann })).status).toBe(404)
  expect((await scene.call('GET', '/git-integrations/own', { token: keys.admin })).body).toMatchObject({ name: 'own' })
})
