import type { PlanStep } from '@windlass/plan'
import { HOOK_MOMENTS } from '@windlass/plan'
import { describe, expect, test } from 'vitest'
import { oneStep, planOf, problemsOf } from '../test/documents.ts'
import { HOOK_IMAGE } from './draft/draft-hooks.ts'

function stepsOf(text: string): Record<string, PlanStep> {
  return Object.fromEntries(planOf(text).steps.map((step) => [step.name, step]))
}

/** Returns the steps that `hooks: { on_success: value }` of a step becomes. */
function hookOf(value: string): Record<string, PlanStep> {
  const { it: _step, ...hooks } = stepsOf(oneStep('image: x', `hooks: { on_success: ${value} }`))
  return hooks
}

const commands = { kind: 'freestyle', image: HOOK_IMAGE, commands: ['echo a', 'echo b'] }
const first = { hook: { moment: 'on_success', of: 'it' }, after: [], failFast: true }

describe('a hook of a step', () => {
  test('runs a list of commands, with and without exec, in a small image', () => {
    for (const value of ['[echo a, echo b]', '{ exec: [echo a, echo b] }']) {
      const hooks = hookOf(value)
      expect(Object.keys(hooks)).toEqual(['it.on_success'])
      expect(hooks['it.on_success']).toMatchObject({ ...first, title: 'on_success', action: commands })
      expect(hooks['it.on_success']?.parent).toBeUndefined()
    }
  })

  test('can be a step, with and without exec', () => {
    for (const value of ['{ image: x, commands: [a], title: Tell }', '{ exec: { image: x, commands: [a], title: Tell } }']) {
      expect(hookOf(value)['it.on_success']).toMatchObject({ ...first, title: 'Tell', action: { kind: 'freestyle', image: 'x' } })
    }
    expect(hookOf('{ type: git-clone, repo: a/b }')['it.on_success']?.action).toMatchObject({ kind: 'git-clone' })
  })

  test('with several steps is a serial or parallel group', () => {
    for (const value of [
      '{ steps: { a: { image: x }, b: { image: y } } }',
      '{ exec: { steps: { a: { image: x }, b: { image: y } } } }',
    ]) {
      const hooks = hookOf(value)
      expect(Object.keys(hooks)).toEqual(['it.on_success', 'it.on_success.a', 'it.on_success.b'])
      expect(hooks['it.on_success']).toMatchObject({ ...first, action: { kind: 'group', mode: 'serial' } })
      expect(hooks['it.on_success.b']).toMatchObject({ parent: 'it.on_success', after: ['it.on_success.a'], title: 'b' })
      expect(hooks['it.on_success.b']?.hook).toBeUndefined()
    }
    const parallel = hookOf('{ mode: parallel, fail_fast: false, steps: { a: { image: x }, b: { image: y } } }')
    expect(parallel['it.on_success']).toMatchObject({ failFast: false, action: { mode: 'parallel' } })
    expect(parallel['it.on_success.b']).toMatchObject({ after: [], failFast: false })
  })

  test('resolves names of its steps in their conditions', () => {
    const hooks = hookOf('{ mode: parallel, steps: { a: { image: x }, it: { image: y, when: { steps: [{ name: a }] } } } }')
    expect(hooks['it.on_success.it']?.when?.steps?.of).toEqual([{ name: 'it.on_success.a', on: ['success'] }])
  })

  test('with only metadata and annotations needs no container', () => {
    expect(
      hookOf(
        "{ metadata: { set: [{ '${{it.imageId}}': [A, { B: 2 }] }] }, annotations: { set: [{ entity_type: project, entity_id: p, annotations: [{ C: yes }, { D: { evaluate: '1 + 1' } }], display: C }], unset: [{ entity_type: workflow, annotations: [E] }] } }",
      )['it.on_success'],
    ).toMatchObject({
      ...first,
      action: {
        kind: 'annotate',
        set: [
          {
            entity: 'project',
            id: 'p',
            display: 'C',
            entries: [
              { name: 'C', value: { is: 'yes' } },
              { name: 'D', value: { evaluate: '1 + 1' } },
            ],
          },
        ],
        unset: [{ entity: 'build', names: ['E'] }],
        metadata: [
          {
            image: '${{it.imageId}}',
            entries: [
              { name: 'A', value: { is: '' } },
              { name: 'B', value: { is: 2 } },
            ],
          },
        ],
      },
    })
  })

  test('with a step and annotations is a group: the step, then the annotations', () => {
    const hooks = hookOf('{ exec: [echo a, echo b], annotations: { set: [{ annotations: [A] }] } }')
    expect(Object.values(hooks).map(({ name, parent, after, action }) => [name, parent, after, action.kind])).toEqual([
      ['it.on_success', undefined, [], 'group'],
      ['it.on_success.exec', 'it.on_success', [], 'freestyle'],
      ['it.on_success.annotate', 'it.on_success', ['it.on_success.exec'], 'annotate'],
    ])
    const several = hookOf('{ exec: { mode: parallel, steps: { a: { image: x } } }, metadata: { set: [] } }')
    expect(Object.keys(several)).toEqual(['it.on_success', 'it.on_success.exec', 'it.on_success.a', 'it.on_success.annotate'])
    expect(several['it.on_success.exec']).toMatchObject({ parent: 'it.on_success', action: { kind: 'group', mode: 'parallel' } })
  })

  test('supports the settings of any step', () => {
    expect(
      hookOf('{ image: x, timeout: 5s, retry: { maxAttempts: 2 }, fail_fast: false, when: { branch: { only: [main] } } }'),
    ).toMatchObject({
      'it.on_success': { timeout: '5s', retry: { maxAttempts: 2 }, failFast: false, when: { branch: { only: ['main'] } } },
    })
  })

  test('is checked like any step, at its own position', () => {
    expect(
      problemsOf(
        oneStep('image: x', 'hooks:', '  on_fail:', '    exec: { imag: y }', '  on_finish: { steps: { a: { type: build } } }'),
      ),
    ).toEqual([
      '7:9 error required "image" is required',
      '7:17 warning unknown-key unknown field "imag" in a freestyle step; it has no effect. Did you mean "image"?',
      '8:29 error required "image_name" is required',
    ])
    expect(problemsOf(oneStep('image: x', 'hooks: { on_fail: [5] }'))).toEqual([
      '5:24 error wrong-type "commands[0]" must be a string. Current value: 5',
    ])
    expect(
      problemsOf(
        oneStep('image: x', 'hooks: { on_fail: { annotations: { set: [{ annotations: [{ a: { evaluate: "1 +" } }] }] } } }'),
      ),
    ).toEqual(['5:83 warning expression invalid expression: unexpected end of expression'])
  })
})

test('hooks come after their step and the steps inside it in the plan', () => {
  const text = `version: 1
steps:
  p:
    type: parallel
    hooks: { on_finish: [a], on_elected: [b] }
    steps:
      c: { image: x, hooks: { on_fail: [d] } }
  q: { image: x }
hooks: { on_elected: [e], on_success: [f], on_fail: [g], on_finish: [h] }
`
  expect(planOf(text).steps.map(({ name, parent, after, hook }) => [name, parent, after, hook?.moment, hook?.of])).toEqual([
    ['p', undefined, [], undefined, undefined],
    ['c', 'p', [], undefined, undefined],
    ['c.on_fail', undefined, [], 'on_fail', 'c'],
    ['p.on_elected', undefined, [], 'on_elected', 'p'],
    ['p.on_finish', undefined, [], 'on_finish', 'p'],
    ['q', undefined, ['p'], undefined, undefined],
    ...HOOK_MOMENTS.map((moment) => [`.${moment}`, undefined, [], moment, undefined]),
  ])
})

test('hooks do not inherit fail_fast from the root', () => {
  const steps = stepsOf(
    'version: 1\nfail_fast: false\nhooks: { on_elected: { image: x } }\nsteps:\n  it: { image: x, hooks: { on_elected: { image: x, fail_fast: false } } }\n',
  )
  expect([steps['it']?.failFast, steps['.on_elected']?.failFast, steps['it.on_elected']?.failFast]).toEqual([false, true, false])
})

test('on_success, on_fail and on_finish of a step become hooks that annotate', () => {
  const steps = stepsOf(
    oneStep(
      'type: build',
      'image_name: x',
      "on_success: { metadata: { set: [{ '${{it.imageId}}': [{ A: 1 }] }] } }",
      'on_finish: { annotations: { unset: [{ annotations: [B] }] } }',
    ),
  )
  expect(steps['it.on_success']).toMatchObject({
    ...first,
    action: { kind: 'annotate', metadata: [{ image: '${{it.imageId}}' }] },
  })
  expect(steps['it.on_finish']).toMatchObject({
    hook: { moment: 'on_finish', of: 'it' },
    action: { kind: 'annotate', unset: [{ names: ['B'] }] },
  })
})

test('metadata and annotations of a build step apply to its image once it is built', () => {
  const steps = stepsOf(
    oneStep(
      'type: build',
      'image_name: x',
      'metadata: { set: [{ CF_QUALITY: true }] }',
      'annotations: { set: [{ entity_type: image, annotations: [A] }] }',
      'hooks: { on_success: [echo] }',
    ),
  )
  expect(Object.keys(steps)).toEqual(['it', 'it.on_success', 'it.annotations'])
  expect(steps['it.annotations']).toMatchObject({
    hook: { moment: 'on_success', of: 'it' },
    action: {
      kind: 'annotate',
      set: [{ entity: 'image', entries: [{ name: 'A', value: { is: '' } }] }],
      metadata: [{ entries: [{ name: 'CF_QUALITY', value: { is: true } }] }],
    },
  })
  expect(problemsOf(oneStep('type: build', 'image_name: x', 'metadata: { unset: [] }'))).toEqual([
    '6:17 error unknown-key "unset" is not allowed',
  ])
})

test('a hook can be a parallel step, a matrix or a scale', () => {
  const hooks = hookOf('{ type: parallel, steps: { a: { image: x }, b: { image: y } } }')
  expect(Object.keys(hooks)).toEqual(['it.on_success', 'it.on_success.a', 'it.on_success.b'])
  expect(Object.keys(hookOf('{ matrix: { image: [x, y] } }'))).toEqual(['it.on_success', 'it.on_success_1', 'it.on_success_2'])
  expect(Object.keys(hookOf('{ image: x, scale: { a: {}, b: {} } }'))).toEqual([
    'it.on_success',
    'it.on_success.a',
    'it.on_success.b',
  ])
})
