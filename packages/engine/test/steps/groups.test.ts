/** Tests groups and hooks on a real daemon where the engine's own timing matters. The conformance set covers each keyword. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openJournal } from '@windlass/journal'
import { newId, silentLog, systemClock, type Clock } from '@windlass/kit'
import { emptySnapshot, type Plan, type PlanStep } from '@windlass/plan'
import { EngineEvent, type Command } from '@windlass/protocol'
import { recordPauses } from '../../../../e2e/support/clocks.ts'
import { runAttempt } from '../../src/index.ts'
import { image } from '../support/images.ts'
import { compilePlan, runPipeline, testDocker, toInput, type PipelineRun } from '../support/run-pipeline.ts'

/** Returns the plan of a document with other settings for one step, which the language does not allow. */
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

test('restarts a failed group with all steps inside after its delay', async () => {
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
  const clock = recordPauses(systemClock)
  const input = planWith(text, 'tests', { retry: { maxAttempts: 3, delayMs: 437, factor: 1 } })
  const run = await runPipeline(text, { input, clock })
  expect(run.outcome.status).toBe('success')
  expect(starts(run, 'tests')).toEqual([1, 2])
  expect(starts(run, 'flaky')).toEqual([1, 1])
  expect(starts(run, 'steady')).toEqual([1, 1])
  expect(starts(run, 'flaky.on_finish')).toEqual([1, 1])
  expect(run.output('rest')).toBe('two\n')
  expect(run.log('system')).toMatch(/"tests" failed; try 2 starts in 0\.4 s/)
  expect(clock.pauses.filter((ms) => ms === 437)).toHaveLength(1)
})

test('stops the steps of a group that times out and starts no more', async () => {
  const text = `
version: '1.0'
steps:
  group:
    type: parallel
    fail_fast: true
    steps:
      long: {image: $SHELL, commands: [sleep 3600], fail_fast: false}
      short: {image: $SHELL, commands: [echo short]}
  rest: {image: $SHELL, commands: [echo never]}
hooks: {on_fail: {exec: {image: $SHELL, commands: [echo told]}}}
`
  // The group times out as soon as its short step has ended, however long that takes.
  const shortIsOver = Promise.withResolvers<void>()
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => (ms === 437_000 ? shortIsOver.promise : systemClock.sleep(ms, signal)),
  }
  const run = await runPipeline(text, {
    input: planWith(text, 'group', { timeout: '437s' }),
    clock,
    onEvent: (event) => event.type === 'step.finished' && event.step === 'short' && shortIsOver.resolve(),
  })
  expect(run.outcome).toMatchObject({ status: 'error', reason: 'step-failed', step: 'group' })
  expect(run.snapshot.steps['group']).toMatchObject({ status: 'error', reason: 'timeout' })
  expect(run.snapshot.steps['long']).toMatchObject({ status: 'error', reason: 'timeout' })
  expect(run.snapshot.steps['short']).toMatchObject({ status: 'success' })
  expect(run.snapshot.steps['rest']).toMatchObject({ status: 'skipped', reason: 'not-reached' })
  expect(run.output('.on_fail')).toBe('told\n')
})

test('runs the on_finish hooks of started steps only after a cancel', async () => {
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

test('ends the attempt of a build that only waits for an approval and continues in the next one', async () => {
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

test('applies a decision while other steps run and ignores a second one', async () => {
  const text = `
version: '1.0'
mode: parallel
steps:
  long: {image: $SHELL, commands: ['until test -e /codefresh/volume/go; do sleep 0.1; done']}
  gate: {type: pending-approval}
  after: {image: $SHELL, commands: [touch /codefresh/volume/go], when: {steps: [{name: gate, on: [approved]}]}}
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
  const waiting = Promise.withResolvers<void>()
  const append = journal.append.bind(journal)
  journal.append = (body) => {
    const event = append(body)
    events.push(event)
    if (event.type === 'step.waiting' && event.step === 'gate') waiting.resolve()
    return event
  }
  const docker = await testDocker()
  async function* commands(): AsyncGenerator<Command> {
    await waiting.promise
    const by = { name: 'jo', type: 'user' }
    yield { id: 1, type: 'decide', step: 'gate', decision: 'approved', by, at: Date.now() }
    yield { id: 2, type: 'decide', step: 'gate', decision: 'denied', by, at: Date.now() }
  }
  try {
    const outcome = await runAttempt({
      input: { ...toInput(plan, buildId), volumeName },
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
  const facts = events.flatMap((event) => ('step' in event ? [`${event.type} ${event.step}`] : []))
  expect(facts.filter((line) => line.startsWith('step.decided'))).toEqual(['step.decided gate'])
  // The long step waits for a file of the step behind the approval.
  expect(facts.indexOf('step.started after')).toBeLessThan(facts.indexOf('step.finished long'))
  expect(events.find((event) => event.type === 'step.finished' && event.step === 'refused')).toMatchObject({ status: 'skipped' })
})
