/** The demo in short: a stored pipeline that clones from a real git server over HTTP. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { containerHost } from '../../../e2e/support/docker.ts'
import { createRepository, startGitServer } from '../../../e2e/support/git-server.ts'
import { openSandbox, startUp } from './support.ts'

test('applies a project and a pipeline, and runs the pipeline on a branch of a git repository', async () => {
  await using sandbox = await openSandbox()
  await using up = await startUp(sandbox)
  const from = join(sandbox.folder, 'application')
  await mkdir(from)
  await writeFile(join(from, 'greeting.txt'), 'hello from the repository\n')
  const root = join(sandbox.folder, 'git')
  const revision = await createRepository({ root, name: 'demo/app', from })
  const host = await containerHost()
  await using git = await startGitServer({ root, host })
  const shell = sandbox.images['SHELL_IMAGE'] ?? ''
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
  const file = await sandbox.file('demo.yml', `${JSON.stringify(project)}\n---\n${JSON.stringify(pipeline)}\n`)
  expect(await sandbox.run(['apply', '-f', file])).toMatchObject({
    code: 0,
    stdout: 'project/demo created\npipeline/demo/app created\n',
  })
  const { code, stdout } = await sandbox.run(['run', 'demo/app', '-b', 'main', '-v', 'WHO=Ann'])
  expect(stdout).toContain('▶ test  Read the file\n')
  expect(stdout).toContain('hello from the repository\n')
  expect(stdout).toContain('26 bytes, said Ann\n')
  expect(stdout).toContain(revision.slice(0, 7))
  expect(code).toBe(0)
  expect(up.url).toContain('127.0.0.1')
})
