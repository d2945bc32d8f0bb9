import { expect, test } from 'vitest'
import { startGitServer } from './support/git-server.ts'
import { runPipeline } from './support/run-pipeline.ts'

function pipeline(resources: string): string {
  return `
kind: pipeline
metadata: {name: demo/app}
spec:
  externalResources:
${resources}
  steps:
    look:
      image: $SHELL
      commands: ['cat tools/hello.txt || true', 'cat all/one.txt all/deep/two.txt || true', 'ls all']
`
}

test('copies files and folders of other repositories to the volume before the first step (P165)', async () => {
  await using server = await startGitServer()
  const repository = await server.create('team/shared')
  await repository.commit({ 'scripts/hello.txt': 'old\n' })
  const commit = await repository.commit({ 'scripts/hello.txt': 'hello\n', 'data/one.txt': '1\n', 'data/deep/two.txt': '2\n' })
  await repository.commit({ 'scripts/hello.txt': 'new\n', 'other.txt': 'x\n' })
  const run = await runPipeline(
    pipeline(`
    - {type: git, repo: '${repository.url}', revision: ${commit}, source: scripts/hello.txt, destination: tools}
    - {type: git, repo: '${repository.url}', revision: '\${{BRANCH}}', source: /data, destination: /codefresh/volume/all, isFolder: true}
`),
    { variables: { BRANCH: 'main' } },
  )
  expect(run.outcome).toMatchObject({ status: 'success' })
  expect(run.output('look')).toBe('hello\n1\n2\ndeep\none.txt\n')
})

test('ends the build before any step for a missing resource and reports its path (P165)', async () => {
  await using server = await startGitServer()
  const repository = await server.create('team/shared')
  await repository.commit({ 'a.txt': 'a\n' })
  const run = await runPipeline(
    pipeline(`    - {type: git, repo: '${repository.url}', revision: main, source: nothing.txt, destination: tools}`),
  )
  expect(run.outcome).toMatchObject({ status: 'error', reason: 'clone-failed', message: expect.stringContaining('nothing.txt') })
  expect(run.status('look')).not.toBe('success')
  const outside = await runPipeline(
    pipeline(`    - {type: git, repo: '${repository.url}', revision: main, source: a.txt, destination: ../etc}`),
  )
  expect(outside.outcome).toMatchObject({ status: 'error', reason: 'invalid-step' })
})
