import type { PlanStep } from '@windlass/plan'
import { describe, expect, test } from 'vitest'
import { oneStep, planOf, problemsOf } from '../../test/documents.ts'

function stepsOf(...lines: string[]): PlanStep[] {
  return [...planOf(oneStep(...lines)).steps]
}

/** Returns name, parent and one field of the action of each step. */
function fieldOf(steps: readonly PlanStep[], field: string): [string, unknown][] {
  return steps.map(({ name, action }) => [name, Object.entries(action).find(([key]) => key === field)?.[1]])
}

describe('scale', () => {
  test('creates a group with a step for each name, whose fields override those of the step', () => {
    const steps = stepsOf(
      'image: node',
      'title: Tests',
      'working-directory: ./a',
      'environment: [A=1, B=2]',
      'scale:',
      '  unit: { environment: [B=3, C=4], commands: [npm test] }',
      '  lint: { image: lint, working-directory: ./b, title: Lint }',
      '  none:',
    )
    expect(steps.map(({ name, title, parent, after }) => [name, title, parent, after])).toEqual([
      ['it', 'Tests', undefined, []],
      ['unit', 'unit', 'it', []],
      ['lint', 'Lint', 'it', []],
      ['none', 'none', 'it', []],
    ])
    expect(steps[0]?.action).toEqual({ kind: 'group', mode: 'parallel' })
    expect(steps[1]?.action).toMatchObject({ image: 'node', environment: ['A=1', 'B=3', 'C=4'], commands: ['npm test'] })
    expect(steps[2]?.action).toMatchObject({ image: 'lint', workingDirectory: './b', environment: ['A=1', 'B=2'] })
    expect(steps[1]?.position).toEqual({ line: 9, column: 7 })
  })

  test('merges environments that are mappings on either side', () => {
    const steps = stepsOf(
      'image: x',
      'environment: { A: 1, B: 2 }',
      'scale: { a: { environment: [B=3] }, b: { environment: { C: 4 } } }',
    )
    expect(fieldOf(steps.slice(1), 'environment')).toEqual([
      ['a', ['A=1', 'B=3']],
      ['b', ['A=1', 'B=2', 'C=4']],
    ])
  })

  test('a child can have another type', () => {
    const steps = stepsOf('scale: { a: { image: x }, b: { type: build, image_name: y } }')
    expect(steps.map(({ action }) => action.kind)).toEqual(['group', 'freestyle', 'build'])
    expect(problemsOf(oneStep('image: x', 'scale: { a: { type: build } }'))).toEqual([
      '4:5 error unknown-key "image" is not allowed. Did you mean "image_name"?',
      '5:14 error required "image_name" is required',
    ])
  })
})

describe('matrix', () => {
  const text = [
    'environment: [COMMON=1]',
    'commands: [go test]',
    'matrix:',
    '  image: [go:1, go:2]',
    '  environment: [[A=0], [A=1, COMMON=2]]',
  ]

  test('creates a step for each combination, with the first property varying slowest', () => {
    const steps = stepsOf(...text)
    expect(steps.map(({ name, title }) => [name, title])).toEqual([
      ['it', 'it'],
      ['it_1', 'it (image=go:1, environment=A=0)'],
      ['it_2', 'it (image=go:1, environment=A=1 COMMON=2)'],
      ['it_3', 'it (image=go:2, environment=A=0)'],
      ['it_4', 'it (image=go:2, environment=A=1 COMMON=2)'],
    ])
    expect(fieldOf(steps.slice(1), 'image').map(([, image]) => image)).toEqual(['go:1', 'go:1', 'go:2', 'go:2'])
    expect(fieldOf(steps.slice(1), 'environment').map(([, environment]) => environment)).toEqual([
      ['COMMON=1', 'A=0'],
      ['A=1', 'COMMON=2'],
      ['COMMON=1', 'A=0'],
      ['A=1', 'COMMON=2'],
    ])
    expect(steps[4]?.position).toEqual({ line: 3, column: 3 })
  })

  test('an environment of one variable can be written as a text', () => {
    const steps = stepsOf('image: x', 'environment: [COMMON=1]', 'matrix: { environment: [A=1, "A=2", [A=3, COMMON=2]] }')
    expect(fieldOf(steps.slice(1), 'environment').map(([, environment]) => environment)).toEqual([
      ['COMMON=1', 'A=1'],
      ['COMMON=1', 'A=2'],
      ['A=3', 'COMMON=2'],
    ])
    expect(steps.map(({ title }) => title).slice(1)).toEqual([
      'it (environment=A=1)',
      'it (environment=A=2)',
      'it (environment=A=3 COMMON=2)',
    ])
  })

  test('supports three dimensions, values of other kinds, and lists of commands', () => {
    const steps = stepsOf('matrix:', '  image: [a, b]', '  commands: [[one, two], [three]]', '  shell: [sh, bash]')
    expect(steps).toHaveLength(9)
    expect(steps[2]).toMatchObject({
      title: 'it (image=a, commands=one two, shell=bash)',
      action: { commands: ['one', 'two'], shell: 'bash' },
    })
  })

  test('when, stage and title stay with the group; retry, timeout, flags and hooks go to its steps', () => {
    const plan = planOf(`version: 1
stages: [s]
steps:
  it:
    title: All
    description: d
    stage: s
    when: { branch: { only: [main] } }
    retry: { maxAttempts: 3 }
    timeout: 5m
    fail_fast: false
    strict_fail_fast: true
    hooks: { on_fail: [echo] }
    matrix: { image: [a, b] }
`)
    const [group, child, hook] = plan.steps
    expect(group).toMatchObject({
      title: 'All',
      stage: 's',
      when: { branch: { only: ['main'] } },
      failFast: true,
      retry: { maxAttempts: 1 },
    })
    expect(group?.timeout).toBeUndefined()
    expect(child).toMatchObject({
      title: 'All (image=a)',
      failFast: false,
      strictFailFast: true,
      retry: { maxAttempts: 3 },
      timeout: '5m',
    })
    expect([child?.when, child?.stage]).toEqual([undefined, undefined])
    expect(hook).toMatchObject({ name: 'it_1.on_fail', hook: { of: 'it_1' } })
  })

  test('criteria select which of the generated steps count', () => {
    const lines = ['type: build', 'image_name: x', 'matrix: { target: [a, b] }']
    expect(stepsOf(...lines, 'success_criteria: { steps: { ignore: [it_2] } }')[0]).toMatchObject({
      successCriteria: { ignore: ['it_2'] },
    })
    expect(problemsOf(oneStep(...lines, 'success_criteria: { steps: [it_3] }'))).toEqual([
      '7:33 warning unknown-step step "it_3" does not exist here, so the criteria are never met. Did you mean "it_1"?',
    ])
    expect(stepsOf(...lines, 'fail_fast: false', 'success_criteria: { steps: [it_1] }').map(({ failFast }) => failFast)).toEqual([
      false,
      false,
      false,
    ])
    expect(problemsOf(oneStep('image: x', 'success_criteria: { steps: [it] }'))).toEqual([
      '5:5 error not-allowed "success_criteria" is only allowed on steps that contain steps',
    ])
  })

  test('works on every type and in root mode parallel', () => {
    for (const lines of [
      ['type: build', 'matrix: { image_name: [a, b] }'],
      ['type: push', 'candidate: x', 'matrix: { tags: [[a], [b, c]] }'],
      ['type: git-clone', 'matrix: { repo: [a/b, c/d] }'],
      ['type: composition', 'composition: {}', 'matrix: { composition_candidates: [{ a: { image: x } }, { b: { image: y } }] }'],
      ['matrix: { arguments: [{ image: a }, { image: b }] }'],
    ]) {
      const text = oneStep(...lines)
      expect(planOf(text).steps.map(({ name }) => name)).toEqual(['it', 'it_1', 'it_2'])
      expect(planOf(`mode: parallel\n${text}`).steps).toHaveLength(3)
    }
  })

  test('inherits the timeout of a parallel step', () => {
    const plan = planOf(
      'version: 1\nsteps:\n  p: { type: parallel, timeout: 3m, steps: { it: { matrix: { image: [a, b] } } } }\n',
    )
    expect(plan.steps.map(({ name, parent, timeout }) => [name, parent, timeout])).toEqual([
      ['p', undefined, undefined],
      ['it', 'p', undefined],
      ['it_1', 'it', '3m'],
      ['it_2', 'it', '3m'],
    ])
  })

  test('reports a problem of generated steps once, at its source', () => {
    expect(problemsOf(oneStep(...text, '  shell: [sh, zsh]', 'imag: y'))).toEqual([
      '9:19 error invalid-value "shell" must be one of [sh, bash]. Current value: zsh. Did you mean "sh"?',
      '10:5 warning unknown-key unknown field "imag" in a freestyle step; it has no effect. Did you mean "image"?',
    ])
    expect(problemsOf(oneStep('matrix: { image: [a, b], volumes: [a, b] }'))).toEqual([
      '4:40 error wrong-type "volumes" must be an array. Current value: a',
      '4:43 error wrong-type "volumes" must be an array. Current value: b',
    ])
    expect(problemsOf(oneStep('matrix: { shell: [sh] }'))).toEqual(['3:3 error required "image" is required'])
    expect(problemsOf(oneStep('image: x', 'matrix: { wat: [a] }'))).toEqual([
      '5:15 warning unknown-key unknown field "wat" in a freestyle step; it has no effect',
    ])
  })

  test('generated names are ordinary step names', () => {
    expect(
      problemsOf(
        'version: 1\nsteps:\n  it: { matrix: { image: [a, b] } }\n  it_2: { image: x }\n  z: { image: x, when: { steps: [{ name: it_1 }, { name: it_9 }] } }\n',
      ),
    ).toEqual([
      '4:3 error duplicate-step step name exist more than once. Current value: it_2',
      '5:58 warning unknown-step step "it_9" does not exist, so the condition is never met. Did you mean "it_1"?',
    ])
    expect(problemsOf(oneStep('image: x', 'scale: { it: {} }'))).toEqual([
      '5:14 error duplicate-step step name exist more than once. Current value: it',
    ])
  })
})
