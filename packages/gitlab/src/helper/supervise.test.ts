/** A job in the helper and a shell, as in its pod: two processes that share a folder. */
import { execFileSync, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock, type Clock } from '@windlass/kit'
import type { Stage } from '../job/stage.ts'
import { decodeFrames, encodeFrame, openJobLog, type Frame } from './job-log.ts'
import { startLoop } from '../../test/support/start-loop.ts'
import { FILES } from './shell-loop.ts'
import { superviseJob, type JobResult, type SupervisorOptions } from './supervise.ts'

interface Scene {
  readonly folder: string
  readonly loop: ChildProcess
  run(stages: readonly Partial<Stage>[], more?: Partial<SupervisorOptions>): Promise<JobResult>
  frames(): readonly Frame[]
  /** Output of the build container. */
  work(): string
}

function openScene(): Scene {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-supervise-'))
  const exchange = join(folder, 'exchange')
  mkdirSync(exchange)
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const loop = startLoop(exchange)
  execFileSync('mkfifo', [join(exchange, FILES.commands)])
  const logFile = join(exchange, FILES.log)
  const frames = (): readonly Frame[] => decodeFrames(readFileSync(logFile)).frames
  return {
    folder,
    loop,
    frames,
    work: () => Buffer.concat(frames().flatMap(({ kind, bytes }) => (kind === 'work' ? [bytes] : []))).toString(),
    async run(stages, more = {}) {
      const log = openJobLog(logFile, () => Date.now() * 1_000)
      const defaults = { title: '', container: 'build', when: 'on_success', attempts: 1, isFatal: true, script: '' } as const
      const environmentFile = join(folder, 'env')
      writeFileSync(environmentFile, '')
      const result = await superviseJob({
        stages: stages.map((stage, n) => ({ ...defaults, name: `step_${n}`, ...stage })),
        exchangeFolder: exchange,
        environmentFile,
        log,
        clock: systemClock,
        timeoutMs: 60_000,
        graceMs: 200,
        canceled: new AbortController().signal,
        ...more,
      })
      log.close()
      return result
    },
  }
}

const controlOf = (scene: Scene): unknown[] =>
  scene.frames().flatMap(({ kind, bytes }) => (kind === 'control' ? [JSON.parse(bytes.toString()) as unknown] : []))

test('stages run in their containers and order, and the log has their output and ends', async () => {
  const scene = openScene()
  const result = await scene.run([
    { name: 'get_sources', container: 'helper', script: 'echo from the helper' },
    { name: 'step_script', script: 'echo one; echo two >&2' },
    { name: 'failed_only', when: 'on_failure', script: 'echo never' },
  ])
  expect(result).toEqual({ state: 'success' })
  expect(scene.work()).toBe('one\ntwo\n')
  expect(
    scene
      .frames()
      .find(({ kind }) => kind === 'executor')
      ?.bytes.toString(),
  ).toBe('from the helper\n')
  expect(controlOf(scene)).toMatchObject([
    { type: 'stage-start', name: 'get_sources' },
    { type: 'stage-end', name: 'get_sources', code: 0 },
    { type: 'stage-start', name: 'step_script' },
    { type: 'stage-end', name: 'step_script', code: 0 },
    { type: 'end', result: { state: 'success' } },
  ])
})

test('a failed script has its exit code, and what runs on failure and always still runs', async () => {
  const scene = openScene()
  const result = await scene.run([
    { name: 'step_script', script: 'exit 42' },
    { name: 'step_release', script: 'echo never' },
    { name: 'after_script', when: 'always', script: 'echo after' },
    { name: 'archive', when: 'on_failure', script: 'echo saved; exit 3' },
  ])
  expect(result).toEqual({ state: 'failed', reason: 'script_failure', stage: 'step_script', exitCode: 42 })
  expect(scene.work()).toBe('after\nsaved\n')
  expect(readFileSync(join(scene.folder, 'env'), 'utf8')).toBe('CI_JOB_STATUS=failed\n')
})

test('a stage that is not fatal only fails itself, and one of the helper is a failure of the runner', async () => {
  const scene = openScene()
  expect(await scene.run([{ script: 'exit 1', isFatal: false }, { script: 'echo on' }])).toEqual({ state: 'success' })
  expect(scene.work()).toBe('on\n')
  const other = openScene()
  expect(await other.run([{ name: 'get_sources', container: 'helper', script: 'exit 1' }])).toMatchObject({
    state: 'failed',
    reason: 'runner_system_failure',
    stage: 'get_sources',
  })
})

test('a stage is tried again after its clear script', async () => {
  const scene = openScene()
  const mark = join(scene.folder, 'mark')
  const result = await scene.run([
    {
      name: 'get_sources',
      container: 'helper',
      attempts: 3,
      script: `[ -f ${mark} ]`,
      clear: { name: 'clear_worktree', title: '', script: `touch ${mark}` },
    },
  ])
  expect(result).toEqual({ state: 'success' })
  expect(controlOf(scene).map((one) => (one as { name?: string }).name)).toEqual([
    'get_sources',
    'get_sources',
    'clear_worktree',
    'clear_worktree',
    'get_sources',
    'get_sources',
    undefined,
  ])
})

test('a cancel stops the script within the grace, and after_script runs', async () => {
  const scene = openScene()
  const cancel = new AbortController()
  const running = scene.run(
    [
      { name: 'step_script', script: "trap 'echo stopped; exit 1' TERM; echo started; while :; do sleep 0.05; done" },
      { name: 'after_script', when: 'always', script: 'echo after' },
    ],
    { canceled: cancel.signal, graceMs: 60_000 },
  )
  await expect.poll(() => scene.work(), { interval: 20 }).toContain('started')
  cancel.abort()
  expect(await running).toEqual({ state: 'failed', reason: 'job_canceled', stage: 'step_script' })
  // Some shells say that a command of theirs was ended.
  expect(scene.work()).toMatch(/^started\n(?:Terminated\n)?stopped\nafter\n$/)
  expect(readFileSync(join(scene.folder, 'env'), 'utf8')).toBe('CI_JOB_STATUS=canceled\n')
})

test('a stage that ignores its end is killed with its children, and the job has taken too long', async () => {
  const scene = openScene()
  // The time limit of the first stage ends when the test says so, however slow the machine is.
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
  let limits = 0
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => (ms > 10_000 && (limits += 1) === 1 ? isOver : systemClock.sleep(ms, signal)),
  }
  const stubborn = "trap '' TERM; while :; do sleep 0.05; done"
  const running = scene.run(
    [
      { name: 'step_script', script: `trap '' TERM; echo started; sh -c "${stubborn}" & while :; do sleep 0.05; done` },
      { name: 'after_script', when: 'always', script: 'echo after' },
    ],
    { clock },
  )
  await expect.poll(() => scene.work(), { interval: 20 }).toContain('started')
  end()
  expect(await running).toEqual({ state: 'failed', reason: 'job_execution_timeout', stage: 'step_script' })
  expect(scene.work()).toBe('started\nafter\n')
})

test('a process that a stage leaves keeps neither the stage nor its output open', async () => {
  const scene = openScene()
  const result = await scene.run([
    { name: 'step_script', script: 'sleep 300 & echo done' },
    { name: 'helper', container: 'helper', script: 'sleep 300 & echo done' },
  ])
  expect(result).toEqual({ state: 'success' })
  expect(scene.work()).toBe('done\n')
})

test('a million bytes arrive whole and in order', async () => {
  const scene = openScene()
  await scene.run([
    { script: 'i=0; while [ $i -lt 20000 ]; do echo "line $i of the output of this job, which is long"; i=$((i+1)); done' },
  ])
  const lines = scene.work().split('\n')
  expect(lines).toHaveLength(20_001)
  expect(lines.every((line, n) => n === 20_000 || line === `line ${n} of the output of this job, which is long`)).toBe(true)
})

test('frames are read whole, from any cut of the log', () => {
  const frame = fc.record({
    kind: fc.constantFrom('work', 'executor', 'control'),
    at: fc.nat(2 ** 31),
    bytes: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  })
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 6 }), fc.nat(400), (frames, cut) => {
      const bytes = Buffer.concat(frames.map(encodeFrame))
      const first = decodeFrames(bytes.subarray(0, Math.min(cut, bytes.length)))
      const second = decodeFrames(bytes.subarray(first.length))
      expect([...first.frames, ...second.frames]).toEqual(frames)
      expect(first.length + second.length).toBe(bytes.length)
    }),
  )
  expect(() => decodeFrames(Buffer.from('not a frame\n'))).toThrow('damaged at byte 0')
})

test('a job whose stages have ended waits for its terminal, keeps its result, and ends when the terminal is closed', async () => {
  const scene = openScene()
  const mark = join(scene.folder, 'terminal-open')
  writeFileSync(mark, '')
  const running = scene.run([{ name: 'step_script', script: 'exit 3' }], { terminalMs: 600_000, terminalMark: mark })
  const said = (): string =>
    Buffer.concat(scene.frames().flatMap(({ kind, bytes }) => (kind === 'executor' ? [bytes] : []))).toString()
  await expect.poll(said).toBe('A terminal is open. The job ends when it is closed, at the latest after 600 s.\n')
  expect(controlOf(scene).at(-1)).toMatchObject({ type: 'stage-end', name: 'step_script' })
  rmSync(mark)
  expect(await running).toMatchObject({ state: 'failed', reason: 'script_failure', exitCode: 3 })
  expect(said()).toContain('The terminal is closed.')
  expect(controlOf(scene).at(-1)).toMatchObject({ type: 'end' })
})

test.each([
  { what: 'the time is over', terminalMs: 300, text: 'The terminal was still open after 0 s, and is closed.' },
  { what: 'the job is canceled', terminalMs: 600_000, text: 'The job is canceled, and its terminal is closed.' },
  { what: 'the job has no terminals', terminalMs: undefined, text: '' },
])('a job does not wait for its terminal when $what', async ({ terminalMs, text }) => {
  const scene = openScene()
  const mark = join(scene.folder, 'terminal-open')
  writeFileSync(mark, '')
  const canceled = new AbortController()
  const running = scene.run([{ script: 'true' }], { terminalMs, terminalMark: mark, canceled: canceled.signal })
  const lines = (): string =>
    Buffer.concat(scene.frames().flatMap(({ kind, bytes }) => (kind === 'executor' ? [bytes] : []))).toString()
  if (text.includes('canceled')) {
    await expect.poll(lines).toContain('A terminal is open')
    canceled.abort()
  }
  expect(await running).toEqual({ state: 'success' })
  expect(lines()).toContain(text)
})
