/** A build that starts builds of another pipeline: `codefresh-run`, with the key and the address that the server leaves in its steps. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ensureImages } from '../../../e2e/support/images.ts'
import { freePort, runProgram } from '../../../e2e/support/process.ts'
import { openDesk } from './support.ts'

test('P171: a step runs another pipeline, shows its log and takes its end; the child knows its parent', async () => {
  await ensureImages('windlass')
  await using desk = await openDesk()
  const host = await runProgram('docker', ['network', 'inspect', 'bridge', '--format', '{{(index .IPAM.Config 0).Gateway}}'])
  const data = join(desk.folder, 'data')
  const up = ['up', '--detach', '--host', host, '--port', String(await freePort()), '--data', data]
  expect((await desk.run(up)).code).toBe(0)
  try {
    const shell = desk.images['SHELL_IMAGE']
    const child = { greet: { image: shell, commands: ['echo "child says $WORD, told $SECRET"', 'exit ${CODE:-0}'] } }
    const parent = {
      run_child: {
        type: 'codefresh-run:2.0.0',
        arguments: {
          PIPELINE_ID: 'demo/child',
          VARIABLE: ['WORD=${{GIVEN}}', 'CODE=${{CODE}}'],
          SECRETS: ['SECRET=hush-hush'],
          TIMEOUT_MINS: '2',
        },
      },
      after: { image: shell, commands: ['echo "child was ${{steps.run_child.output.BUILD_ID}}"', 'echo "key $CF_API_KEY"'] },
    }
    const pipeline = (name: string, steps: object): string =>
      JSON.stringify({ kind: 'pipeline', metadata: { name }, spec: { steps } })
    const file = await desk.file('all.yml', `${pipeline('demo/child', child)}\n---\n${pipeline('demo/parent', parent)}\n`)
    expect((await desk.run(['apply', '-f', file])).stderr).not.toContain('error')

    const good = await desk.run(['run', 'demo/parent', '-v', 'GIVEN=it\'s "quoted" $HOME', '-v', 'CODE=0'])
    expect(good.stdout).toContain('child says it\'s "quoted" $HOME, told *****')
    expect(good.code).toBe(0)
    expect(good.stdout).toContain('key *****')
    const id = /child was ([0-9a-f]{24})/.exec(good.stdout)?.[1] ?? ''
    const shown: { annotations: Record<string, string>; initiator: string } = JSON.parse(
      (await desk.run(['describe', 'build', id, '-o', 'json'])).stdout,
    )
    const parentId = [...good.stdout.matchAll(/Build ([0-9a-f]{24}) succeeded/g)].at(-1)?.[1]
    expect(shown.annotations['cf_predecessor']).toBe(parentId)

    const bad = await desk.run(['run', 'demo/parent', '-v', 'GIVEN=x', '-v', 'CODE=3'])
    expect(bad.code).toBe(1)
    expect(bad.stdout).toMatch(/✖ run_child/)
  } finally {
    await desk.run(['up', '--stop', '--data', data])
  }
})
