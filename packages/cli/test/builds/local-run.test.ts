/** `windlass run --local` on real Docker. */
import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runProgram } from '../../../../e2e/support/process.ts'
import { volumeNameOf } from '../../../local/src/index.ts'
import { openSandbox, pipelineOf, type Sandbox } from '../support.ts'

let sandbox: Sandbox
const volumes: string[] = []

beforeAll(async () => {
  sandbox = await openSandbox()
})

afterAll(async () => {
  for (const volume of volumes) await runProgram('docker', ['volume', 'rm', '--force', volume])
  await sandbox[Symbol.asyncDispose]()
})

async function document(name: string, text: string): Promise<string> {
  const path = await sandbox.file(name, text)
  volumes.push(volumeNameOf({ documentPath: path }))
  return path
}

const local = (path: string, ...words: string[]) => sandbox.run(['run', '--local', '-f', path, ...words])

test('runs a document without a server and returns the exit code of the build (P180)', async () => {
  const path = await document(
    'hello.yml',
    pipelineOf(sandbox, { hello: ['echo hello $NAME', 'cf_export X=exported'], use: ['echo got $X', 'test "$NAME" != fail'] }),
  )
  const good = await local(path, '-v', 'NAME=Ann')
  expect(good).toMatchObject({ code: 0, stderr: '' })
  expect(good.stdout).toMatch(/hello Ann\n[^]*got exported\n[^]*✔ Build succeeded after /)
  const bad = await local(path, '-v', 'NAME=fail')
  expect(bad.code).toBe(1)
  expect(bad.stdout).toMatch(/✖ Build failed after .*: step use: /)
})

test('the record of a local run has the same shape as that of a server', async () => {
  const path = await document('record.yml', pipelineOf(sandbox, { one: ['echo text'] }))
  const { code, stdout, stderr } = await local(path, '-o', 'json', '-b', 'topic')
  expect(code).toBe(0)
  expect(stderr).toContain('text\n')
  expect(JSON.parse(stdout)).toMatchObject({
    id: null,
    status: 'success',
    reason: null,
    branch: 'topic',
    steps: [
      {
        name: 'one',
        status: 'success',
        reason: null,
        exitCode: 0,
        startedAt: expect.any(Number),
        finishedAt: expect.any(Number),
      },
    ],
  })
})

test('keeps the shared volume between runs of a document, and empties it on request', async () => {
  const path = await document(
    'volume.yml',
    pipelineOf(sandbox, { look: ['cat /codefresh/volume/note || echo nothing', 'echo written > /codefresh/volume/note'] }),
  )
  expect((await local(path)).stdout).toContain('nothing\n')
  expect((await local(path)).stdout).toContain('written\n')
  expect((await local(path, '--reset-volume')).stdout).toContain('nothing\n')
})

test('uses a work tree with its uncommitted changes, branch and commit', async () => {
  const tree = join(sandbox.folder, 'tree')
  await mkdir(tree)
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', tree, '-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], { encoding: 'utf8' }).trim()
  git('init', '--quiet', '--initial-branch=topic/x')
  git('remote', 'add', 'origin', 'https://git.example.com/demo/app.git')
  await writeFile(join(tree, 'file.txt'), 'committed\n')
  git('add', '.')
  git('commit', '--quiet', '--message', "It's first")
  await writeFile(join(tree, 'file.txt'), 'changed\n')
  await writeFile(join(tree, 'new.txt'), 'untracked\n')
  const text = `version: '1.0'
steps:
  main_clone: { type: git-clone, repo: 'https://git.example.com/demo/app.git', revision: '\${{CF_BRANCH}}' }
  look:
    image: '${sandbox.images['SHELL_IMAGE']}'
    commands: ['cat file.txt new.txt', 'echo $CF_BRANCH $CF_REPO_OWNER/$CF_REPO_NAME $CF_BRANCH_TAG_NORMALIZED', 'echo $CF_REVISION']
`
  const path = join(tree, 'pipeline.yml')
  await writeFile(path, text)
  volumes.push(volumeNameOf({ documentPath: path }))
  const { code, stdout } = await local(path, '--source', tree)
  expect(stdout).toContain('changed\nuntracked\ntopic/x demo/app topic_x\n')
  expect(stdout).toContain(git('rev-parse', 'HEAD'))
  expect(code).toBe(0)
})

test('--only and --skip select steps, in order (P162)', async () => {
  const path = await document('pick.yml', pipelineOf(sandbox, { a: ['echo a runs'], b: ['echo b runs'], c: ['echo c runs'] }))
  const only = await local(path, '--only', 'a', '--only', 'c')
  expect(only.stdout).toMatch(/a runs\n[^]*c runs\n/)
  expect(only.stdout).not.toContain('b runs')
  expect(only.stdout).toMatch(/b +– skipped +not-selected/)
  expect((await local(path, '--skip', 'a')).stdout).not.toContain('a runs')
  expect(await local(path, '--only', 'nine')).toMatchObject({ code: 2 })
})

test('uses the variables of a pipeline document, and masks encrypted ones', async () => {
  const path = await document(
    'kind.yml',
    `kind: pipeline\nmetadata: { name: demo/kind }\nspec:\n  variables:\n    - { key: A, value: plain }\n    - { key: B, value: very-secret-value, encrypted: true }\n  steps:\n    say: { image: '${sandbox.images['SHELL_IMAGE']}', commands: ['echo $A $B $CF_PIPELINE_NAME'] }\n`,
  )
  const { code, stdout } = await local(path)
  expect(code).toBe(0)
  expect(stdout).toMatch(/plain \*+ demo\/kind\n/)
})

test('does not run an invalid document', async () => {
  const path = await document('invalid.yml', "version: '1.0'\nsteps:\n  a: { image: alpine, commands: 5 }\n")
  const { code, stdout, stderr } = await local(path)
  expect(code).toBe(1)
  expect(stderr).toMatch(/invalid\.yml:3:\d+: error: /)
  expect(stdout).toBe('')
})

test('Ctrl-C terminates a local build and removes its containers', async () => {
  const path = await document('slow.yml', pipelineOf(sandbox, { slow: ['echo begun', 'exec sleep 60'] }))
  const run = sandbox.start(['run', '--local', '-f', path])
  await run.says('begun')
  run.interrupt()
  const { code, stdout } = await run.finished
  expect(code).toBe(130)
  expect(stdout).toMatch(/■ Build was terminated/)
  const left = await runProgram('docker', [
    'ps',
    '--all',
    '--quiet',
    '--filter',
    `volume=${volumeNameOf({ documentPath: path })}`,
  ])
  expect(left).toBe('')
})

test('reports that Docker is unreachable', async () => {
  const path = await document('any.yml', pipelineOf(sandbox, { a: ['true'] }))
  const { code, stderr } = await sandbox.run(['run', '--local', '-f', path], { env: { DOCKER_HOST: 'unix:///no/such.sock' } })
  expect(code).toBe(1)
  expect(stderr).toMatch(/^error: .*Docker.*\nhint: .+\n$/)
})
