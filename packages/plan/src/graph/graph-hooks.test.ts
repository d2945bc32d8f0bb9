import { describe, expect, test } from 'vitest'
import { growth, LINEAR } from '../../test/cpu-time.ts'
import { finished, play, serial, step } from '../../test/plans.ts'
import type { Script } from '../../test/plans.ts'
import { emptySnapshot, fold, foldAll } from '../state/fold.ts'
import { decide } from './graph.ts'
import { buildOutcome } from './outcome.ts'
import type { HookMoment, Plan, PlanStep } from '../plan.ts'
import { resume } from '../state/resume.ts'
import { stepsInside } from './step-queries.ts'

const FAIL: Script[string] = { status: 'error', reason: 'exit-code', exitCode: 1 }

function hook(moment: HookMoment, of?: string, fields: Partial<PlanStep> = {}): PlanStep {
  return step(`${of ?? ''}.${moment}`, { hook: { moment, ...(of !== undefined && { of }) }, ...fields })
}

const MOMENTS = ['on_elected', 'on_success', 'on_fail', 'on_finish'] as const
const whole = serial([
  step('a'),
  step('b'),
  ...MOMENTS.map((moment) => hook(moment, 'a')),
  ...MOMENTS.map((moment) => hook(moment)),
]) satisfies Plan
const plan: Plan = {
  ...whole,
  steps: whole.steps.map((one) => (one.name === 'b' ? { ...one, after: ['a'] } : one.hook ? { ...one, after: [] } : one)),
}

function run(of: Plan, script: Script = {}, options: Omit<Parameters<typeof play>[2], 'script'> = {}) {
  return play(of, emptySnapshot(of), { script, ...options })
}

describe('hooks', () => {
  test('run around their step, and hooks of the build around all steps (P096)', () => {
    expect(run(plan).ran).toEqual([
      '.on_elected',
      'a.on_elected',
      'a',
      'a.on_success',
      'a.on_finish',
      'b',
      '.on_success',
      '.on_finish',
    ])
  })

  test('on_fail and on_finish run after a fatal failure (P095)', () => {
    const { ran, end } = run(plan, { a: FAIL })
    expect(ran).toEqual(['.on_elected', 'a.on_elected', 'a', 'a.on_fail', 'a.on_finish', '.on_fail', '.on_finish'])
    expect(end.outcome).toMatchObject({ status: 'error', step: 'a' })
  })

  test('a failing on_elected keeps its step from running and fails the build (P097)', () => {
    const { ran, states, end } = run(plan, { 'a.on_elected': FAIL })
    expect(ran).toEqual(['.on_elected', 'a.on_elected', 'a.on_finish', '.on_fail', '.on_finish'])
    expect(states.slice(0, 2)).toEqual(['a: skipped (not-reached)', 'b: skipped (not-reached)'])
    expect(end.outcome).toMatchObject({ status: 'error', reason: 'step-failed', step: 'a.on_elected' })
  })

  test('do not change the outcome if they fail, except on_elected (P098)', () => {
    const script = Object.fromEntries(['a.on_success', 'a.on_finish', '.on_success', '.on_finish'].map((name) => [name, FAIL]))
    expect(run(plan, script).end.outcome).toEqual({ status: 'success' })
  })

  test('only on_finish hooks run after a cancel, and none after a second one', () => {
    const half = foldAll(emptySnapshot(plan), [
      finished('.on_elected', 1),
      finished('a.on_elected', 2),
      finished('a', 3, { status: 'terminated', reason: 'cancelled' }),
    ])
    const starts = (forced: boolean) =>
      decide(plan, half, { cancelled: 'cancelled', forced }).flatMap((decision) =>
        decision.type === 'start' ? [decision.step] : [],
      )
    expect(starts(false)).toEqual(['a.on_finish'])
    expect(starts(true)).toEqual([])
    expect(decide(plan, half, { cancelled: 'cancelled', forced: true }).at(-1)).toEqual({
      type: 'end',
      outcome: { status: 'terminated', reason: 'cancelled' },
    })
  })
})

describe('typed steps', () => {
  const typed = (returns?: { names: string[]; required: string[] }): Plan =>
    serial([
      step('greet', {
        action: {
          kind: 'group',
          mode: 'serial',
          typed: { type: 'acme/greet', version: '1.0.0', arguments: {}, ...(returns !== undefined && { returns }) },
        },
      }),
      step('greet.main', { parent: 'greet' }),
    ])
  const exported = { exports: [{ name: 'WORD', value: 'hi', secret: false }], outputs: { META: 'm', OTHER: 'o' } }

  test('return the exports of their parts and their declared outputs', () => {
    expect(run(typed(), { 'greet.main': exported }).snapshot.steps['greet']?.output).toEqual({
      WORD: 'hi',
      META: 'm',
      OTHER: 'o',
    })
    const declared = run(typed({ names: ['META'], required: [] }), { 'greet.main': exported })
    expect(declared.snapshot.steps['greet']?.output).toEqual({ WORD: 'hi', META: 'm' })
  })

  test('fail if a required output is missing', () => {
    const { states, snapshot } = run(typed({ names: ['X'], required: ['X'] }), { 'greet.main': exported })
    expect(states[0]).toBe('greet: error (invalid-step)')
    expect(snapshot.steps['greet']?.message).toMatch(/returned no value for the required outputs "X"/)
  })
})

describe('approvals', () => {
  const gate = step('gate', { action: { kind: 'pending-approval', timeoutMs: 1, finalState: 'terminated' } })
  const gated = serial([
    step('clone', { action: { kind: 'git-clone', repo: 'a/b', excludeBlobs: false, skipTagsOnUpdate: false, useProxy: false } }),
    gate,
    step('deploy'),
  ])
  const waiting = foldAll(emptySnapshot(gated), [
    finished('clone', 1),
    { type: 'step.started', step: 'gate', try: 1, at: 2 },
    { type: 'step.waiting', step: 'gate', reason: 'approval', at: 2 },
  ])
  const decided = (decision: 'approved' | 'denied' | 'terminated') =>
    fold(waiting, { type: 'step.decided', step: 'gate', decision, by: { name: 'jo', type: 'user' }, at: 3 })

  test('the attempt can end while only an approval is left', () => {
    expect(decide(gated, waiting)).toEqual([{ type: 'pause', steps: ['gate'] }])
  })

  test('an approval continues the build, a denial fails it with its reason, a timeout terminates it', () => {
    expect(decide(gated, decided('approved'))[0]).toEqual({ type: 'start', step: 'deploy', try: 1 })
    expect(decide(gated, decided('denied')).at(-1)).toMatchObject({
      outcome: { status: 'error', reason: 'denied', step: 'gate' },
    })
    expect(decide(gated, decided('terminated')).at(-1)).toMatchObject({
      outcome: { status: 'terminated', reason: 'approval-timeout' },
    })
  })

  test('repositories are cloned again before anything else if the volume is lost', () => {
    const resumed = resume(gated, decided('approved'), { cause: 'approval', volumeKept: false })
    expect(decide(gated, resumed)).toEqual([{ type: 'start', step: 'clone', try: 1 }])
    const cloned = fold(fold(resumed, { type: 'step.started', step: 'clone', try: 1, at: 5 }), finished('clone', 6))
    expect(decide(gated, cloned)).toEqual([{ type: 'start', step: 'deploy', try: 1 }])
    expect(resume(gated, decided('approved'), { cause: 'approval', volumeKept: true }).steps['clone']?.status).toBe('success')
  })
})

describe('success criteria', () => {
  const parallel = (criteria: PlanStep['successCriteria']): Plan =>
    serial([
      step('g', { action: { kind: 'group', mode: 'parallel' }, ...(criteria !== undefined && { successCriteria: criteria }) }),
      step('good', { parent: 'g' }),
      step('bad', { parent: 'g' }),
    ])
  const cases = [
    { about: 'counts only the listed steps', criteria: { only: ['good'] }, status: 'success' },
    { about: 'does not count ignored steps', criteria: { ignore: ['good'] }, status: 'error' },
    {
      about: 'lets an expression decide',
      criteria: { condition: { all: { one: "steps.good.result == 'success'" } } },
      status: 'success',
    },
    {
      about: 'fails if an expression is false',
      criteria: { condition: { all: { one: "steps.bad.result == 'success'" } } },
      status: 'error',
    },
    { about: 'fails if an expression is invalid', criteria: { condition: { all: { one: '1 / 0 == 1' } } }, status: 'error' },
  ]
  test.each(cases)('$about (P081)', ({ criteria, status }) => {
    expect(run(parallel(criteria), { bad: FAIL }).end.outcome.status).toBe(status)
  })

  test('those of the root decide the outcome of the build', () => {
    const root = {
      ...serial([step('a', { failFast: false, strictFailFast: true }), step('b')]),
      successCriteria: { only: ['b'] },
    }
    expect(run(root, { a: FAIL }).end.outcome).toEqual({ status: 'success' })
  })
})

describe('resuming', () => {
  test('from a failed step reruns its followers and the steps that were not reached', () => {
    const three = serial([step('a'), step('b'), step('c'), hook('on_finish')])
    const { snapshot } = run({ ...three, steps: three.steps.map((one) => (one.hook ? { ...one, after: [] } : one)) }, { b: FAIL })
    const again = resume(three, snapshot, { cause: 'restart', volumeKept: true, from: 'b' })
    expect(Object.values(again.steps).map(({ status }) => status)).toEqual(['success', 'pending', 'pending', 'pending'])
  })

  test('reruns an interrupted hook but not its step', () => {
    const half = foldAll(emptySnapshot(plan), [
      finished('.on_elected', 1),
      finished('a.on_elected', 2),
      finished('a', 3),
      { type: 'step.started', step: 'a.on_success', try: 1, at: 4 },
    ])
    const again = resume(plan, half, { cause: 'infra', volumeKept: true })
    expect(decide(plan, again).flatMap((decision) => (decision.type === 'start' ? [decision.step] : []))).toEqual([
      'a.on_success',
    ])
    expect(again.steps['a']?.status).toBe('success')
  })
})

test('late facts of an earlier try of a group change nothing', () => {
  const group = serial([
    step('g', { action: { kind: 'group', mode: 'parallel' }, retry: { maxAttempts: 2, delayMs: 1, factor: 1 } }),
    step('x', { parent: 'g' }),
  ])
  const old = finished('x', 5, { status: 'error', exports: [{ name: 'V', value: '1', secret: false }] })
  const failed = foldAll(emptySnapshot(group), [
    { type: 'step.started', step: 'g', try: 1, at: 1 },
    { type: 'step.started', step: 'x', try: 1, at: 2 },
    old,
  ])
  const resets = [...stepsInside(group, 'g')]
  expect(decide(group, failed)).toEqual([{ type: 'restart', step: 'g', try: 2, delayMs: 1, resets }])
  const again = fold(failed, { type: 'step.started', step: 'g', try: 2, at: 10, resets })
  expect(again.steps['x']?.status).toBe('pending')
  expect(again.exports).toEqual([])
  expect(fold(again, old)).toBe(again)
  expect(buildOutcome(group, again)).toEqual({ status: 'success' })
})

/** Steps with a hook each: in parallel mode behind a successful first step whose failure they wait for; in serial mode half of them done. */
function withHooks(count: number): () => void {
  const many = Array.from({ length: count }, (_, index) => [step(`s${index}`), hook('on_finish', `s${index}`)]).flat()
  const wide: Plan = {
    ...serial([]),
    mode: 'parallel',
    steps: many.map((one) => ({
      ...one,
      when: one.hook || one.name === 's0' ? {} : { steps: { match: 'all', of: [{ name: 's0', on: ['failure'] }] } },
    })),
  }
  const long: Plan = {
    ...serial([]),
    steps: many.map((one, index) => (one.hook || index < 2 ? one : { ...one, after: [many[index - 2]?.name ?? ''] })),
  }
  const ended = foldAll(emptySnapshot(wide), [finished('s0', 1), finished('s0.on_finish', 2)])
  const half = foldAll(
    emptySnapshot(long),
    many.slice(0, count).map(({ name }, index) => finished(name, index)),
  )
  return () => {
    // All steps that wait in vain are skipped in one call.
    expect(decide(wide, ended)).toHaveLength(2 * count - 1)
    for (let times = 0; times < 10; times += 1) expect(decide(long, half)).toHaveLength(1)
  }
}

test('decisions about steps with hooks take linear time in parallel and serial mode', () => {
  const decides = new Map([125, 1_000].map((count) => [count, withHooks(count)]))
  expect(growth(125, (count) => decides.get(count)?.())).toBeLessThan(LINEAR)
})
