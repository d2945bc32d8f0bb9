import fc from 'fast-check'
import { expect, test } from 'vitest'
import { finished, play, serial, statesOf, step } from '../../test/plans.ts'
import { emptySnapshot, fold, foldAll } from './fold.ts'
import { resume } from './resume.ts'
import type { StepFact } from './snapshot.ts'

const plan = serial([step('a'), step('b'), step('c')])
const started = (name: string, at: number, number = 1): StepFact => ({ type: 'step.started', step: name, try: number, at })
const waiting = (name: string, at: number): StepFact => ({ type: 'step.waiting', step: name, reason: 'approval', at })
const exported = (name: string, value: string) => ({ name, value, secret: false })

test('facts set the status, start time and result of a step', () => {
  const facts = [
    started('a', 10),
    finished('a', 20, {
      status: 'error',
      reason: 'exit-code',
      hint: 'Install it.',
      exitCode: 3,
      members: { x: '1' },
      exports: [exported('V', 'v')],
    }),
  ]
  expect(foldAll(emptySnapshot(plan), facts).steps['a']).toMatchObject({
    status: 'error',
    reason: 'exit-code',
    hint: 'Install it.',
    exitCode: 3,
    try: 1,
    startedAt: 10,
    finishedAt: 20,
    members: { x: '1' },
    output: { V: 'v' },
  })
})

test('a later try keeps the first start time', () => {
  const { steps } = foldAll(emptySnapshot(plan), [started('a', 10, 1), started('a', 50, 2)])
  expect(steps['a']).toMatchObject({ status: 'running', try: 2, startedAt: 10 })
})

test('a step can wait and continue', () => {
  const snapshot = foldAll(emptySnapshot(plan), [started('a', 1), waiting('a', 2)])
  expect(snapshot.steps['a']).toMatchObject({ status: 'waiting', reason: 'approval' })
  expect(fold(snapshot, started('a', 3)).steps['a']).toMatchObject({ status: 'running' })
  expect(fold(snapshot, started('a', 3)).steps['a']?.reason).toBeUndefined()
})

test('a late fact never changes a final step', () => {
  const end = foldAll(emptySnapshot(plan), [started('a', 1), finished('a', 2)])
  for (const late of [started('a', 3, 2), waiting('a', 4), finished('a', 5, { status: 'error' })])
    expect(fold(end, late)).toBe(end)
})

test('names of Object.prototype are neither exports nor steps', () => {
  const snapshot = fold(emptySnapshot(plan), finished('a', 1, { exports: [exported('__proto__', 'x')] }))
  expect(Object.keys(snapshot.steps['a']?.output ?? {})).toEqual(['__proto__'])
  expect(fold(emptySnapshot(plan), started('constructor', 1)).steps['constructor']).toMatchObject({ status: 'running' })
})

test('duplicate and reordered facts give the same result', () => {
  const script = {
    a: { exports: [exported('V', '1')] },
    b: { exports: [exported('V', '2'), exported('W', '3')] },
    c: { status: 'error', exports: [exported('W', '4')] },
  } as const
  const { facts, snapshot } = play(plan, emptySnapshot(plan), { script })
  const all: StepFact[] = [waiting('b', 2), ...facts]
  const expected = foldAll(emptySnapshot(plan), all)
  expect(expected.exports.map(({ value }) => value)).toEqual(['1', '2', '3', '4'])
  fc.assert(
    fc.property(fc.shuffledSubarray([...all, ...all], { minLength: all.length * 2 }), (mixed) => {
      const folded = foldAll(emptySnapshot(plan), mixed)
      expect(statesOf(plan, folded)).toEqual(statesOf(plan, snapshot))
      expect(folded.exports).toEqual(expected.exports)
    }),
  )
})

test('a new attempt after a loss reruns the step that was running', () => {
  const lost = foldAll(emptySnapshot(plan), [
    started('a', 1),
    finished('a', 2, { exports: [exported('V', '1')] }),
    started('b', 3),
  ])
  const next = resume(plan, lost, { cause: 'infra', volumeKept: true })
  expect(statesOf(plan, next)).toEqual(['a: success', 'b: pending', 'c: pending'])
  expect(next.steps['b']).toMatchObject({ try: 0 })
  expect(next.exports.map(({ name }) => name)).toEqual(['V'])
})

test('a lost volume resets all steps and their exports', () => {
  const lost = foldAll(emptySnapshot(plan), [started('a', 1), finished('a', 2, { exports: [exported('V', '1')] })])
  expect(resume(plan, lost, { cause: 'infra', volumeKept: false })).toEqual(emptySnapshot(plan))
})

test('a restart from a step reruns it and its followers', () => {
  const { snapshot } = play(plan, emptySnapshot(plan), {
    script: { b: { status: 'error', reason: 'exit-code' }, a: { exports: [exported('V', '1')] } },
  })
  const again = resume(plan, snapshot, { cause: 'restart', volumeKept: true, from: 'b' })
  expect(statesOf(plan, again)).toEqual(['a: success', 'b: pending', 'c: pending'])
  expect(again.exports).toHaveLength(1)
})

test('a restart from a child reopens its group but keeps finished children', () => {
  const group = serial([step('g'), step('x', { parent: 'g' }), step('y', { parent: 'g' }), step('z')])
  const { snapshot } = play(group, emptySnapshot(group), { script: { y: { status: 'error', reason: 'exit-code' } } })
  expect(statesOf(group, resume(group, snapshot, { cause: 'restart', volumeKept: true, from: 'y' }))).toEqual([
    'g: pending',
    'x: success',
    'y: pending',
    'z: pending',
  ])
})

test('steps that were not selected stay skipped, even if the volume is lost', () => {
  const leftOut = foldAll(emptySnapshot(plan), [finished('b', 5, { status: 'skipped', reason: 'not-selected' })])
  expect(resume(plan, leftOut, { cause: 'infra', volumeKept: false }).steps['b']).toMatchObject({
    status: 'skipped',
    reason: 'not-selected',
  })
})
