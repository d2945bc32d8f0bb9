import { expect, test } from 'vitest'
import { openDesk, pipelineOf } from '../../cli/test/support.ts'
import { runProgram } from '../../../e2e/support/process.ts'
import { volumeNameOf } from '../src/index.ts'

test('what a killed local run left on the daemon is removed by the next one', async () => {
  await using desk = await openDesk()
  const env = { XDG_DATA_HOME: desk.folder }
  const path = await desk.file('slow.yml', pipelineOf(desk, { slow: ['echo begun', 'sleep 60'] }))
  const quick = await desk.file('quick.yml', pipelineOf(desk, { quick: ['echo quick'] }))
  const volumes = [path, quick].map((documentPath) => volumeNameOf({ documentPath }))
  const left = (): Promise<string> => runProgram('docker', ['ps', '--all', '--quiet', '--filter', `volume=${volumes[0]}`])
  const run = desk.start(['run', '--local', '-f', path], { env })
  await run.says('begun')
  run.child.kill('SIGKILL')
  await run.finished
  expect(await left()).not.toBe('')
  expect(await desk.run(['run', '--local', '-f', quick], { env })).toMatchObject({ code: 0 })
  expect(await left()).toBe('')
  for (const volume of volumes) await runProgram('docker', ['volume', 'rm', '--force', volume])
})
