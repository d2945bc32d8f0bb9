/** The demo's story in small: a stored pipeline that clones from a real git server over HTTP. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createRepository, startGitServer } from '../../../e2e/support/git-server.ts'
import { runProgram } from '../../../e2e/support/process.ts'
import { openDesk, startUp } from './support.ts'

test('a project and a pipeline are applied, and the pipeline runs on a branch of a git repository', async () => {
  await using desk = await openDesk()
  await using up = await startUp(desk)
  const from = join(desk.folder, 'application')
  await mkdir(from)
  await writeFile(join(from, 'greeting.txt'), 'hello from the repository\n')
  const root = join(desk.folder, 'git')
  const revision = await createRepository({ root, name: 'demo/app', from })
  const host = await runProgram('docker', ['network', 'inspect', 'bridge', '--format', '{{(index .IPAM.Config 0).Gateway}}'])
  await using git = await startGitServer({ root, host })
  const shell = desk.images['SHELL_IMAGE'] ?? ''
  const steps = {
    main_clone: { type: 'git-clone', repo: '${{REPO_URL}}', revision: '${{CF_BRANCH}}' },
    test: { title: 'Read the file', image: shell, commands: ['cat greeting.txt', 'cf_export RESULT=$(wc -c < greeting.txt)'] },
    report: { image: shell, commands: ['echo "$RESULT bytes, said $WHO"'] },
  }
  const pipeline = {
    kind: 'pipeline',
    metadata: { name: 'demo/app' },
    spec: { variables: [{ key: 'REPO_URL', value: `${git.url}/demo/app.git` }], steps },
  }
  const project = { kind: 'project', metadata: { name: 'demo' }, spec: {} }
  const file = await desk.file('demo.yml', `${JSON.stringify(project)}\n---\n${JSON.stringify(pipeline)}\n`)
  expect(await desk.run(['apply', '-f', file])).toMatchObject({
    code: 0,
    stdout: 'project/demo created\npipeline/demo/app created\n',
  })
  const { code, stdout } = await desk.run(['run', 'demo/app', '-b', 'main', '-v', 'WHO=Ann'])
  expect(stdout).toContain('▶ test  Read the file\n')
  expect(stdout).toContain('hello from the repository\n')
  expect(stdout).toContain('26 bytes, said Ann\n')
  expect(stdout).toContain(revision.slice(0, 7))
  expect(code).toBe(0)
  expect(up.url).toContain('127.0.0.1')
})
