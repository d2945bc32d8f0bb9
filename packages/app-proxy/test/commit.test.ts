/** Commits with real git at a forge that can be slow, large or hostile. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mountSmallDisk, unmountSmallDisk } from '../../../e2e/support/small-disk.ts'
import { openHttpScene, type HttpScene } from '../../server/test/support/http-scene.ts'
import { mergeTexts } from '../src/commit/merge-texts.ts'
import type { AppProxyOptions } from '../src/index.ts'
import { GIT_TOKEN, REPO, startGitForge, type GitForge } from './support/git-forge.ts'
import { openScene, type Answer, type Scene } from './support/scene.ts'

interface Parts extends AsyncDisposable {
  readonly server: HttpScene
  readonly scene: Scene
  /** Commits as a developer. Default: at the integration of the forge. */
  commit(change: object, integration?: string): Promise<Answer>
}

async function openParts(
  forge: GitForge,
  { url = forge.url, ...options }: Partial<AppProxyOptions> & { url?: string } = {},
): Promise<Parts> {
  await using opening = new AsyncDisposableStack()
  const server = opening.use(await openHttpScene())
  const { token: runtimeToken } = await server.admin.gitopsRuntimes.createToken('prod')
  const control = { url: server.server.url, accountId: server.server.app.accountId, runtimeToken }
  const scene = opening.use(await openScene(control, options))
  await server.admin.users.create({ name: 'dan', role: 'developer', password: 'correct horse battery' })
  const { token } = await server.admin.keys.create({ name: 'dan-key', role: 'admin', owner: 'dan' })
  const path = '/git-integrations/default'
  const put = (at: string, body: object, by: string): Promise<Answer> => scene.call('PUT', at, { token: by, body })
  expect(await put(path, { provider: 'gitea', url }, server.adminToken)).toMatchObject({ status: 200 })
  expect(await put(`${path}/token`, { token: GIT_TOKEN }, token)).toMatchObject({ status: 200, body: { login: 'ann' } })
  const opened = opening.move()
  return {
    server,
    scene,
    commit(change, integration = 'default') {
      const body = { repo: REPO, branch: 'main', message: 'Change it', ...change }
      return scene.call('POST', `/git-integrations/${integration}/commits`, { token, body })
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const write = (path: string, content: string): { files: object[] } => ({ files: [{ path, content }] })

test('commits on top of others, and fetches no history, also for the commit that the user has seen (O028, O029)', async () => {
  await using forge = await startGitForge({ 'a.yaml': 'a: 0\n', 'b.yaml': 'b: 0\n' })
  await forge.git('config', 'uploadpack.allowFilter', 'true')
  await using parts = await openParts(forge)
  for (const number of [1, 2, 3]) expect((await parts.commit(write('a.yaml', `a: ${number}\n`))).status).toBe(200)
  const made = await parts.commit({ ...write('b.yaml', 'b: 1\n'), base: forge.first })
  expect(made).toMatchObject({ status: 200, body: { isNew: true, isRebased: true } })
  expect(await forge.git('log', '--format=%an <%ae>', '-1', 'main')).toBe('ann <ann@example.com>')
  expect(await forge.git('rev-list', '--count', 'main')).toBe('5')
  const fetches = forge.calls.filter(({ body }) => body.includes('command=fetch'))
  expect(fetches.length).toBeGreaterThanOrEqual(5)
  for (const { body } of fetches) expect(body).toContain('deepen 1')
  expect(parts.scene.leftovers()).toEqual([])
})

test('a right that is taken away while a commit is made ends it before its push (O025, O028)', async () => {
  await using forge = await startGitForge({ 'a.yaml': 'a: 0\n' })
  await using parts = await openParts(forge)
  let isTaken = false
  forge.before = async ({ body }) => {
    if (isTaken || !body.includes('command=fetch')) return
    isTaken = true
    await parts.server.admin.users.change('dan', { role: 'viewer' })
    await expect.poll(async () => (await parts.commit(write('x', 'x'), 'none')).status, { interval: 100 }).toBe(403)
  }
  expect(await parts.commit(write('a.yaml', 'a: 1\n'))).toMatchObject({ status: 403, body: { right: 'change-gitops' } })
  expect(isTaken).toBe(true)
  expect(await forge.git('rev-parse', 'main')).toBe(forge.first)
  expect(parts.scene.leftovers()).toEqual([])
})

test('a push whose answer is lost is a new commit, also if another one is on top of it by then', async () => {
  await using forge = await startGitForge({ 'a.yaml': 'a: 0\n' })
  await using parts = await openParts(forge)
  let isLost = false
  forge.after = async ({ path }) => {
    if (isLost || !path.endsWith('/git-receive-pack')) return
    isLost = true
    const author = ['-c', 'user.name=x', '-c', 'user.email=x@y']
    const other = await forge.git(...author, 'commit-tree', 'main^{tree}', '-p', 'main', '-m', 'Other')
    await forge.git('update-ref', 'refs/heads/main', other.trim())
    throw new Error('the connection breaks')
  }
  expect(await parts.commit(write('a.yaml', 'a: 1\n'))).toMatchObject({ status: 200, body: { isNew: true } })
  expect(isLost).toBe(true)
  expect(await forge.git('log', '--format=%s', 'main')).toMatch(/^Other\nChange it\n/)
})

test('git calls only an address that was checked, whatever the name of the forge becomes', async () => {
  await using forge = await startGitForge({ 'a.yaml': 'a: 0\n' })
  let address = '127.0.0.1'
  // The operating system does not know this name, so git cannot resolve it.
  const url = `http://forge.test:${forge.port}`
  await using parts = await openParts(forge, { url, resolve: (_, __, done) => done(null, [{ address, family: 4 }]) })
  expect(await parts.commit(write('a.yaml', 'a: 1\n'))).toMatchObject({ status: 200, body: { isNew: true } })
  const before = forge.calls.length
  forge.before = async ({ path }) => {
    if (path.startsWith('/api/v1/repos/')) address = '169.254.169.254'
  }
  expect(await parts.commit(write('a.yaml', 'a: 2\n'))).toMatchObject({
    status: 503,
    body: { code: 'forge-unreachable', detail: expect.stringContaining('at which no forge is') },
  })
  expect(forge.calls).toHaveLength(before)
})

test('a server that sends more than a commit may fetch is cut off', async () => {
  // It knows no filters, so it sends contents.
  await using forge = await startGitForge({ large: randomBytes(3_000_000) })
  await using parts = await openParts(forge, { maxFetchBytes: 1_000_000 })
  forge.holdsEnd = true
  expect(await parts.commit(write('a.yaml', 'a: 1\n'))).toMatchObject({
    status: 413,
    body: { code: 'file-too-large', detail: expect.stringContaining('more than 1000000 bytes') },
  })
  expect(parts.scene.leftovers()).toEqual([])
})

test('on a full disk a commit is refused with what to do, and works when there is space again', async () => {
  await using forge = await startGitForge({ 'a.yaml': 'a: 0\n' })
  const workFolder = await mountSmallDisk('2m')
  try {
    await using parts = await openParts(forge, { workFolder })
    const full = await parts.commit({
      files: [{ path: 'x', content: randomBytes(3_000_000).toString('base64'), encoding: 'base64' }],
    })
    expect(full).toMatchObject({ status: 507, body: { code: 'storage-full' } })
    expect(full.body).toMatchObject({ hint: expect.stringContaining('WINDLASS_APP_PROXY_REPOS_DIR') })
    expect(parts.scene.leftovers()).toEqual([])
    for (let bytes = 2_000_000; bytes >= 1; bytes = Math.floor(bytes / 2))
      try {
        writeFileSync(join(workFolder, `filler-${bytes}`), Buffer.alloc(bytes))
      } catch {
        // It takes a smaller one.
      }
    expect(await parts.commit(write('a.yaml', 'a: 1\n'))).toMatchObject({ status: 507, body: { code: 'storage-full' } })
    const texts = { base: 'a\n', own: 'b\n', other: 'a\nc\n' }
    const settings = { folder: workFolder, path: process.env['PATH'] ?? '', signal: new AbortController().signal }
    await expect(mergeTexts(texts, settings)).rejects.toMatchObject({ code: 'storage-full' })
    expect(parts.scene.leftovers().filter((name) => !name.startsWith('filler-'))).toEqual([])
    expect(await forge.git('rev-parse', 'main')).toBe(forge.first)
    for (const name of parts.scene.leftovers()) rmSync(join(workFolder, name))
    expect(await parts.commit(write('a.yaml', 'a: 1\n'))).toMatchObject({ status: 200, body: { isNew: true } })
  } finally {
    await unmountSmallDisk(workFolder)
  }
})

test('what killed commits have left is deleted, and nothing else', async () => {
  await using forge = await startGitForge({ 'a.yaml': 'a: 0\n' })
  await using parts = await openParts(forge)
  const { workFolder } = parts.scene
  const long = new Date(Date.now() - 7_200_000)
  for (const name of ['windlass-commit-old', 'windlass-commit-new', 'other-old']) {
    mkdirSync(join(workFolder, name))
    writeFileSync(join(workFolder, name, 'index'), '')
    if (name.endsWith('old')) utimesSync(join(workFolder, name), long, long)
  }
  await parts.scene.restart()
  await expect.poll(() => parts.scene.leftovers().toSorted()).toEqual(['other-old', 'windlass-commit-new'])
})
