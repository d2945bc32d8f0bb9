/** A build that starts builds of another pipeline: `codefresh-run`, with the key and URL that the server provides to steps. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { containerHost } from '../../../../e2e/support/docker.ts'
import { ensureImages } from '../../../../e2e/support/images.ts'
import { freePort } from '../../../../e2e/support/process.ts'
import { openSandbox, stopUp } from '../support.ts'

test('a step runs another pipeline, shows its log and returns its result; the child records its parent (P171)', async () => {
  await ensureImages('windlass')
  await using sandbox = await openSandbox()
  const host = await containerHost()
  const data = join(sandbox.folder, 'data')
  const up = ['up', '--detach', '--host', host, '--port', String(await freePort()), '--data', data]
  expect((await sandbox.run(up)).code).toBe(0)
  try {
    const shell = sandbox.images['SHELL_IMAGE']
    const child = { greet: { image: shell, commands: ['echo "child says $WORD, told $SECRET"', 'exit ${CODE:-0}'] } }
    const parent = {
      run_child: {
        type: 'codefresh-run:2.0.0',
        arguments: {
          PIPELINE_ID: 'demo/child',
          VARIABLE: ['WORD=${{GIVEN}}', 'CODE=${{CODE}}'],
          SECRETS: ['SECRET=hush-hush'],
          TIMEOUT_MINS: '9',
        },
      },
      after: { image: shell, commands: ['echo "child was ${{steps.run_child.output.BUILD_ID}}"', 'echo "key $CF_API_KEY"'] },
    }
    const pipeline = (name: string, steps: object): string =>
      JSON.stringify({ kind: 'pipeline', metadata: { name }, spec: { steps } })
    const file = await sandbox.file('all.yml', `${pipeline('demo/child', child)}\n---\n${pipeline('demo/parent', parent)}\n`)
    expect((await sandbox.run(['apply', '-f', file])).stderr).not.toContain('error')

    const good = await sandbox.run(['run', 'demo/parent', '-v', 'GIVEN=it\'s "quoted" $HOME', '-v', 'CODE=0'])
    expect(good.stdout).toContain('child says it\'s "quoted" $HOME, told *****')
    expect(good.code).toBe(0)
    expect(good.stdout).toContain('key *****')
    const id = /child was ([0-9a-f]{24})/.exec(good.stdout)?.[1] ?? ''
    const shown: { annotations: Record<string, string>; initiator: string } = JSON.parse(
      (await sandbox.run(['describe', 'build', id, '-o', 'json'])).stdout,
    )
    const parentId = [...good.stdout.matchAll(/Build ([0-9a-f]{24}) succeeded/g)].at(-1)?.[1]
    expect(shown.annotations['cf_predecessor']).toBe(parentId)

    const bad = await sandbox.run(['run', 'demo/parent', '-v', 'GIVEN=x', '-v', 'CODE=3'])
    expect(bad.code).toBe(1)
    expect(bad.stdout).toMatch(/✖ run_child/)
  } finally {
    await stopUp(sandbox, data)
  }
})
