/** Groups and hooks on a real daemon, where the time of the engine itself is in play; the conformance set shows what each keyword does. */
import { expect, test } from 'vitest'
import { emptySnapshot, type Plan, type PlanStep } from '@windlass/plan'
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
