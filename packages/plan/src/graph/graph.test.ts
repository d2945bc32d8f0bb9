import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { growth, LINEAR } from '../../test/cpu-time.ts'
import { finished, play, serial, step } from '../../test/plans.ts'
import type { Script } from '../../test/plans.ts'
import { emptySnapshot, fold, foldAll } from '../state/fold.ts'
import { decide } from './graph.ts'
import { FINAL_STEP_STATUSES } from '../lists.ts'
import type { Plan, PlanStep, When } from '../plan.ts'
import { resume } from '../state/resume.ts'
import { LONGEST_RETRY_DELAY_MS, nextTry } from './retry.ts'

const FAIL: Script[string] = { status: 'error', reason: 'exit-code', exitCode: 1 }

function run(plan: Plan, script: Script = {}, options: Omit<Parameters<typeof play>[2], 'script'> = {}) {
  return play(plan, emptySnapshot(plan), { script, ...options })
}

function expression(text: string): When {
  return { condition: { all: { it: text } } }
}

describe('serial order', () => {
  test('steps run one after the other in document order', () => {
    const { ran, end } = run(serial([step('a'), step('b'), step('c')]))
    expect(ran).toEqual(['a', 'b', 'c'])
    expect(end.outcome).toEqual({ status: 'success' })
  })

  test('decides nothing while a step runs', () => {
    const plan = serial([step('a'), step('b')])
    const running = fold(emptySnapshot(plan), { type: 'step.started', step: 'a', try: 1, at: 1 })
    expect(decide(plan, running)).toEqual([])
  })

  test('a plan without steps succeeds at once', () => {
    expect(decide(serial([]), { steps: {}, exports: [] })).toEqual([{ type: 'end', outcome: { status: 'success' } }])
  })

  test('a failing step stops the following steps and is named in the outcome', () => {
    const { states, end } = run(serial([step('a'), step('b'), step('c')]), { a: { ...FAIL, message: 'exit 1' } })
    expect(states).toEqual(['a: error (exit-code)', 'b: skipped (not-reached)', 'c: skipped (not-reached)'])
    expect(end.outcome).toEqual({ status: 'error', reason: 'step-failed', step: 'a', message: 'exit 1' })
  })

  test('an infrastructure loss becomes the reason of the build, so that it can be retried', () => {
    const { end } = run(serial([step('a')]), { a: { status: 'error', reason: 'dind-lost' } })
    expect(end.outcome).toMatchObject({ status: 'error', reason: 'dind-lost' })
  })
})

describe('fail_fast and strict_fail_fast', () => {
  interface Case {
    readonly about: string
    readonly step?: Partial<PlanStep>
    readonly root?: Partial<Plan>
    readonly continues: boolean
    readonly status: string
  }
  const cases: Case[] = [
    { about: 'fail_fast true', continues: false, status: 'error' },
    { about: 'fail_fast true, strict', step: { strictFailFast: true }, continues: false, status: 'error' },
    { about: 'fail_fast false', step: { failFast: false }, continues: true, status: 'success' },
    {
      about: 'fail_fast false, strict on the step',
      step: { failFast: false, strictFailFast: true },
      continues: true,
      status: 'error',
    },
    {
      about: 'fail_fast false, strict at the root',
      step: { failFast: false },
      root: { strictFailFast: true },
      continues: true,
      status: 'error',
    },
    {
      about: 'fail_fast from a variable',
      step: { failFast: '${{FF}}' },
      root: { variables: [{ level: 'build', variables: { FF: { value: 'false' } } }] },
      continues: true,
      status: 'success',
    },
    { about: 'a flag that is not a boolean counts as true', step: { failFast: '${{FF}}' }, continues: false, status: 'error' },
  ]
  test.each(cases)(
    '$about: the build continues ($continues) and ends in $status',
    ({ step: fields, root, continues, status }) => {
      const { ran, end } = run(serial([step('a', fields), step('b')], root), { a: FAIL })
      expect(ran.includes('b')).toBe(continues)
      expect(end.outcome.status).toBe(status)
    },
  )

  test('exports of later steps do not change a flag that was used already', () => {
    const plan = serial([step('a', { failFast: '${{FF}}' }), step('b'), step('c')], {
      variables: [{ level: 'build', variables: { FF: { value: 'false' } } }],
    })
    const { ran, end } = run(plan, { a: FAIL, b: { exports: [{ name: 'FF', value: 'true', secret: false }] } })
    expect(ran).toEqual(['a', 'b', 'c'])
    expect(end.outcome.status).toBe('success')
  })
})

describe('conditions', () => {
  test('a false condition skips the step, and the build continues', () => {
    const { states } = run(serial([step('a', { when: expression("'x' == 'y'") }), step('b')]))
    expect(states).toEqual(['a: skipped (condition-false)', 'b: success'])
  })

  test('an invalid condition fails the step with the problem and its position', () => {
    const { states, snapshot, end } = run(serial([step('a', { when: expression('1 < steps.a.result') }), step('b')]))
    expect(states[0]).toBe('a: error (condition-error)')
    expect(snapshot.steps['a']?.message).toMatch(
      /Condition "it" cannot be evaluated: "<" cannot compare a number with a string \(character 3 of/,
    )
    expect(end.outcome).toMatchObject({ status: 'error', step: 'a' })
  })

  test('in serial mode a condition is evaluated once, when the turn of its step comes', () => {
    const plan = serial([step('a', { when: expression("'${{X}}' == '1'") }), step('b')], {
      variables: [{ level: 'build', variables: { X: { value: '0' } } }],
    })
    const { states } = run(plan, { b: { exports: [{ name: 'X', value: '1', secret: false }] } })
    expect(states).toEqual(['a: skipped (condition-false)', 'b: success'])
  })

  test('conditions see results, exports and members of earlier steps', () => {
    const when = expression(
      "steps.a.result == 'success' && '${{steps.a.output.V}}' == '7' && '${{V}}' == '7' && Member('a', 'image-id') == 'i'",
    )
    const { ran } = run(serial([step('a'), step('b', { when })]), {
      a: { exports: [{ name: 'V', value: '7', secret: false }], members: { imageId: 'i' } },
    })
    expect(ran).toEqual(['a', 'b'])
  })

  test('when.steps looks at results and never waits in serial mode', () => {
    const on = (name: string, ...words: string[]): When => ({ steps: { match: 'all', of: [{ name, on: words }] } })
    const plan = serial([
      step('a', { failFast: false }),
      step('failed', { when: on('a', 'failure') }),
      step('fine', { when: on('a', 'success') }),
      step('done', { when: on('a', 'finished') }),
      step('early', { when: on('last', 'success') }),
      step('last'),
    ])
    expect(run(plan, { a: FAIL }).ran).toEqual(['a', 'failed', 'done', 'last'])
  })
})

describe('clean-up steps', () => {
  const cleanup = (result: string): When => expression(`workflow.result == '${result}'`)
  const plan = serial([
    step('a'),
    step('b'),
    step('onFail', { when: cleanup('failure') }),
    step('onStop', { when: cleanup('terminated') }),
    step('onFine', { when: cleanup('success') }),
  ])

  test('after a fatal failure only steps that read workflow.result are considered', () => {
    const { ran, end, states } = run(plan, { a: FAIL })
    expect(ran).toEqual(['a', 'onFail'])
    expect(end.outcome).toMatchObject({ status: 'error', step: 'a' })
    expect(states.slice(1)).toEqual([
      'b: skipped (not-reached)',
      'onFail: success',
      'onStop: skipped (not-reached)',
      'onFine: skipped (not-reached)',
    ])
  })

  test('after a cancel only steps that read workflow.result are considered', () => {
    const { ran, end, states } = run(plan, {}, { cancelAfter: 1 })
    expect(ran).toEqual(['a', 'onStop'])
    expect(end.outcome).toEqual({ status: 'terminated', reason: 'cancelled' })
    expect(states).toEqual([
      'a: terminated (cancelled)',
      'b: skipped (cancelled)',
      'onFail: skipped (cancelled)',
      'onStop: success',
      'onFine: skipped (cancelled)',
    ])
  })

  test('they see success at the end of a successful build', () => {
    expect(run(plan).ran).toEqual(['a', 'b', 'onFine'])
  })

  test('a step in the middle of a build sees running', () => {
    const { ran } = run(serial([step('a', { when: cleanup('running') }), step('b')]))
    expect(ran).toEqual(['a', 'b'])
  })

  test('a forced stop skips them too', () => {
    const { ran } = run(plan, {}, { context: { cancelled: 'cancelled', forced: true } })
    expect(ran).toEqual([])
  })
})

describe('cancel', () => {
  test('skips everything before the first step', () => {
    const { states, end } = run(serial([step('a'), step('b')]), {}, { cancelAfter: 0 })
    expect(states).toEqual(['a: skipped (cancelled)', 'b: skipped (cancelled)'])
    expect(end.outcome).toEqual({ status: 'terminated', reason: 'cancelled' })
  })

  test('ends a waiting step', () => {
    const plan = serial([step('a'), step('b')])
    const waiting = fold(emptySnapshot(plan), { type: 'step.waiting', step: 'a', reason: 'approval', at: 1 })
    expect(decide(plan, waiting)).toEqual([{ type: 'pause', steps: ['a'] }])
    expect(decide(plan, waiting, { cancelled: 'superseded' })).toEqual([
      { type: 'finish', step: 'a', status: 'terminated', reason: 'superseded' },
      { type: 'finish', step: 'b', status: 'skipped', reason: 'superseded' },
      { type: 'end', outcome: { status: 'terminated', reason: 'superseded' } },
    ])
  })

  test('leaves the end of a step that the debugger holds to its engine', () => {
    const plan = serial([step('a'), step('b')])
    const held = fold(emptySnapshot(plan), { type: 'step.waiting', step: 'a', reason: 'debugger', at: 1 })
    expect(decide(plan, held, { cancelled: 'cancelled' })).toEqual([])
  })
})

describe('step selection', () => {
  test('only runs the selected steps and skip leaves them out', () => {
    const plan = serial([step('a'), step('b'), step('c')])
    expect(run(plan, {}, { context: { only: ['b'] } }).states).toEqual([
      'a: skipped (not-selected)',
      'b: success',
      'c: skipped (not-selected)',
    ])
    expect(run(plan, {}, { context: { skip: ['b'] } }).ran).toEqual(['a', 'c'])
  })
})

describe('groups', () => {
  const group = (fields: Partial<PlanStep> = {}): Plan =>
    serial([step('g', fields), step('x', { parent: 'g' }), step('y', { parent: 'g', failFast: true }), step('after')])

  test('children start together, and the group ends after the last one', () => {
    const plan = group()
    expect(decide(plan, emptySnapshot(plan)).map((decision) => decision.type === 'start' && decision.step)).toEqual([
      'g',
      'x',
      'y',
    ])
    expect(run(plan).states).toEqual(['g: success', 'x: success', 'y: success', 'after: success'])
  })

  test('a failed child fails the group, once all children ended, and the build', () => {
    const { states, end } = run(group(), { x: FAIL })
    expect(states).toEqual(['g: error (step-failed)', 'x: error (exit-code)', 'y: success', 'after: skipped (not-reached)'])
    expect(end.outcome).toMatchObject({ status: 'error', step: 'g' })
  })

  test('a group with fail_fast false succeeds regardless of its children, strict or not', () => {
    const { states, end } = run(group({ failFast: false, strictFailFast: true }), { x: FAIL })
    expect(states).toEqual(['g: success', 'x: error (exit-code)', 'y: success', 'after: success'])
    expect(end.outcome.status).toBe('success')
  })

  test('a skipped group skips its children', () => {
    const { states } = run(group({ when: expression("'a' == 'b'") }))
    expect(states).toEqual([
      'g: skipped (condition-false)',
      'x: skipped (condition-false)',
      'y: skipped (condition-false)',
      'after: success',
    ])
  })

  test('selecting a child runs its group, and skipping a group skips its children', () => {
    expect(run(group(), {}, { context: { only: ['x'] } }).states).toEqual([
      'g: success',
      'x: success',
      'y: skipped (not-selected)',
      'after: skipped (not-selected)',
    ])
    expect(run(group(), {}, { context: { skip: ['g'] } }).ran).toEqual(['after'])
  })
})

describe('root parallel mode', () => {
  const parallel = (steps: PlanStep[]): Plan => ({ ...serial([]), mode: 'parallel', steps })
  const on = (...of: [string, string][]): When => ({
    steps: { match: 'all', of: of.map(([name, word]) => ({ name, on: [word] })) },
  })

  test('steps without a when start at once, others as soon as it holds', () => {
    const plan = parallel([step('late', { when: on(['a', 'success'], ['b', 'finished']) }), step('a'), step('b')])
    expect(decide(plan, emptySnapshot(plan)).map((decision) => decision.type === 'start' && decision.step)).toEqual(['a', 'b'])
    expect(run(plan).ran).toEqual(['a', 'b', 'late'])
  })

  test('skips a step whose when can never hold, and steps that wait for this run', () => {
    const plan = parallel([
      step('a', { failFast: false }),
      step('never', { when: on(['a', 'success']) }),
      step('then', { when: on(['never', 'skipped']) }),
    ])
    expect(run(plan, { a: FAIL }).states).toEqual(['a: error (exit-code)', 'never: skipped (condition-false)', 'then: success'])
  })

  test('steps that wait for each other are skipped', () => {
    const plan = parallel([step('x', { when: on(['y', 'success']) }), step('y', { when: on(['x', 'success']) })])
    expect(run(plan).states).toEqual(['x: skipped (condition-false)', 'y: skipped (condition-false)'])
  })

  test('after a fatal failure running siblings finish, and only steps that wait for a failed step start', () => {
    const plan = parallel([
      step('a'),
      step('b'),
      step('rescue', { when: on(['a', 'failure']) }),
      step('more', { when: on(['b', 'success']) }),
    ])
    const { ran, states, end } = run(plan, { a: FAIL })
    expect(ran).toEqual(['a', 'b', 'rescue'])
    expect(states[3]).toBe('more: skipped (not-reached)')
    expect(end.outcome).toMatchObject({ status: 'error', step: 'a' })
  })
})

describe('retry', () => {
  const retry = { maxAttempts: 4, delayMs: 5_000, factor: 2 }

  test('each delay is the previous one to the power of the factor, up to ten minutes', () => {
    const ended = (number: number) => nextTry({ retry }, { status: 'error', reason: 'exit-code', try: number })
    expect([1, 2, 3, 4].map(ended)).toEqual([
      { try: 2, delayMs: 5_000 },
      { try: 3, delayMs: 25_000 },
      { try: 4, delayMs: LONGEST_RETRY_DELAY_MS },
      undefined,
    ])
    expect(nextTry({ retry: { ...retry, factor: 1 } }, { status: 'error', try: 3 })).toEqual({ try: 4, delayMs: 5_000 })
  })

  test('only failures that another try may fix are retried', () => {
    for (const status of ['success', 'skipped', 'terminated'] as const)
      expect(nextTry({ retry }, { status, try: 1 })).toBeUndefined()
    for (const reason of ['denied', 'invalid-step', 'condition-error', 'dind-lost'] as const) {
      expect(nextTry({ retry }, { status: 'error', reason, try: 1 })).toBeUndefined()
    }
  })
})

describe('any serial build', () => {
  const result = fc.constantFrom<Script[string]>({}, {}, FAIL, { status: 'terminated', reason: 'cancelled' })
  const when = fc.option(
    fc.constantFrom<When>(
      expression("steps.s0.result == 'success'"),
      expression("workflow.result == 'failure' || workflow.result == 'terminated'"),
      expression('1 / 0 == 1'),
      { steps: { match: 'any', of: [{ name: 's1', on: ['failure', 'skipped'] }] } },
      { branch: { only: ['/^ma/'] } },
    ),
    { nil: undefined },
  )
  const steps = fc.array(fc.record({ failFast: fc.boolean(), strictFailFast: fc.boolean(), when, result }), {
    minLength: 1,
    maxLength: 8,
  })

  test('ends with exactly one outcome per step, in order, whenever it is canceled', () => {
    fc.assert(
      fc.property(steps, fc.option(fc.nat(20), { nil: undefined }), (shapes, cancelAfter) => {
        const plan = serial(
          shapes.map(({ failFast, strictFailFast, when: condition }, index) =>
            step(`s${index}`, { failFast, strictFailFast, ...(condition !== undefined && { when: condition }) }),
          ),
        )
        const script = Object.fromEntries(shapes.map((shape, index) => [`s${index}`, shape.result]))
        const { facts, snapshot, end } = run(plan, script, cancelAfter === undefined ? {} : { cancelAfter })
        for (const { name, after } of plan.steps) {
          const own = facts.filter((fact) => fact.step === name)
          expect(own.filter(({ type }) => type === 'step.finished')).toHaveLength(1)
          expect(own.filter(({ type }) => type === 'step.started').length).toBeLessThanOrEqual(1)
          expect(FINAL_STEP_STATUSES).toContain(snapshot.steps[name]?.status)
          const first = facts.findIndex((fact) => fact.step === name)
          for (const before of after) {
            expect(facts.findIndex((fact) => fact.step === before && fact.type === 'step.finished')).toBeLessThan(first)
          }
        }
        expect(decide(plan, snapshot, end.outcome.status === 'terminated' ? { cancelled: 'cancelled' } : {}).at(-1)?.type).toBe(
          'end',
        )
      }),
      { numRuns: 400 },
    )
  })
})

describe('any build with groups, in serial and in parallel mode', () => {
  const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']
  const shape = fc.record({
    failFast: fc.boolean(),
    parent: fc.option(fc.constantFrom('a', 'b'), { nil: undefined, freq: 2 }),
    when: fc.option(
      fc.record({
        match: fc.constantFrom('all' as const, 'any' as const),
        of: fc.array(
          fc.record({
            name: fc.constantFrom(...NAMES),
            on: fc.constantFrom(['success'], ['failure'], ['finished'], ['skipped']),
          }),
          {
            minLength: 1,
            maxLength: 2,
          },
        ),
      }),
      { nil: undefined },
    ),
    result: fc.constantFrom<Script[string]>({}, FAIL),
  })
  const shapes = fc.tuple(shape, shape, shape, shape, shape, shape)
  const plans = fc.tuple(shapes, fc.constantFrom('serial' as const, 'parallel' as const)).map(([list, mode]) => {
    const steps = list.map(({ failFast, parent, when }, index) =>
      step(NAMES[index] ?? '', {
        failFast,
        ...(parent !== undefined && index > 1 && { parent }),
        ...(when !== undefined && { when: { steps: when } }),
      }),
    )
    const script: Script = Object.fromEntries(list.map(({ result }, index) => [NAMES[index] ?? '', result]))
    return { plan: mode === 'serial' ? serial(steps) : { ...serial([]), mode, steps }, script }
  })

  test('ends with exactly one outcome per step, and continues to its end from every interruption', () => {
    fc.assert(
      fc.property(plans, fc.nat(20), fc.option(fc.nat(12), { nil: undefined }), ({ plan, script }, cut, cancelAfter) => {
        const whole = run(plan, script, cancelAfter === undefined ? {} : { cancelAfter })
        for (const { name } of plan.steps) {
          expect(whole.facts.filter((fact) => fact.step === name && fact.type === 'step.finished')).toHaveLength(1)
        }
        const half = foldAll(emptySnapshot(plan), whole.facts.slice(0, cut))
        const rest = play(plan, resume(plan, half, { cause: 'infra', volumeKept: true }), { script })
        for (const { name } of plan.steps) expect(FINAL_STEP_STATUSES).toContain(rest.snapshot.steps[name]?.status)
      }),
      { numRuns: 300 },
    )
  })
})

test('a decision takes linear time in the size of the plan', () => {
  const decideTwenty = (steps: number): void => {
    const plan = serial(Array.from({ length: steps }, (_, index) => step(`s${index}`)))
    let snapshot = emptySnapshot(plan)
    for (let index = 0; index < 20; index += 1) {
      decide(plan, snapshot)
      snapshot = fold(snapshot, finished(`s${index}`, index))
    }
  }
  expect(growth(250, decideTwenty)).toBeLessThan(LINEAR)
})
