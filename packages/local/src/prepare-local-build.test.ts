import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { prepareLocalBuild, type PreparedBuild, type PrepareOptions } from './prepare-local-build.ts'

const BUILD = "version: '1.0'\nsteps:\n  app: { type: build, image_name: app, disable_push: true }\n"
const RUN = "version: '1.0'\nsteps:\n  test: { image: x }\n"
const CLONE = "version: '1.0'\nsteps:\n  sources: { type: git-clone, repo: https://h/a/b }\n"

/** A repository with the remote `team/shop`, and the document in one of its folders. */
function openRepository(text: string) {
  const folder = mkdtempDisposableSync(join(tmpdir(), 'windlass-prepare-'))
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-C', folder.path, '-c', 'user.name=A', '-c', 'user.email=a@b.c', ...args], { stdio: 'ignore' })
  git('init', '--initial-branch=main')
  git('remote', 'add', 'origin', 'https://git.test/team/shop.git')
  git('commit', '--allow-empty', '--message=first')
  mkdirSync(join(folder.path, 'ci'))
  const documentPath = join(folder.path, 'ci', 'pipeline.yml')
  writeFileSync(documentPath, text)
  const prepare = (options: Partial<PrepareOptions> = {}): Promise<PreparedBuild> =>
    prepareLocalBuild({
      source: { text, file: 'pipeline.yml' },
      documentPath,
      variables: {},
      secrets: {},
      only: [],
      skip: [],
      environment: {},
      clock: systemClock,
      ...options,
    })
  return { prepare, root: folder.path, [Symbol.dispose]: () => folder.remove() }
}

const namesOf = ({ local }: PreparedBuild): string[] => local.plan.steps.map(({ name }) => name)

test('a document without a clone gets none unless a folder is named, and a warning if it needs source code', async () => {
  using repository = openRepository(BUILD)
  const prepared = await repository.prepare()
  expect(namesOf(prepared)).toEqual(['app'])
  expect(prepared.warnings.map(({ code, hint }) => [code, hint.includes('--source')])).toEqual([['no-source', true]])
})

test('rejects a work tree that does not exist', async () => {
  using repository = openRepository(CLONE)
  const workTree = join(repository.root, 'none')
  await expect(repository.prepare({ workTree })).rejects.toMatchObject({
    code: 'file-not-found',
    message: `The folder ${workTree} does not exist.`,
  })
})

test('the pipeline and CF_SKIP_MAIN_CLONE turn the automatic clone off, and a preview shows the one that the pipeline turns on', async () => {
  const pipeline = (mainClone: string): string =>
    `version: '1.0'\nkind: pipeline\nmetadata: {name: team/shop}\nspec:\n  mainClone: ${mainClone}\n  steps:\n    test: { image: x }\n`
  using off = openRepository(pipeline('{automatic: false}'))
  using on = openRepository(pipeline('{automatic: true}'))
  expect(await off.prepare({ workTree: off.root }).then(namesOf)).toEqual(['test'])
  expect(await on.prepare({ workTree: on.root }).then(namesOf)).toEqual(['main_clone', 'test'])
  const skip = { variables: { CF_SKIP_MAIN_CLONE: 'true' } }
  expect(await on.prepare({ workTree: on.root, ...skip }).then(namesOf)).toEqual(['test'])
  expect(await on.prepare().then(namesOf)).toEqual(['test'])
  expect(await on.prepare({ isPreview: true }).then(namesOf)).toEqual(['main_clone', 'test'])
  expect(await on.prepare({ isPreview: true, ...skip }).then(namesOf)).toEqual(['test'])
})

test('a foreign repository inside a work tree runs no program and is not read', async () => {
  using repository = openRepository(RUN)
  const proof = join(repository.root, 'proof')
  const program = join(repository.root, 'program.sh')
  writeFileSync(program, `#!/bin/sh\ntouch ${proof}\n`, { mode: 0o755 })
  const bare = join(repository.root, 'ci')
  execFileSync('git', ['init', '--bare', '--quiet', bare])
  for (const [name, value] of Object.entries({
    'core.bare': 'false',
    'core.worktree': '/',
    'core.fsmonitor': program,
    'log.showSignature': 'true',
    'gpg.program': program,
  }))
    execFileSync('git', ['config', '--file', join(bare, 'config'), name, value])
  const { local, repository: found } = await repository.prepare({ workTree: bare })
  expect(found?.root).not.toBe('/')
  expect(local.plan.steps).toHaveLength(2)
  expect(existsSync(proof)).toBe(false)
})

test('with --source every document without a clone gets the work tree', async () => {
  using repository = openRepository(RUN)
  using other = openRepository(CLONE)
  using folder = mkdtempDisposableSync(join(tmpdir(), 'windlass-plain-'))
  expect(await repository.prepare({ workTree: repository.root }).then(namesOf)).toEqual(['main_clone', 'test'])
  expect(await repository.prepare({ workTree: folder.path }).then(namesOf)).toEqual(['main_clone', 'test'])
  expect(await other.prepare({ workTree: other.root }).then(namesOf)).toEqual(['sources'])
})
