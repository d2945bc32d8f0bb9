import { expect, test } from 'vitest'
import { openSandbox, pipelineOf } from '../../cli/test/support.ts'
import { runProgram } from '../../../e2e/support/process.ts'
import { volumeNameOf } from '../src/index.ts'

test('a reader that closes the pipe ends the local run, and no container of it stays', async () => {
  await using sandbox = await openSandbox()
  const env = { XDG_DATA_HOME: sandbox.folder }
  const path = await sandbox.file(
    'piped.yml',
    pipelineOf(sandbox, { slow: ['echo begun', 'while :; do echo more; sleep 0.1; done'] }),
  )
  const volume = volumeNameOf({ documentPath: path })
  const run = sandbox.start(['run', '--local', '-f', path], { env })
  await run.says('begun')
  // As `head` does when it has its lines.
  run.child.stdout.destroy()
  expect(await run.finished).toMatchObject({ code: 0 })
  expect(await runProgram('docker', ['ps', '--all', '--quiet', '--filter', `volume=${volume}`])).toBe('')
  await runProgram('docker', ['volume', 'rm', '--force', volume])
})

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
