import { expect, test } from 'vitest'
import { openSandbox, pipelineOf } from '../../cli/test/support.ts'
import { runProgram } from '../../../e2e/support/process.ts'
import { volumeNameOf } from '../src/index.ts'

test('the next local run removes what a killed one left on the daemon', async () => {
  await using sandbox = await openSandbox()
  const env = { XDG_DATA_HOME: sandbox.folder }
  const path = await sandbox.file('slow.yml', pipelineOf(sandbox, { slow: ['echo begun', 'sleep 60'] }))
  const quick = await sandbox.file('quick.yml', pipelineOf(sandbox, { quick: ['echo quick'] }))
  const volumes = [path, quick].map((documentPath) => volumeNameOf({ documentPath }))
  const left = (): Promise<string> => runProgram('docker', ['ps', '--all', '--quiet', '--filter', `volume=${volumes[0]}`])
  const run = sandbox.start(['run', '--local', '-f', path], { env })
  await run.says('begun')
  run.child.kill('SIGKILL')
  await run.finished
  expect(await left()).not.toBe('')
  expect(await sandbox.run(['run', '--local', '-f', quick], { env })).toMatchObject({ code: 0 })
  expect(await left()).toBe('')
  for (const volume of volumes) await runProgram('docker', ['volume', 'rm', '--force', volume])
})
