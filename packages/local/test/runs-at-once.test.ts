/** Two concurrent local runs of one file on one daemon. */
import { VOLUME_PATH } from '@windlass/plan'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSandbox, pipelineOf, type Sandbox, type Started } from '../../cli/test/support.ts'
import { runProgram } from '../../../e2e/support/process.ts'
import { volumeNameOf } from '../src/index.ts'
import { thisProcess } from '../src/runs/process-identity.ts'

let sandbox: Sandbox
const volumes: string[] = []

beforeAll(async () => {
  sandbox = await openSandbox()
})

afterAll(async () => {
  for (const volume of volumes) await runProgram('docker', ['volume', 'rm', '--force', volume])
  await sandbox[Symbol.asyncDispose]()
})

/** Writes who runs to the shared volume, waits until it is released, and reads it again. */
const MARKS = [
  'echo $WHO > $CF_VOLUME_PATH/who',
  'echo "step runs"',
  'while [ ! -e $CF_VOLUME_PATH/go ]; do sleep 0.1; done',
  'rm $CF_VOLUME_PATH/go',
  'echo "I am $(cat $CF_VOLUME_PATH/who)"',
]

async function document(name: string, commands: readonly string[] = MARKS): Promise<{ path: string; volume: string }> {
  const path = await sandbox.file(name, pipelineOf(sandbox, { one: commands }))
  const volume = volumeNameOf({ documentPath: path })
  volumes.push(volume)
  return { path, volume }
}

const begin = (path: string, who: string): Started =>
  sandbox.start(['run', '--local', '-f', path, '-v', `WHO=${who}`], { env: { XDG_DATA_HOME: sandbox.folder } })

const volumeOf = (run: Started): string => /\bvolume (\S+)/.exec(run.stdout())?.[1] ?? ''

/** Lets the step of a run continue, from a container that has its volume. */
async function release(volume: string): Promise<void> {
  const ids = (await runProgram('docker', ['ps', '--quiet', '--filter', `volume=${volume}`])).split('\n')
  // That of a killed run may end meanwhile.
  const touched = await Promise.any(
    ids.filter((id) => id !== '').map((id) => runProgram('docker', ['exec', id, 'touch', `${VOLUME_PATH}/go`])),
  )
  expect(touched).toBe('')
}

const listVolumes = async (name: string): Promise<string[]> =>
  (await runProgram('docker', ['volume', 'ls', '--quiet', '--filter', `name=${name}`])).split('\n').filter((line) => line !== '')

/** A hold is removed when its run has ended; that of a killed run stays. */
const holdsOf = async (volume: string): Promise<string[]> =>
  (await runProgram('docker', ['volume', 'ls', '--quiet', '--filter', `label=windlass.io/holds=${volume}`]))
    .split('\n')
    .filter((line) => line !== '')

test('gives the second of two concurrent runs of one file a separate volume, which is removed at its end', async () => {
  const { path, volume } = await document('twice.yml')
  const first = begin(path, 'first')
  await first.says('step runs')
  expect(volumeOf(first)).toBe(volume)
  const second = begin(path, 'second')
  await second.says('step runs')
  const own = volumeOf(second)
  expect(own).not.toBe(volume)
  expect(second.stdout()).toMatch(/Another run of this file \(process \d+, started \d+s ago\) uses its persistent volume/)
  await release(own)
  expect(await second.finished).toMatchObject({ code: 0, stdout: expect.stringContaining('I am second') })
  // The second run removed only its own volume: the first one continues.
  await release(volume)
  expect(await first.finished).toMatchObject({ code: 0, stdout: expect.stringContaining('I am first') })
  expect(await listVolumes(volume)).toEqual([volume])
  expect(await holdsOf(volume)).toEqual([])
})

test('lets exactly one of several runs that start at the same time use the kept volume', async () => {
  const { path, volume } = await document('rush.yml')
  const runs = ['a', 'b', 'c'].map((who) => begin(path, who))
  await Promise.all(runs.map((run) => run.says('step runs')))
  const names = runs.map((run) => volumeOf(run))
  expect(new Set(names).size).toBe(3)
  expect(names.filter((name) => name === volume)).toHaveLength(1)
  await Promise.all(names.map((name) => release(name)))
  for (const [index, run] of runs.entries())
    expect(await run.finished).toMatchObject({ code: 0, stdout: expect.stringContaining(`I am ${['a', 'b', 'c'][index]}`) })
  expect(await listVolumes(volume)).toEqual([volume])
})

test('gives the volume of a killed run to the next run', async () => {
  const { path, volume } = await document('killed.yml')
  const first = begin(path, 'first')
  await first.says('step runs')
  first.child.kill('SIGKILL')
  await first.finished
  expect(await holdsOf(volume)).toHaveLength(1)
  const next = begin(path, 'next')
  await next.says('step runs')
  expect(volumeOf(next)).toBe(volume)
  await release(volume)
  expect(await next.finished).toMatchObject({ code: 0, stdout: expect.stringContaining('I am next') })
  expect(await holdsOf(volume)).toEqual([])
})

test('removes the separate volume of a killed run in the next run', async () => {
  const { path, volume } = await document('killed-second.yml')
  const first = begin(path, 'first')
  await first.says('step runs')
  const second = begin(path, 'second')
  await second.says('step runs')
  const own = volumeOf(second)
  second.child.kill('SIGKILL')
  await second.finished
  expect(await listVolumes(own)).toEqual([own])
  const third = begin(path, 'third')
  await third.says('step runs')
  expect(volumeOf(third)).not.toBe(volume)
  expect(await listVolumes(own)).toEqual([])
  expect(await holdsOf(volume)).toHaveLength(1)
  await release(volumeOf(third))
  await release(volume)
  expect(await third.finished).toMatchObject({ code: 0, stdout: expect.stringContaining('I am third') })
  expect(await first.finished).toMatchObject({ code: 0, stdout: expect.stringContaining('I am first') })
})

test('does not remove the containers of another run on Ctrl-C', async () => {
  const { path, volume } = await document('interrupted.yml')
  const first = begin(path, 'first')
  await first.says('step runs')
  const second = begin(path, 'second')
  await second.says('step runs')
  second.interrupt()
  expect((await second.finished).code).toBe(130)
  await release(volume)
  expect(await first.finished).toMatchObject({ code: 0, stdout: expect.stringContaining('I am first') })
})

test('does not use a volume held by a run on another machine until the hold expires', async () => {
  const { path, volume } = await document('elsewhere.yml', ['echo step runs'])
  const hold = async (since: number): Promise<void> => {
    const owner = JSON.stringify({ machine: 'another', boot: 'x', pid: 1, startedAt: '1', host: 'far-away' })
    const labels = [
      `windlass.io/holds=${volume}`,
      'windlass.io/run=000000000000000000000000',
      `windlass.io/owner=${owner}`,
      `windlass.io/since=${since}`,
    ]
    await runProgram('docker', [
      'volume',
      'create',
      ...labels.flatMap((label) => ['--label', label]),
      `windlass-hold-${volume}-1`,
    ])
  }
  await hold(Date.now() - 60_000)
  const concurrent = await sandbox.run(['run', '--local', '-f', path], { env: { XDG_DATA_HOME: sandbox.folder } })
  expect(concurrent.code).toBe(0)
  expect(concurrent.stdout).toContain('process 1 on far-away')
  expect(concurrent.stdout).toContain(`docker volume rm windlass-hold-${volume}-1`)
  expect(await holdsOf(volume)).toHaveLength(1)
  await runProgram('docker', ['volume', 'rm', `windlass-hold-${volume}-1`])
  await hold(Date.now() - 4 * 86_400_000)
  const after = await sandbox.run(['run', '--local', '-f', path], { env: { XDG_DATA_HOME: sandbox.folder } })
  expect(after.stdout).not.toContain('far-away')
  expect(await holdsOf(volume)).toEqual([])
})

test('does not mistake a new process with a reused number for an ended one', async () => {
  const { path, volume } = await document('reused.yml', ['echo step runs'])
  // This process is alive, but started at another time than the hold says.
  const owner = await ownerOfThisProcess()
  const labels = [
    `windlass.io/holds=${volume}`,
    'windlass.io/run=000000000000000000000000',
    `windlass.io/owner=${owner}`,
    `windlass.io/since=${Date.now()}`,
  ]
  await runProgram('docker', ['volume', 'create', ...labels.flatMap((label) => ['--label', label]), `windlass-hold-${volume}-1`])
  const after = await sandbox.run(['run', '--local', '-f', path], { env: { XDG_DATA_HOME: sandbox.folder } })
  expect(after.stdout).not.toContain('Another run')
  expect(await holdsOf(volume)).toEqual([])
})

async function ownerOfThisProcess(): Promise<string> {
  return JSON.stringify({ ...(await thisProcess()), startedAt: 'long ago' })
}
