/** The commands of a terminal, in the shell of this machine. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { systemClock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { expect, onTestFinished, test } from 'vitest'
import { keptLog } from '../../../../../e2e/gitlab/support/coordinator-pair.ts'
import { EXCHANGE_FOLDER } from '../../pod/containers.ts'
import { openPodTerminal, shellCommands } from './pod-terminal.ts'

test('a shell begins in the folder of the project, and ends by its own number', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'windlass-terminal-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const begin = (terminal: number): ReturnType<typeof spawn> => {
    const [program = '', ...args] = shellCommands(terminal, folder).begin
    const env = { PATH: process.env['PATH'], CI_PROJECT_DIR: folder }
    return spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env })
  }
  const [former, next] = [begin(0), begin(1)]
  onTestFinished(() => {
    for (const shell of [former, next]) shell.kill('SIGKILL')
  })
  let output = ''
  for (const shell of [former, next]) {
    shell.stdout?.on('data', (part: Buffer) => {
      output += part.toString()
    })
    shell.stdin?.write('echo "in $PWD as $$"\n')
  }
  for (const { pid } of [former, next]) await expect.poll(() => output).toContain(`in ${folder} as ${pid}\n`)
  const ended = once(former, 'exit')
  const [program = '', ...args] = shellCommands(0, folder).hangUp
  expect(spawnSync(program, args).status).toBe(0)
  expect(await ended).toEqual([null, 'SIGHUP'])
  expect(next.exitCode ?? next.signalCode).toBeNull()
})

test('a terminal whose mark cannot be made is refused after some tries, and the mark is not where the job can write', async () => {
  const commands: string[] = []
  const exec: Kube['exec'] = async (_, { container, command }) => {
    commands.push(`${container} ${command.join(' ')}`)
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    return { stdin, stdout, stderr, exit: Promise.resolve(1), resize: () => undefined }
  }
  const terminal = openPodTerminal({
    kube: { exec },
    pod: { kind: 'Pod', namespace: 'ci', name: 'job' },
    jobId: 7,
    clock: { ...systemClock, sleep: async () => undefined },
    log: keptLog(),
    over: new AbortController().signal,
  })
  await expect(terminal.open(new AbortController().signal)).rejects.toMatchObject({ code: 'unavailable' })
  // Waits for the changes before it, which end as well.
  await terminal.release()
  expect(new Set(commands)).toEqual(
    new Set(['helper touch /tmp/windlass-terminal-open', 'helper rm -rf /tmp/windlass-terminal-open']),
  )
  expect(commands.join(' ')).not.toContain(EXCHANGE_FOLDER)
})
