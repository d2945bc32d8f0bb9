import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { skippingClock } from '../../../../e2e/support/clocks.ts'
import { fakeDocker } from '../../test/support/fake-docker.ts'
import type { StepOutput } from '../output/step-output.ts'
import { openTerminal, type Terminal } from './terminal.ts'

const record: StepOutput = {
  write: async () => undefined,
  say: async () => undefined,
  redact: (text) => text,
  hide: () => undefined,
  end: async () => undefined,
}

/** Opens the terminal of a process that has printed a text, and whose exit codes the daemon tells like this. */
async function open(exitCode: () => number | undefined): Promise<Terminal> {
  const terminal = new PassThrough()
  const exec = { terminal, resize: async () => undefined, exitCode: async () => exitCode() }
  const docker = fakeDocker({ statFile: async () => ({ size: 1, linkTarget: '' }), execTerminal: async () => exec })
  const shape = { columns: 80, rows: 24 }
  const common = { docker, clock: skippingClock(), container: 'c', shape, secrets: undefined, record }
  const opened = await openTerminal({ ...common, shell: 'sh', onInput: () => undefined })
  terminal.end('said')
  return opened
}

const textOf = async ({ output }: Terminal): Promise<string> => Buffer.concat(await Array.fromAsync(output)).toString()

test('has the exit code of a process whose output ended before the daemon noticed its end', async () => {
  let looks = 0
  const terminal = await open(() => ((looks += 1) < 3 ? undefined : 7))
  expect(await textOf(terminal)).toBe('said')
  expect(await terminal.ended).toBe(7)
})

test('is lost if its process runs on', async () => {
  const terminal = await open(() => undefined)
  expect(await textOf(terminal)).toBe('said')
  await expect(terminal.ended).rejects.toThrow('the terminal connection was lost')
})
