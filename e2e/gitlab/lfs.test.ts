/** Repositories with files in Git LFS, on a real Gitea. */
import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLUSTER_HOST } from '../support/cluster.ts'
import { startGitea, type Gitea, type GiteaUser } from '../support/gitea.ts'
import { openRunnerScene, type RunnerScene } from './support/runner-scene.ts'

const CONTENT = Buffer.alloc(100_000, 'content of a large file\n')
const OID = createHash('sha256').update(CONTENT).digest('hex')

let scene: RunnerScene
let gitea: Gitea
let git: { readonly repo_url: string; readonly sha: string }
beforeAll(async () => {
  scene = await openRunnerScene(`gitlab-lfs-${process.pid}`)
  gitea = await startGitea({ host: CLUSTER_HOST })
  const owner = await gitea.addUser('owner')
  await owner.api('POST', '/user/repos', { name: 'large', private: true, default_branch: 'main' })
  await storeObject(owner)
  git = { repo_url: `${gitea.url.replace('://', `://owner:${owner.token}@`)}/owner/large.git`, sha: pushPointer(owner) }
  await scene.startManager()
})
afterAll(async () => {
  await scene?.close()
  await gitea?.close()
})

/** Stores the content as an object, by the batch API of Git LFS (its specification is on git-lfs.com). */
async function storeObject({ name, token }: GiteaUser): Promise<void> {
  const type = 'application/vnd.git-lfs+json'
  const authorization = `Basic ${Buffer.from(`${name}:${token}`).toString('base64')}`
  const answer = await fetch(`${gitea.url}/owner/large.git/info/lfs/objects/batch`, {
    method: 'POST',
    headers: { accept: type, 'content-type': type, authorization },
    body: JSON.stringify({ operation: 'upload', transfers: ['basic'], objects: [{ oid: OID, size: CONTENT.length }] }),
  })
  const body = (await answer.json()) as { objects: { actions: { upload: { href: string; header: Record<string, string> } } }[] }
  const upload = body.objects[0]?.actions.upload
  if (upload === undefined) throw new Error(`Gitea takes no object: ${JSON.stringify(body)}`)
  // The client writes this header by itself.
  const { 'Transfer-Encoding': _, ...header } = upload.header
  const headers = { ...header, 'content-type': 'application/octet-stream' }
  const stored = await fetch(upload.href, { method: 'PUT', headers, body: CONTENT })
  if (!stored.ok) throw new Error(`Gitea does not store the object: ${stored.status} ${await stored.text()}`)
}

/** Pushes a commit with the pointer to the object. Returns its id. */
function pushPointer({ gitEnv }: GiteaUser): string {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-lfs-'))
  const run = (...words: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.test', ...words], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, ...gitEnv },
    }).trim()
  try {
    run('init', '--quiet', '--initial-branch=main')
    writeFileSync(join(folder, '.gitattributes'), '*.bin filter=lfs diff=lfs merge=lfs -text\n')
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${OID}\nsize ${CONTENT.length}\n`
    writeFileSync(join(folder, 'large.bin'), pointer)
    // A git without LFS commits the pointer as it stands.
    run('-c', 'filter.lfs.clean=cat', '-c', 'filter.lfs.process=', '-c', 'filter.lfs.required=false', 'add', '--all')
    run('commit', '--quiet', '--message', 'first')
    run('push', '--quiet', `${gitea.url}/owner/large.git`, 'main')
    return run('rev-parse', 'HEAD')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const source = (): Readonly<Record<string, unknown>> => ({
  git_info: {
    ...git,
    ref: 'main',
    ref_type: 'branch',
    refspecs: ['+refs/heads/main:refs/remotes/origin/main'],
    depth: 20,
  },
})

test('files in Git LFS are fetched, and left as pointers with GIT_LFS_SKIP_SMUDGE (G037)', async () => {
  const script = ['sha256sum large.bin', 'head -c 40 large.bin']
  const fetched = await scene.ended(scene.enqueue(script, source()))
  expect(fetched.final, fetched.trace.toString()).toMatchObject({ state: 'success' })
  expect(fetched.trace.toString()).toContain(`${OID}  large.bin`)
  const variables = [{ key: 'GIT_LFS_SKIP_SMUDGE', value: '1', public: true }]
  const skipped = await scene.ended(scene.enqueue(script, { ...source(), variables }))
  expect(skipped.final, skipped.trace.toString()).toMatchObject({ state: 'success' })
  expect(skipped.trace.toString()).toContain('version https://git-lfs.github.com/spec')
})
