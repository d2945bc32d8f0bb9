/** Groups and hooks on a real daemon, where the time of the engine itself is in play; the conformance set shows what each keyword does. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openJournal } from '@windlass/journal'
import { newId, silentLog, systemClock } from '@windlass/kit'
import { emptySnapshot, type Plan, type PlanStep } from '@windlass/plan'
import { EngineEvent, type Command } from '@windlass/protocol'
import { runAttempt } from '../src/index.ts'
import { image } from './support/images.ts'
import { compilePlan, runPipeline, testDocker, type PipelineRun } from './support/run-pipeline.ts'

/** The plan of a document with other settings for one step, such as the language does not let its writer say. */
function planWith(
  text: string,
  step: string,
  change: Partial<PlanStep>,
): { plan: Plan; snapshot: ReturnType<typeof emptySnapshot> } {
  const plan = compilePlan(text, [])
  const changed = { ...plan, steps: plan.steps.map((one) => (one.name === step ? { ...one, ...change } : one)) }
  return { plan: changed, snapshot: emptySnapshot(changed) }
}

function starts(run: PipelineRun, step: string): number[] {
  return run.events.flatMap((event) => (event.type === 'step.started' && event.step === step ? [event.try] : []))
}

test('a group that failed runs again after its pause, with all that is inside it', async () => {
  const text = `
version: '1.0'
steps:
  tests:
    type: parallel
    steps:
      flaky:
        image: $SHELL
        commands: ['test -f /codefresh/volume/been || { touch /codefresh/volume/been; exit 1; }', cf_export ROUND=two]
        hooks: {on_finish: {exec: {image: $SHELL, commands: [echo after]}}}
      steady: {image: $SHELL, commands: [echo steady]}
  rest: {image: $SHELL, commands: ['echo $ROUND']}
`
  const run = await runPipeline(text, { input: planWith(text, 'tests', { retry: { maxAttempts: 3, delayMs: 400, factor: 1 } }) })
  expect(run.outcome.status).toBe('success')
  expect(starts(run, 'tests')).toEqual([1, 2])
  expect(starts(run, 'flaky')).toEqual([1, 1])
  expect(starts(run, 'steady')).toEqual([1, 1])
  expect(starts(run, 'flaky.on_finish')).toEqual([1, 1])
  expect(run.output('rest')).toBe('two\n')
  expect(run.log('system')).toMatch(/"tests" failed; its try 2 begins in 0\.4 s/)
  const [first, second] = run.events
    .filter((event) => event.type === 'step.started' && event.step === 'tests')
    .map(({ at }) => at)
  expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(400)
})

test('when the time of a group is over, what runs inside stops, and nothing more starts there', async () => {
  const text = `
version: '1.0'
steps:
  group:
    type: parallel
    fail_fast: true
    steps:
      long: {image: $SHELL, commands: [sleep 60], fail_fast: false}
      short: {image: $SHELL, commands: [echo short]}
  rest: {image: $SHELL, commands: [echo never]}
hooks: {on_fail: {exec: {image: $SHELL, commands: [echo told]}}}
`
  const run = await runPipeline(text, { input: planWith(text, 'group', { timeout: '2s' }) })
  expect(run.outcome).toMatchObject({ status: 'error', reason: 'step-failed', step: 'group' })
  expect(run.snapshot.steps['group']).toMatchObject({ status: 'error', reason: 'timeout' })
  expect(run.snapshot.steps['long']).toMatchObject({ status: 'error', reason: 'timeout' })
  expect(run.snapshot.steps['short']).toMatchObject({ status: 'success' })
  expect(run.snapshot.steps['rest']).toMatchObject({ status: 'skipped', reason: 'not-reached' })
  expect(run.output('.on_fail')).toBe('told\n')
})

test('after a cancel the on_finish hooks of what had started run, and no others', async () => {
  const cancel = new AbortController()
  const hook = (word: string): string => `{exec: {image: $SHELL, commands: [echo ${word}]}}`
  const run = await runPipeline(
    `
version: '1.0'
hooks: {on_success: ${hook('no')}, on_fail: ${hook('no')}, on_finish: ${hook('build-over')}}
steps:
  silent:
    image: $SHELL
    commands: [echo ready, sleep 100]
    hooks: {on_fail: ${hook('no')}, on_finish: ${hook('step-over')}}
  never:
    image: $SHELL
    commands: [echo no]
    hooks: {on_finish: ${hook('no')}}
`,
    { cancel: cancel.signal, onOutput: (step, text) => step === 'silent' && text.includes('ready') && cancel.abort() },
  )
  expect(run.outcome).toMatchObject({ status: 'terminated', reason: 'cancelled' })
  expect(run.output('silent.on_finish')).toBe('step-over\n')
  expect(run.output('.on_finish')).toBe('build-over\n')
  const ran = run.events.flatMap((event) => (event.type === 'step.started' ? [event.step] : []))
  expect(ran).toEqual(['silent', 'silent.on_finish', '.on_finish'])
})

test('a build that only waits for an approval ends its attempt, and the next one goes on with what is kept', async () => {
  const text = `
version: '1.0'
steps:
  before: {image: $SHELL, commands: [cf_export WORD=kept]}
  gate: {type: pending-approval}
  after: {image: $SHELL, commands: ['echo $WORD']}
`
  const volumeName = `windlass-test-pause-${process.pid}`
  const first = await runPipeline(text, { input: { volumeName } })
  expect(first.outcome).toEqual({ status: 'pending-approval', reason: 'approval', step: 'gate' })
  expect(first.events.at(-1)?.type).toBe('attempt.finished')
  const decided = {
    ...first.snapshot,
    steps: {
      ...first.snapshot.steps,
      gate: { ...first.snapshot.steps['gate'], status: 'success' as const, try: 1, members: { result: 'approved' }, output: {} },
    },
  }
  const { buildId } = first
  const second = await runPipeline(text, {
    input: { buildId, attempt: 2, snapshot: decided, resume: { cause: 'approval' }, volumeName },
  })
  expect(second.outcome).toEqual({ status: 'success' })
  expect(second.output('after')).toBe('kept\n')
  expect(second.status('before')).toBe('success')
  expect(starts(second, 'before')).toEqual([])
  await (await testDocker()).removeVolume(volumeName)
})

test('a decision that comes while other steps run is obeyed at once, and a second one changes nothing', async () => {
  const text = `
version: '1.0'
mode: parallel
steps:
  long: {image: $SHELL, commands: [sleep 3]}
  gate: {type: pending-approval}
  after: {image: $SHELL, commands: [echo after], when: {steps: [{name: gate, on: [approved]}]}}
  refused: {image: $SHELL, commands: [echo no], when: {steps: [{name: gate, on: [denied]}]}}
`
  const plan = compilePlan(text, [])
  const buildId = newId(Date.now())
  const volumeName = `windlass-test-${buildId}`
  const dir = await mkdtemp(join(tmpdir(), 'engine-test-'))
  const events: EngineEvent[] = []
  const journal = await openJournal<EngineEvent>({
    dir,
    clock: systemClock,
    limitBytes: 1e9,
    decode: (value) => EngineEvent.parse(value),
  })
  const append = journal.append.bind(journal)
  journal.append = (body) => {
    const event = append(body)
    events.push(event)
    return event
  }
  const docker = await testDocker()
  async function* commands(): AsyncGenerator<Command> {
    await systemClock.sleep(1_000)
    const by = { name: 'jo', type: 'user' }
    yield { id: 1, type: 'decide', step: 'gate', decision: 'approved', by, at: Date.now() }
    yield { id: 2, type: 'decide', step: 'gate', decision: 'denied', by, at: Date.now() }
  }
  try {
    const outcome = await runAttempt({
      input: {
        buildId,
        attempt: 1,
        plan,
        snapshot: emptySnapshot(plan),
        secrets: {},
        git: [],
        registries: [],
        limits: { stepLogBytes: 1e9, buildLogBytes: 1e9, heartbeatMs: 10_000, stopGraceMs: 500 },
        userAccess: true,
        resetVolume: false,
        noCache: false,
        volumeName,
      },
      docker,
      journal,
      clock: systemClock,
      log: silentLog,
      signal: new AbortController().signal,
      commands: commands(),
      toolsImage: image('tools'),
    })
    expect(outcome).toEqual({ status: 'success' })
  } finally {
    await journal.remove()
    await rm(dir, { recursive: true, force: true })
    await docker.removeVolume(volumeName)
  }
  const told = events.flatMap((event) => ('step' in event ? [`${event.type} ${event.step}`] : []))
  expect(told.filter((line) => line.startsWith('step.decided'))).toEqual(['step.decided gate'])
  expect(told.indexOf('step.finished after')).toBeLessThan(told.indexOf('step.finished long'))
  expect(events.find((event) => event.type === 'step.finished' && event.step === 'refused')).toMatchObject({ status: 'skipped' })
})
