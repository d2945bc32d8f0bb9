import { expect, test } from 'vitest'
import { EventBatch } from './engine.ts'
import { withoutContent } from './take-event.ts'

const finished = { type: 'step.finished', seq: 1, at: 1, step: 'one', try: 1, status: 'success', members: {}, exports: [] }
const take = (event: object): unknown => EventBatch.parse({ events: [event] }).events[0]
const named = (count: number): object[] => Array.from({ length: count }, (_, n) => ({ name: `V${n}`, value: 'x', secret: false }))

test('drops fields of step.finished that are too large and keeps the rest with a note', () => {
  const members = { good: 'kept', bad: 'x'.repeat(65_537) }
  expect(take({ ...finished, exitCode: 0, members })).toEqual({
    ...finished,
    exitCode: 0,
    members: { good: 'kept' },
    refused: expect.stringContaining('step.finished of step "one"'),
  })
  expect(take({ ...finished, exports: named(1001) })).toMatchObject({
    exports: named(1000),
    refused: expect.stringContaining('exports'),
  })
  const bad = { name: 'BAD', value: 'x'.repeat(1_048_577), secret: true }
  const two = [bad, ...named(1), bad, { name: 'LAST', value: 'x', secret: false }]
  expect(take({ ...finished, exports: two })).toMatchObject({ exports: [...named(1), two[3]] })
  expect(take({ ...finished, outputs: { a: 'x'.repeat(1_048_577), b: 'kept' } })).toMatchObject({ outputs: { b: 'kept' } })
  expect(JSON.stringify(take({ ...finished, exports: [bad] }))).not.toContain('xxx')
})

test('cuts a message that is too long', () => {
  const message = 'm'.repeat(9000)
  expect(take({ ...finished, message })).toMatchObject({ message: 'm'.repeat(8192), status: 'success' })
  const end = { type: 'attempt.finished', seq: 2, at: 1, outcome: { status: 'error', reason: 'exit-code', message }, streams: {} }
  expect(take(end)).toMatchObject({ outcome: { status: 'error', reason: 'exit-code', message: 'm'.repeat(8192) } })
})

test('keeps attempt.finished without the invalid parts of its outcome', () => {
  const outcome = { status: 'error', reason: 'of a later version', step: 's'.repeat(151) }
  expect(take({ type: 'attempt.finished', seq: 2, at: 1, outcome, streams: {} })).toMatchObject({ outcome: { status: 'error' } })
})

test('keeps the valid parts of annotations, and turns an invalid image into a notice', () => {
  const annotated = { type: 'annotated', seq: 3, at: 1, step: 'one', entity: 'build', kind: 'annotation', unset: [] }
  const set = { ok: 1, [`${'k'.repeat(201)}`]: 2, nested: { no: 1 } }
  expect(take({ ...annotated, set })).toMatchObject({ type: 'annotated', set: { ok: 1 } })
  const image = { type: 'image', seq: 4, at: 1, step: 'one', imageId: 'i'.repeat(201), name: 'n', tags: [], pushed: true }
  expect(take(image)).toMatchObject({ type: 'notice', seq: 4, step: 'one', message: expect.stringContaining('imageId') })
})

test('turns an event of an unknown type into a notice with the same number', () => {
  expect(take({ ...finished, type: 'of a later version' })).toMatchObject({ type: 'notice', level: 'warning', seq: 1 })
})

test('withoutContent keeps status and exit code of a step but none of its results', () => {
  const members = { m: 'x' }
  expect(withoutContent({ ...finished, members, exitCode: 3, exports: named(2) }, 'Too large.')).toEqual({
    ...finished,
    exitCode: 3,
    refused: 'Too large.',
  })
})

test('drops the values if the list of sealed names is not valid', () => {
  const outputs = { token: 'swordfish' }
  const names = Array.from({ length: 1001 }, (_, n) => `N${n}`)
  for (const sealed of [{ outputs: [...names, 'token'] }, { outputs: 'token' }, 'token', { outputs: [1, 'token'] }]) {
    const taken = take({ ...finished, outputs, members: { url: 'swordfish' }, sealed })
    expect(taken).toMatchObject({ status: 'success', refused: expect.stringContaining('sealed') })
    expect(JSON.stringify(taken)).not.toContain('swordfish')
  }
  expect(take({ ...finished, outputs, sealed: { outputs: ['token'] } })).toMatchObject({
    outputs,
    sealed: { outputs: ['token'] },
  })
})
