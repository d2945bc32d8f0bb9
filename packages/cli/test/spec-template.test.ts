/** Pipelines whose steps stand in a git repository: over a server, where the engine reads them, and on this machine alone. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createRepository, startGitServer } from '../../../e2e/support/git-server.ts'
import { runProgram } from '../../../e2e/support/process.ts'
import { openDesk, pipelineOf, startUp } from './support.ts'

test('P164: the steps are read from the branch of the run, or from where they are pinned, on a server and locally', async () => {
  await using desk = await openDesk()
  await using _up = await startUp(desk)
  const from = join(desk.folder, 'application')
  await mkdir(join(from, 'ci'), { recursive: true })
  await writeFile(join(from, 'ci', 'build.yml'), pipelineOf(desk, { far: ['echo from the repository, $WHO'] }))
  const root = join(desk.folder, 'git')
  await createRepository({ root, name: 'demo/app', from })
  const host = await runProgram('docker', ['network', 'inspect', 'bridge', '--format', '{{(index .IPAM.Config 0).Gateway}}'])
  await using git = await startGitServer({ root, host })
  const template = { location: 'git', repo: `${git.url}/demo/app.git`, path: 'ci/build.yml' }
  const document = (name: string, more: object): string =>
    JSON.stringify({
      kind: 'pipeline',
      metadata: { name },
      spec: { variables: [{ key: 'WHO', value: 'Ann' }], specTemplate: { ...template, ...more } },
    })
  const floating = await desk.file('floating.yml', document('demo/floating', {}))
  const pinned = await desk.file('pinned.yml', document('demo/pinned', { revision: '${{AT}}' }))
  expect((await desk.run(['apply', '-f', floating, '-f', pinned])).code).toBe(0)

  const run = await desk.run(['run', 'demo/floating', '-b', 'main'])
  expect(run.stdout).toContain('from the repository, Ann\n')
  expect(run.code).toBe(0)
  const refused = await desk.run(['run', 'demo/floating'])
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain('must name one')
  expect((await desk.run(['run', 'demo/pinned', '-v', 'AT=main'])).stdout).toContain('from the repository, Ann\n')
  const missing = await desk.run(['run', 'demo/pinned', '-v', 'AT=nowhere'])
  expect(missing.code).toBe(1)
  expect(missing.stdout + missing.stderr).toContain('There is no branch, tag or commit "nowhere"')

  const local = await desk.run(['run', '--local', '-f', floating, '-b', 'main'])
  expect(local.stdout).toContain('from the repository, Ann\n')
  expect(local.code).toBe(0)
  expect((await desk.run(['run', '--local', '-f', pinned, '-v', 'AT=nowhere'])).stderr).toContain('cannot be read')
})
