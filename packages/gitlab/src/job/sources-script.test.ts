/** The stage that gets the sources, with real git against a real server. */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { startGitServer } from '../../../../e2e/support/git-server.ts'
import { readGitOptions, type GitOptions } from './git-options.ts'
import { ShellScript } from './shell-script.ts'
import { clearSources, withoutLogin, writeSources, type Sources } from './sources-script.ts'

const TOKEN = 'glcbt-secret-of-the-job'

interface Scene {
  readonly root: string
  readonly url: string
  /** Commits files to a branch of the repository. Returns the commit. */
  commit(files: Readonly<Record<string, string>>, branch?: string): string
  /** Runs the stage. */
  get(sha: string, more?: Partial<Sources>, options?: Partial<GitOptions>): Promise<Ended>
  file(path: string): string
  /** Puts a program in front of those of the machine. */
  addProgram(name: string, script: string): void
}

interface Ended {
  readonly code: number
  readonly out: string
}

const git = (folder: string, ...words: readonly string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.test', '-c', 'protocol.file.allow=always', ...words], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()

function createRepository(root: string, name: string): { readonly bare: string; readonly work: string } {
  const bare = join(root, 'repositories', `${name}.git`)
  const work = join(root, 'work', name)
  mkdirSync(dirname(bare), { recursive: true })
  mkdirSync(work, { recursive: true })
  git(root, 'init', '--quiet', '--bare', '--initial-branch=main', bare)
  git(root, 'init', '--quiet', '--initial-branch=main', work)
  return { bare, work }
}

function commitTo(
  { bare, work }: { bare: string; work: string },
  files: Readonly<Record<string, string>>,
  branch = 'main',
): string {
  git(work, 'checkout', '--quiet', '-B', branch)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(work, path)), { recursive: true })
    writeFileSync(join(work, path), content)
  }
  git(work, 'add', '--all')
  git(work, 'commit', '--quiet', '--message', 'change')
  git(work, 'push', '--quiet', '--force', bare, branch)
  return git(work, 'rev-parse', 'HEAD')
}

async function openScene(): Promise<Scene> {
  const root = mkdtempSync(join(tmpdir(), 'windlass-sources-'))
  const repository = createRepository(root, 'acme/app')
  const server = await startGitServer({
    root: join(root, 'repositories'),
    auth: { user: 'gitlab-ci-token', password: TOKEN },
  })
  onTestFinished(async () => {
    await server.close()
    rmSync(root, { recursive: true, force: true })
  })
  const home = join(root, 'home')
  const programs = join(root, 'programs')
  for (const folder of [home, programs]) mkdirSync(folder)
  const project = join(root, 'builds', 'acme', 'app')
  const url = `${server.url.replace('http://', `http://gitlab-ci-token:${TOKEN}@`)}/acme/app.git`
  return {
    root,
    url,
    commit: (files, branch) => commitTo(repository, files, branch),
    async get(sha, more = {}, options = {}) {
      const script = new ShellScript().raw('set -o errexit')
      writeSources(script, {
        options: { ...readGitOptions({ valueOf: () => undefined }, 20), ...options },
        repoUrl: url,
        projectFolder: project,
        temporaryFolder: `${project}.tmp`,
        ref: 'main',
        sha,
        refspecs: ['+refs/heads/*:refs/remotes/origin/*'],
        objectFormat: 'sha1',
        userAgent: 'windlass 1.2.3',
        correlationId: undefined,
        caFile: undefined,
        cleansConfig: true,
        isSafeDirectory: true,
        before: [],
        after: [],
        ...more,
      })
      const env = {
        PATH: `${programs}:${process.env['PATH']}`,
        HOME: home,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_ALLOW_PROTOCOL: 'http:file',
      }
      const file = join(root, 'stage')
      writeFileSync(file, script.text())
      const shell = spawn('dash', ['-c', 'exec dash stage 2>&1'], { env, cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
      const out = await text(shell.stdout)
      const [code] = (await (shell.exitCode === null ? once(shell, 'exit') : [shell.exitCode])) as [number]
      return { code, out }
    },
    file: (path) => readFileSync(join(project, path), 'utf8'),
    addProgram: (name, script) => writeFileSync(join(programs, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 }),
  }
}

test('gets a fresh repository, and the next job fetches only what changed (G034, G035)', async () => {
  const scene = await openScene()
  const first = scene.commit({ 'a.txt': 'one' })
  const fresh = await scene.get(first)
  expect(fresh).toMatchObject({ code: 0, out: expect.stringContaining('Created fresh repository.') })
  expect(fresh.out).toContain('Fetching changes with git depth set to 20...')
  expect(fresh.out).toContain(`Checking out ${first.slice(0, 8)} as detached HEAD (ref is main)...`)
  expect(scene.file('a.txt')).toBe('one')
  // For other users of the container, git trusts the folder.
  const trusted = (): string => readFileSync(join(scene.root, 'home/.gitconfig'), 'utf8')
  expect(trusted()).toBe(`[safe]\n\tdirectory = ${join(scene.root, 'builds/acme/app')}\n`)
  const second = scene.commit({ 'a.txt': 'two' })
  const again = await scene.get(second)
  expect(again.code).toBe(0)
  expect(trusted().match(/directory/g)).toHaveLength(1)
  expect(again.out).not.toContain('Created fresh repository.')
  expect(scene.file('a.txt')).toBe('two')
})

test('a shallow repository becomes whole when a job wants the whole history (G035)', async () => {
  const scene = await openScene()
  for (let n = 0; n < 4; n += 1) scene.commit({ 'a.txt': `${n}` })
  const last = scene.commit({ 'a.txt': 'last' })
  const folder = join(scene.root, 'builds/acme/app')
  await scene.get(last, {}, { depth: 2 })
  expect(git(folder, 'rev-list', '--count', 'HEAD')).toBe('2')
  const whole = await scene.get(last, {}, { depth: 0 })
  expect(whole).toMatchObject({ code: 0, out: expect.stringContaining('Fetching changes...') })
  expect(git(folder, 'rev-list', '--count', 'HEAD')).toBe('5')
})

test('the strategies clone, none and empty (G034)', async () => {
  const scene = await openScene()
  const sha = scene.commit({ 'a.txt': 'one' })
  await scene.get(sha)
  const folder = join(scene.root, 'builds/acme/app')
  writeFileSync(join(folder, 'left'), '')
  expect(await scene.get(sha, {}, { strategy: 'none' })).toEqual({ code: 0, out: 'Skipping Git repository setup\n' })
  expect(existsSync(join(folder, 'left'))).toBe(true)
  await scene.get(sha, {}, { strategy: 'clone', cleanFlags: undefined })
  expect(existsSync(join(folder, 'left'))).toBe(false)
  expect(scene.file('a.txt')).toBe('one')
  await scene.get(sha, {}, { strategy: 'empty' })
  expect(readdirSync(folder)).toEqual([])
})

test('what an earlier job left is cleaned as the flags say, and a checkout can be left out (G038)', async () => {
  const scene = await openScene()
  const sha = scene.commit({ 'a.txt': 'one', '.gitignore': 'cache/\n' })
  const folder = join(scene.root, 'builds/acme/app')
  // Such as a volume, in which git makes a fresh repository.
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'foreign'), '')
  await scene.get(sha)
  expect(existsSync(join(folder, 'foreign'))).toBe(false)
  const leave = (): void => {
    mkdirSync(join(folder, 'cache'), { recursive: true })
    writeFileSync(join(folder, 'cache/kept'), '')
    writeFileSync(join(folder, 'left'), '')
  }
  leave()
  await scene.get(sha, {}, { cleanFlags: ['-ffd', '-e', 'left'] })
  expect([existsSync(join(folder, 'cache/kept')), existsSync(join(folder, 'left'))]).toEqual([true, true])
  await scene.get(sha)
  expect([existsSync(join(folder, 'cache/kept')), existsSync(join(folder, 'left'))]).toEqual([false, false])
  const next = scene.commit({ 'a.txt': 'two' })
  const skipped = await scene.get(next, {}, { isCheckedOut: false })
  expect(skipped.out).toContain('Skipping Git checkout')
  expect(scene.file('a.txt')).toBe('one')
})

test('the token is in no file of the repository and in no output (G040)', async () => {
  const scene = await openScene()
  const { code, out } = await scene.get(scene.commit({ 'a.txt': 'one' }))
  expect(code).toBe(0)
  expect(out).not.toContain(TOKEN)
  const found = execFileSync('sh', ['-c', `grep -rl ${TOKEN} builds/acme/app || true`], { cwd: scene.root, encoding: 'utf8' })
  expect(found).toBe('')
  expect(scene.file('.git/config')).toContain('url = http://127.0.0.1')
  // The repository still reaches the server, through the file beside it.
  const folder = join(scene.root, 'builds/acme/app')
  // The server is in this process, so it must not wait for git.
  const { stdout } = await promisify(execFile)('git', ['ls-remote', 'origin'], { cwd: folder })
  expect(stdout).toContain('refs/heads/main')
})

test('a configuration, hook or lock of an earlier job does nothing (G040)', async () => {
  const scene = await openScene()
  const sha = scene.commit({ 'a.txt': 'one' })
  await scene.get(sha)
  const dot = join(scene.root, 'builds/acme/app/.git')
  const evil = join(scene.root, 'evil')
  writeFileSync(join(dot, 'config'), `[core]\n\tfsmonitor = touch ${evil}\n\tsshCommand = touch ${evil}\n`)
  mkdirSync(join(dot, 'hooks'), { recursive: true })
  writeFileSync(join(dot, 'hooks/post-checkout'), `#!/bin/sh\ntouch ${evil}\n`, { mode: 0o755 })
  mkdirSync(join(dot, 'refs/remotes/origin'), { recursive: true })
  for (const lock of ['index.lock', 'shallow.lock', 'HEAD.lock', 'config.lock', 'refs/remotes/origin/main.lock'])
    writeFileSync(join(dot, lock), '')
  const next = scene.commit({ 'a.txt': 'two' })
  expect(await scene.get(next)).toMatchObject({ code: 0 })
  expect(scene.file('a.txt')).toBe('two')
  expect(existsSync(evil)).toBe(false)
})

test('submodules come as the strategy says, with the login of the job (G036)', async () => {
  const scene = await openScene()
  const library = createRepository(scene.root, 'acme/library')
  commitTo(library, { 'lib.txt': 'library' })
  const work = join(scene.root, 'work/acme/app')
  scene.commit({ 'a.txt': 'one' })
  const address = new URL(scene.url)
  git(work, 'submodule', 'add', '--quiet', library.bare, 'library')
  git(work, 'config', '-f', '.gitmodules', 'submodule.library.url', `${address.origin}/acme/library.git`)
  const sha = scene.commit({ 'a.txt': 'two' })
  const without = await scene.get(sha)
  expect(without.out).toContain('Skipping Git submodules setup')
  expect(existsSync(join(scene.root, 'builds/acme/app/library/lib.txt'))).toBe(false)
  const withThem = await scene.get(sha, {}, { submodules: 'recursive' })
  expect(withThem).toMatchObject({ code: 0 })
  expect(scene.file('library/lib.txt')).toBe('library')
  const forced = await scene.get(sha, {}, { submodules: 'normal', forcesHttps: true, submoduleDepth: 0, strategy: 'clone' })
  expect(forced).toMatchObject({ code: 0, out: expect.stringContaining('Updating/initializing submodules...') })
  expect(scene.file('library/lib.txt')).toBe('library')
})

test('files of LFS are pulled if the repository has any, and no process of LFS starts otherwise', async () => {
  const scene = await openScene()
  const calls = join(scene.root, 'calls')
  writeFileSync(calls, '')
  // A filter without capabilities (gitattributes(5), "Long Running Filter Process").
  const filter = String.raw`printf '0016git-filter-server\n000eversion=2\n00000000'; cat >/dev/null`
  scene.addProgram('git-lfs', `echo "$1" >>${calls}; case "$1" in filter-process) ${filter} ;; esac`)
  expect(await scene.get(scene.commit({ 'a.txt': 'one', 'sub/.gitattributes': '*.psd filter=lfs\n' }))).toMatchObject({ code: 0 })
  expect(readFileSync(calls, 'utf8')).toBe('')
  const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n'
  await scene.get(scene.commit({ 'raw.bin': pointer, 'a.txt': 'two' }))
  expect(readFileSync(calls, 'utf8')).toBe('version\npull\n')
  await scene.get(scene.commit({ 'raw.bin': 'none' }))
  expect(readFileSync(calls, 'utf8')).toBe('version\npull\n')
  await scene.get(scene.commit({ '.gitattributes': '*.bin binary\n', 'raw.bin': pointer }))
  expect(readFileSync(calls, 'utf8')).toBe('version\npull\nversion\npull\n')
  writeFileSync(calls, '')
  const sha = scene.commit({ 'raw.bin': 'none', 'sub/large.psd': 'pointer' })
  expect(await scene.get(sha)).toMatchObject({ code: 0 })
  expect(readFileSync(calls, 'utf8')).toContain('pull')
  writeFileSync(calls, '')
  expect(await scene.get(sha, {}, { skipsLfs: true })).toMatchObject({ code: 0 })
  expect(readFileSync(calls, 'utf8')).not.toContain('pull')
})

test('a repository of an earlier job that keeps its configuration gets the address and the login of this one (G040)', async () => {
  const scene = await openScene()
  const folder = join(scene.root, 'builds/acme/app')
  mkdirSync(folder, { recursive: true })
  git(folder, 'init', '--quiet')
  git(folder, 'remote', 'add', 'origin', 'http://127.0.0.1:1/gone.git')
  const sha = scene.commit({ 'a.txt': 'one' })
  const kept = await scene.get(sha, { cleansConfig: false })
  expect(kept).toMatchObject({ code: 0, out: expect.not.stringContaining('Created fresh repository.') })
  expect(scene.file('a.txt')).toBe('one')
  git(folder, 'remote', 'remove', 'origin')
  expect(await scene.get(sha, { cleansConfig: false })).toMatchObject({ code: 0 })
  expect(scene.file('.git/config').match(/path = /g)).toHaveLength(1)
})

test('hooks run around the sources, and not without them (G039)', async () => {
  const scene = await openScene()
  const hooks = { before: ['echo before-1', 'echo before-2'], after: ['ls a.txt'] }
  const sha = scene.commit({ 'a.txt': 'one' })
  const { out } = await scene.get(sha, hooks)
  expect(out.indexOf('before-1')).toBeLessThan(out.indexOf('before-2'))
  expect(out.indexOf('before-2')).toBeLessThan(out.indexOf('Fetching'))
  expect(out.trimEnd().endsWith('a.txt')).toBe(true)
  expect((await scene.get(sha, hooks, { strategy: 'none' })).out).not.toContain('before-1')
})

test('a failed fetch ends the stage, and the sources can be cleared for another try (G041)', async () => {
  const scene = await openScene()
  const sha = scene.commit({ 'a.txt': 'one' })
  await scene.get(sha)
  const failed = await scene.get(sha, { repoUrl: scene.url.replace(TOKEN, 'wrong') })
  expect(failed.code).not.toBe(0)
  const script = new ShellScript()
  clearSources(script, { projectFolder: join(scene.root, 'builds/acme/app') })
  execFileSync('dash', ['-c', script.text()])
  expect(existsSync(join(scene.root, 'builds/acme/app'))).toBe(false)
  expect(await scene.get(sha)).toMatchObject({ code: 0, out: expect.stringContaining('Created fresh repository.') })
})

test('options that are not valid have their default and a warning', () => {
  const values: Readonly<Record<string, string>> = {
    GIT_STRATEGY: 'pull',
    GIT_CHECKOUT: 'yes',
    GET_SOURCES_ATTEMPTS: '20',
    GIT_SUBMODULE_DEPTH: 'all',
    GIT_CLEAN_FLAGS: 'none',
    GIT_SUBMODULE_STRATEGY: 'recursive',
    GIT_LFS_SKIP_SMUDGE: '1',
  }
  const options = readGitOptions({ valueOf: (name) => values[name] }, 5)
  expect(options).toMatchObject({
    strategy: 'fetch',
    isCheckedOut: true,
    attempts: 10,
    submoduleDepth: 5,
    cleanFlags: undefined,
    submodules: 'recursive',
    skipsLfs: true,
  })
  expect(options.warnings).toEqual([
    'GIT_STRATEGY has the value "pull", which is not valid. fetch is used instead.',
    'GIT_CHECKOUT has the value "yes", which is not valid. true is used instead.',
    'GIT_SUBMODULE_DEPTH has the value "all", which is not valid. 5 is used instead.',
    'GET_SOURCES_ATTEMPTS has the value "20", which is not valid. 10 is used instead.',
  ])
})

test('the login of a URL is removed', () => {
  expect(withoutLogin('https://gitlab-ci-token:x@gitlab.test/a/b.git')).toBe('https://gitlab.test/a/b.git')
  expect(withoutLogin('git@gitlab.test:a/b.git')).toBe('git@gitlab.test:a/b.git')
})
