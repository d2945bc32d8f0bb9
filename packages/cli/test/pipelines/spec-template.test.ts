/** Pipelines with steps in a git repository: on a server, where the engine reads them, and locally. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { containerHost } from '../../../../e2e/support/docker.ts'
import { createRepository, startGitServer } from '../../../../e2e/support/git-server.ts'
import { openSandbox, pipelineOf, startUp } from '../support.ts'

test('reads the steps from the branch of the run or the pinned revision, on a server and locally (P164)', async () => {
  await using sandbox = await openSandbox()
  await using _up = await startUp(sandbox)
  const from = join(sandbox.folder, 'application')
  await mkdir(join(from, 'ci'), { recursive: true })
  await writeFile(join(from, 'ci', 'build.yml'), pipelineOf(sandbox, { far: ['echo from the repository, $WHO'] }))
  const root = join(sandbox.folder, 'git')
  await createRepository({ root, name: 'demo/app', from })
  const host = await containerHost()
  await using git = await startGitServer({ root, host })
  const template = { location: 'git', repo: `${git.url}/demo/app.git`, path: 'ci/build.yml' }
  const document = (name: string, more: object): string =>
    JSON.stringify({
      kind: 'pipeline',
      metadata: { name },
      spec: { variables: [{ key: 'WHO', value: 'Ann' }], specTemplate: { ...template, ...more } },
    })
  const floating = await sandbox.file('floating.yml', document('demo/floating', {}))
  const pinned = await sandbox.file('pinned.yml', document('demo/pinned', { revision: '${{AT}}' }))
  expect((await sandbox.run(['apply', '-f', floating, '-f', pinned])).code).toBe(0)

  const run = await sandbox.run(['run', 'demo/floating', '-b', 'main'])
  expect(run.stdout).toContain('from the repository, Ann\n')
  expect(run.code).toBe(0)
  const refused = await sandbox.run(['run', 'demo/floating'])
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain('must name a branch or a commit')
  expect((await sandbox.run(['run', 'demo/pinned', '-v', 'AT=main'])).stdout).toContain('from the repository, Ann\n')
  const missing = await sandbox.run(['run', 'demo/pinned', '-v', 'AT=nowhere'])
  expect(missing.code).toBe(1)
  expect(missing.stdout + missing.stderr).toContain('There is no branch, tag or commit "nowhere"')

  const local = await sandbox.run(['run', '--local', '-f', floating, '-b', 'main'])
  expect(local.stdout).toContain('from the repository, Ann\n')
  expect(local.code).toBe(0)
  expect((await sandbox.run(['run', '--local', '-f', pinned, '-v', 'AT=nowhere'])).stderr).toContain('Cannot read')
})
