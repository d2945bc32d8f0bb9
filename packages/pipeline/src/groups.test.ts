import type { PlanStep } from '@windlass/plan'
import { describe, expect, test } from 'vitest'
import { messagesOf, planOf, problemsOf } from '../test/documents.ts'

/** A plan with access to its steps by name. */
function stepsOf(text: string): Record<string, PlanStep> {
  return Object.fromEntries(planOf(text).steps.map((step) => [step.name, step]))
}

function outline(text: string): [string, string | undefined, readonly string[]][] {
  return planOf(text).steps.map(({ name, parent, after }) => [name, parent, after])
}

describe('a parallel step', () => {
  const text = `version: 1
steps:
  before: { image: x }
  group:
    type: parallel
    title: Both
    steps:
      one: { image: x }
      inner:
        type: parallel
        steps:
          two: { type: build, arguments: { image-name: a/b } }
  after: { image: x }
`

  test('becomes a group whose steps wait only for the group', () => {
    expect(outline(text)).toEqual([
      ['before', undefined, []],
      ['group', undefined, ['before']],
      ['one', 'group', []],
      ['inner', 'group', []],
      ['two', 'inner', []],
      ['after', undefined, ['group']],
    ])
    const { group, two } = stepsOf(text)
    expect(group).toMatchObject({ title: 'Both', action: { kind: 'group', mode: 'parallel' }, position: { line: 4, column: 3 } })
    expect(two).toMatchObject({ action: { kind: 'build', imageName: 'a/b' }, position: { line: 12, column: 11 } })
  })

  test('checks the steps inside like any other, at their own positions', () => {
    expect(problemsOf(text.replace('image: x }\n      inner', 'imag: x, stage: s }\n      inner'))).toEqual([
      '8:7 error required "image" is required',
      '8:14 warning unknown-key unknown field "imag" in a freestyle step; it has no effect. Did you mean "image"?',
      '8:30 error unknown-stage "stage" must be one of []. Current value: s',
    ])
    expect(problemsOf(text.replace('title: Both', 'titel: Both'))).toEqual([
      '6:5 warning unknown-key unknown field "titel" in a parallel step; it has no effect. Did you mean "title"?',
    ])
  })

  test('passes its timeout to the steps inside that have none', () => {
    const limits = stepsOf(`version: 1
steps:
  group:
    type: parallel
    timeout: 10m
    steps:
      same: { image: x }
      own: { image: x, timeout: 5s }
      free: { image: x, timeout: null }
      zero: { image: x, timeout: 0s }
      wrong: { image: x, timeout: soon }
      rollout: { type: deploy, kind: kubernetes, cluster: c, namespace: n, service: s, timeout: '60' }
      inner: { type: parallel, steps: { deep: { image: x } } }
      shorter: { type: parallel, timeout: 1m, steps: { short: { image: x } } }
      unlimited: { type: parallel, timeout: null, steps: { open: { image: x } } }
`)
    expect(Object.fromEntries(Object.values(limits).map(({ name, timeout }) => [name, timeout]))).toEqual({
      group: undefined,
      same: '10m',
      own: '5s',
      free: undefined,
      zero: undefined,
      wrong: '10m',
      rollout: undefined,
      inner: undefined,
      deep: '10m',
      shorter: undefined,
      short: '1m',
      unlimited: undefined,
      open: undefined,
    })
  })

  test('keeps its criteria, retry and flags', () => {
    const { group } = stepsOf(`version: 1
steps:
  group:
    type: parallel
    fail_fast: false
    strictFailFast: true
    retry: { maxAttempts: 3 }
    success_criteria:
      steps: { only: [a], ignore: [b] }
      condition: { all: { good: 'steps.a.result == "success"' } }
    steps: { a: { image: x }, b: { image: x } }
`)
    expect(group).toMatchObject({
      failFast: false,
      strictFailFast: true,
      retry: { maxAttempts: 3 },
      successCriteria: { only: ['a'], ignore: ['b'], condition: { all: { good: 'steps.a.result == "success"' } } },
    })
  })

  test('leaves fail_fast to its steps by default', () => {
    const { silent, inside, firm, judged } = stepsOf(`version: 1
fail_fast: false
steps:
  silent: { type: parallel, steps: { inside: { image: x }, firm: { image: x, fail_fast: true } } }
  judged: { type: parallel, success_criteria: { steps: [b] }, steps: { b: { image: x } } }
`)
    expect([silent?.failFast, inside?.failFast, firm?.failFast, judged?.failFast]).toEqual([true, false, true, false])
  })
})

describe('root mode parallel', () => {
  test('orders steps only by their conditions', () => {
    const plan = planOf(`version: 1
mode: parallel
steps:
  last: { image: x, when: { steps: { any: [{ name: one, on: [failure] }, { name: two, on: [finished] }] } } }
  one: { image: x }
  two: { image: x, when: { steps: [{ name: one }] } }
`)
    expect(plan.mode).toBe('parallel')
    expect(plan.steps.map(({ name, after, when }) => [name, after, when?.steps])).toEqual([
      [
        'last',
        [],
        {
          match: 'any',
          of: [
            { name: 'one', on: ['failure'] },
            { name: 'two', on: ['finished'] },
          ],
        },
      ],
      ['one', [], undefined],
      ['two', [], { match: 'all', of: [{ name: 'one', on: ['success'] }] }],
    ])
  })

  const graph = (...lines: string[]): string[] =>
    problemsOf(`version: 1\nmode: parallel\nsteps:\n${lines.map((line) => `  ${line}\n`).join('')}`)
  const after = (name: string, ...others: string[]): string =>
    `${name}: { image: x, when: { steps: [${others.map((other) => `{ name: ${other} }`).join(', ')}] } }`

  test('reports a cycle of waiting steps once', () => {
    expect(graph(after('a', 'c'), after('b', 'a'), after('c', 'b'), after('d', 'c'), 'e: { image: x }')).toEqual([
      '4:3 error dependency-circle steps wait for each other in a cycle: a -> c -> b -> a',
    ])
    expect(graph(after('a', 'b'), after('b', 'a'), after('c', 'd'), after('d', 'c'))).toHaveLength(2)
  })

  test('reports a cycle through a group, but not one that a step can leave', () => {
    expect(graph('g: { type: parallel, when: { steps: [{ name: z }] }, steps: { a: { image: x } } }', after('z', 'a'))).toEqual([
      '4:3 error dependency-circle steps wait for each other in a cycle: g -> z -> a -> g',
    ])
    expect(
      graph('a: { image: x, when: { steps: { any: [{ name: b }, { name: c }] } } }', after('b', 'a'), 'c: { image: x }'),
    ).toEqual([])
    expect(graph('a: { image: x, when: { steps: [{ name: b, on: [pending] }] } }', after('b', 'a'))).toEqual([])
  })

  test('reports a step that waits for itself, for its group or for a step inside it', () => {
    expect(graph(after('a', 'a'))).toEqual(['4:42 error unknown-step step "a" refers to itself'])
    expect(graph('g: { type: parallel, steps: { a: { image: x, when: { steps: [{ name: g }] } } } }')).toEqual([
      '4:72 warning later-step step "g" contains this one, so it is still running here',
    ])
    expect(graph('g: { type: parallel, when: { steps: [{ name: a }] }, steps: { a: { image: x } } }')).toEqual([
      '4:48 warning later-step step "a" is inside this one, so it is still pending here',
    ])
  })

  test('checks long chains and long cycles in linear time', () => {
    const chain = Array.from({ length: 1_200 }, (_, n) => after(`s${n}`, `s${n + 1}`))
    expect(graph(...chain, 's1200: { image: x }')).toEqual([])
    expect(graph(...chain, after('s1200', 's0'))).toEqual([
      '4:3 error dependency-circle steps wait for each other in a cycle: s0 -> s1 -> s2 -> s3 -> s4 -> s5 -> s6 -> s7 -> s8 -> s9 -> …',
    ])
  })
})

describe('when in a serial pipeline', () => {
  test('reports steps that start at the same time', () => {
    const text = `version: 1
steps:
  p:
    type: parallel
    steps:
      a: { image: x }
      b: { image: x, when: { steps: [{ name: a }] } }
      c: { image: x, when: { steps: [{ name: a, on: [running, pending] }] } }
  later: { image: x, when: { steps: [{ name: a }] } }
`
    expect(problemsOf(text)).toEqual(['7:46 warning later-step step "a" starts at the same time, so it has not ended here'])
  })

  test('a child can refer to steps before its group, with a warning for later steps', () => {
    const text = (name: string): string =>
      `version: 1\nsteps:\n  first: { image: x }\n  p: { type: parallel, steps: { a: { image: x, when: { steps: [{ name: ${name} }] } } } }\n  last: { image: x }\n`
    expect(messagesOf(text('first'))).toEqual([])
    expect(messagesOf(text('last'))).toEqual(['step "last" runs later, so it is still pending here'])
  })

  test('reports unknown steps with a suggestion, wherever they are named', () => {
    expect(
      problemsOf(`version: 1
success_criteria: { condition: { all: { a: steps.buidl.result == "success" } } }
steps:
  build: { image: x }
  p:
    type: parallel
    steps:
      a: { image: x, when: { steps: [{ name: biuld }] } }
      b: { image: '\${{steps.bild.imageId}}', when: { condition: { any: { x: steps.buil.result == 'success' } } } }
`),
    ).toEqual([
      '2:44 error unknown-step step "buidl" does not exist. Did you mean "build"?',
      '8:46 warning unknown-step step "biuld" does not exist, so the condition is never met. Did you mean "build"?',
      '9:19 warning unknown-step step "bild" does not exist. Did you mean "build"?',
      '9:77 error unknown-step step "buil" does not exist. Did you mean "build"?',
    ])
    const expression = (text: string): string[] =>
      messagesOf(`version: 1\nsteps:\n  a: { image: x }\n  b: { image: x, when: { condition: { all: { c: ${text} } } } }\n`)
    expect(expression(`"\${{steps.z.result}} == 'success'"`)).toEqual(['step "z" does not exist'])
    expect(expression(`"'\${{steps.zz.output.V}}' == '\${{VARIABLE}}'"`)).toEqual(['step "zz" does not exist'])
    expect(expression(`"'\${{steps.a.output.V}}' == '1'"`)).toEqual([])
  })
})

test('an approval waits a week by default', () => {
  const { usual, quick } = stepsOf(`version: 1
steps:
  usual: { type: pending-approval }
  quick: { type: pending-approval, fail_fast: false, timeout: { duration: '1.5', timeUnit: minutes, finalState: denied } }
`)
  expect(usual?.action).toEqual({ kind: 'pending-approval', timeoutMs: 168 * 3_600_000, finalState: 'terminated' })
  expect(quick).toMatchObject({ failFast: false, action: { timeoutMs: 90_000, finalState: 'denied' } })
  expect(quick?.timeout).toBeUndefined()
})

test('moves retry numbers into their ranges with a warning', () => {
  const text = 'version: 1\nsteps:\n  a: { image: x, retry: { maxAttempts: 20, delay: 3, exponentialFactor: 0.5 } }\n'
  expect(problemsOf(text)).toEqual([
    '3:40 warning retry-range "maxAttempts" must be between 1 and 10; 10 is used. Current value: 20',
    '3:51 warning retry-range "delay" must be between 5 and 60; 5 is used. Current value: 3',
    '3:73 warning retry-range "exponentialFactor" must be between 1 and 5; 1 is used. Current value: 0.5',
  ])
  expect(planOf(text).steps[0]?.retry).toEqual({ maxAttempts: 10, delayMs: 5_000, factor: 1 })
})

test('merges breakpoints of the step and of the stored pipeline', () => {
  const text = `kind: pipeline
metadata: { name: a }
spec:
  debug: { steps: { one: { phases: { after: true } }, inner: { phases: { before: true } } } }
  steps:
    one: { image: x, debug: { phases: { override: true, before: false } } }
    p: { type: parallel, steps: { inner: { image: x } } }
`
  const steps = stepsOf(text)
  expect([steps['one']?.breakpoints, steps['inner']?.breakpoints, steps['p']?.breakpoints]).toEqual([
    ['override', 'after'],
    ['before'],
    undefined,
  ])
  expect(problemsOf(text.replace('inner: { phases', 'iner: { phases'))).toEqual([
    '4:55 error unknown-step step "iner" does not exist. Did you mean "inner"?',
  ])
})

test('aliases, hooks, services and criteria work in stored pipelines too', () => {
  const plan = planOf(`kind: pipeline
metadata: { name: a }
spec:
  failFast: false
  mode: parallel
  hooks: { on_finish: [echo] }
  services: { name: db, composition: { pg: { image: y } } }
  success_criteria: { steps: [one] }
  steps: { one: { image: x, services: [db] } }
`)
  expect(plan).toMatchObject({
    mode: 'parallel',
    failFast: false,
    services: { name: 'db' },
    successCriteria: { only: ['one'] },
    steps: [{ name: 'one', failFast: false, services: ['db'] }, { name: '.on_finish' }],
  })
})

test('keeps an environment record', () => {
  const { it } = stepsOf(`version: 1
steps:
  it:
    image: x
    env:
      name: prod
      change: '\${{CF_COMMIT_MESSAGE}}'
      endpoints: [{ name: app, url: 'http://app' }]
      filters: [{ cluster: c, selectors: [{ app: a }] }]
`)
  expect(it?.environmentRecord).toEqual({
    name: 'prod',
    type: 'kubernetes',
    change: '${{CF_COMMIT_MESSAGE}}',
    endpoints: [{ name: 'app', url: 'http://app' }],
    filters: [{ cluster: 'c', selectors: [{ app: 'a' }] }],
  })
})

describe('documents that Codefresh accepts', () => {
  test('steps of a parallel step can be a list, of named steps or of steps without names', () => {
    const list = `version: 1
steps:
  p:
    type: parallel
    steps:
      - unit: { image: x }
      - image: y
        commands: [make]
`
    expect(planOf(list).steps.map(({ name, parent }) => [name, parent])).toEqual([
      ['p', undefined],
      ['unit', 'p'],
      ['p_2', 'p'],
    ])
    expect(
      problemsOf(list.replace('- image: y', '- unit:\n          image: y').replace('        commands: [make]\n', '')),
    ).toEqual(['7:9 error duplicate-step step name exist more than once. Current value: unit'])
  })

  test('a condition on a step that does not exist is never met', () => {
    const plan = planOf(
      'version: 1\nsteps:\n  a: { image: x, when: { steps: [{ name: nobody, on: [pending, success] }] } }\n  b: { image: x }\n',
    )
    expect(plan.steps[0]?.when).toEqual({ steps: { match: 'all', of: [{ name: 'nobody', on: [] }] } })
    const criteria = planOf(
      'version: 1\nsuccess_criteria: { steps: { only: [nobody, b], ignore: [none] } }\nsteps:\n  b: { image: x }\n',
    )
    expect(criteria.successCriteria).toEqual({
      only: ['b'],
      ignore: [],
      condition: { all: { 'step "nobody" exists': 'false' } },
    })
  })

  test('typed and parallel steps ignore an unknown stage, a list of conditions and unusable services', () => {
    const text = (field: string): string =>
      `version: 1\nstages: [one]\nsteps:\n  p:\n    type: parallel\n    ${field}\n    steps: { a: { image: x } }\n`
    expect(problemsOf(text('stage: two'))).toEqual([
      '6:12 warning unknown-stage "stages" does not list this stage. Current value: two, so "stage" has no effect',
    ])
    expect(problemsOf(text('when: [{ name: a }]'))).toEqual([
      '6:11 warning wrong-type "when" must be an object, so "when" has no effect',
    ])
    expect(problemsOf(text('services: 5'))).toHaveLength(1)
    expect(planOf(text('stage: two')).steps[0]?.stage).toBeUndefined()
    expect(problemsOf(text('when: { brunch: { only: [main] } }'))).toHaveLength(1)
    expect(problemsOf('version: 1\nstages: [one]\nsteps:\n  a: { image: x, stage: two }\n')).toEqual([
      expect.stringContaining('error unknown-stage'),
    ])
  })
})
