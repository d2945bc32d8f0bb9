/** Behavior in cases that the Codefresh language leaves open or defines ambiguously. */
import { describe, expect, test } from 'vitest'
import { messagesOf, oneStep, planOf, problemsOf } from '../test/documents.ts'
import { compile } from './compile/compile.ts'
import { readPipelineDocument } from './compile/pipeline-document.ts'

describe('behavior in ambiguous cases', () => {
  test('git of a clone is optional', () => {
    expect(problemsOf(oneStep('type: git-clone', 'repo: a/b'))).toEqual([])
  })

  test('exclude_blob is an alias of exclude_blobs', () => {
    for (const name of ['exclude_blob', 'exclude_blobs'])
      expect(planOf(oneStep('type: git-clone', 'repo: a/b', `${name}: true`)).steps[0]?.action).toMatchObject({
        excludeBlobs: true,
      })
  })

  test('a delay below five seconds becomes five, with a warning', () => {
    const text = oneStep('image: x', 'retry: { maxAttempts: 2, delay: 3 }')
    expect(planOf(text).steps[0]?.retry.delayMs).toBe(5_000)
    expect(problemsOf(text)).toEqual(['5:37 warning retry-range "delay" must be between 5 and 60; 5 is used. Current value: 3'])
  })

  test('working-directory and workingDirectory are both members of a step', () => {
    for (const member of ['working-directory', 'workingDirectory', 'working_directory'])
      expect(
        problemsOf(
          `version: 1\nsteps:\n  a: { image: x }\n  b: { image: x, when: { condition: { all: { c: "Member('a', '${member}') == '/x'" } } } }\n`,
        ),
      ).toEqual([])
  })

  test('a failed step has the result failure, and a comparison with error is a warning', () => {
    const text = (word: string): string =>
      `version: 1\nsteps:\n  a: { image: x }\n  b: { image: x, when: { condition: { all: { c: "steps.a.result == '${word}'" } } } }\n`
    expect(messagesOf(text('failure'))).toEqual([])
    expect(messagesOf(text('error'))).toEqual(['a step result is never "error"'])
  })

  test('root services apply to every step, and steps can also list them by name', () => {
    const text = (name: string): string =>
      `version: 1\nservices: { name: db, composition: { pg: { image: postgres } } }\nsteps:\n  a: { image: x, services: [${name}] }\n  b: { image: x }\n`
    expect(planOf(text('db'))).toMatchObject({
      services: { name: 'db', compose: { inline: { services: { pg: { image: 'postgres' } } } } },
      steps: [{ services: ['db'] }, { name: 'b' }],
    })
    expect(problemsOf(text('bd'))).toEqual(['4:29 warning unknown-service root services "bd" do not exist'])
    expect(planOf(text('"${{NAME}}"')).steps[0]?.services).toEqual(['${{NAME}}'])
  })

  test('an approval without a decision ends as terminated', () => {
    expect(planOf(oneStep('type: pending-approval')).steps[0]?.action).toMatchObject({ finalState: 'terminated' })
  })

  test('a composition can be empty, so that only its candidates run', () => {
    expect(
      planOf(oneStep('type: composition', 'composition: {}', 'composition_candidates: { a: { image: x } }')).steps[0]?.action,
    ).toMatchObject({ compose: { inline: {} }, candidates: { a: { image: 'x' } } })
  })

  test('inline is not a location, because a document without specTemplate is inline', () => {
    const text = (location: string): string =>
      `kind: pipeline\nmetadata: { name: a }\nspec: { specTemplate: { location: ${location}, url: http://x/y.yml } }\n`
    const read = (location: string): readonly string[] =>
      readPipelineDocument({ text: text(location), file: 'x' }).problems.map(({ message }) => message)
    expect(read('url')).toEqual([])
    expect(read('inline')).toEqual(['"location" must be one of [url, git]. Current value: inline'])
  })

  test('the singular annotation is rejected with a suggestion, with and without exec', () => {
    for (const value of ['{ annotation: { set: [] } }', '{ exec: [echo], annotation: { set: [] } }']) {
      const { problems } = compile({ text: oneStep('image: x', `hooks: { on_fail: ${value} }`), file: 'x' })
      expect(problems.map(({ code, message, suggestion }) => [code, message, suggestion])).toEqual([
        ['unknown-key', '"annotation" is not allowed. Did you mean "annotations"?', { from: 'annotation', to: 'annotations' }],
      ])
    }
  })

  test('strict_fail_fast is allowed on steps, on groups and at the root', () => {
    const plan = planOf(
      'version: 1\nstrict_fail_fast: true\nsteps:\n  a: { image: x, fail_fast: false, strict_fail_fast: true }\n  g: { type: parallel, fail_fast: false, strict_fail_fast: true, steps: { b: { image: x } } }\n',
    )
    expect([plan.strictFailFast, ...plan.steps.map(({ strictFailFast }) => strictFailFast)]).toEqual([true, true, true, false])
  })

  test('misplaced conditions are reported', () => {
    const problems = (...lines: string[]): string[] =>
      problemsOf(`version: 1\nsteps:\n${lines.map((line) => `  ${line}\n`).join('')}`)
    expect(problems('a: { image: x }', 'when: { condition: { all: { b: 1 == 1 } } }')).toEqual([
      '4:3 error not-allowed "when" is not a step and has no effect here',
    ])
    expect(problems('a: { image: x }', 'condition: { all: { b: 1 == 1 } }')).toEqual([
      '4:3 error not-allowed "condition" is not a step and has no effect here',
    ])
    expect(problems('a: { image: x, condition: { all: { b: 1 == 1 } } }')).toEqual([
      '3:18 error not-allowed "condition" has no effect outside "when"',
    ])
    expect(problems('a: { type: build, image_name: x, branch: { only: [main] } }')).toEqual([
      '3:36 error not-allowed "branch" has no effect outside "when"',
    ])
    expect(problems('p: { type: parallel, steps: { a: { image: x }, when: { steps: [{ name: a }] } } }')).toEqual([
      '3:50 error not-allowed "when" is not a step and has no effect here',
    ])
    expect(problems('a: { image: x, branch: main }')).toEqual([
      '3:18 warning unknown-key unknown field "branch" in a freestyle step; it has no effect',
    ])
    expect(problems('when: { image: x }')).toEqual([])
  })

  test('variables of services are a list or a mapping', () => {
    for (const variables of ['[A=1, B=x]', '{ A: 1, B: x }']) {
      const plan = planOf(`version: 1\nservices: { composition: {}, composition_variables: ${variables} }\nsteps: {}\n`)
      expect(plan.services?.variables).toEqual(['A=1', 'B=x'])
    }
  })

  test('a variable without quotes can be compared with a string', () => {
    expect(problemsOf(oneStep('image: x', 'when:', '  condition: { all: { skip: "${{SKIP}} == \'true\'" } }'))).toEqual([])
  })

  test('invalid expressions, unknown functions, cycles and unknown steps are reported at compile time', () => {
    const expression = (text: string): string[] =>
      problemsOf(oneStep('image: x', 'when:', `  condition: { all: { a: ${text} } }`)).map(
        (problem) => problem.split(' ')[2] ?? '',
      )
    expect(expression('"1 =="')).toEqual(['expression'])
    expect(expression('"nosuch(1)"')).toEqual(['expression'])
    expect(expression('"steps.nosuch.result == \'success\'"')).toEqual(['unknown-step'])
    expect(
      messagesOf(
        'version: 1\nmode: parallel\nsteps:\n  a: { image: x, when: { steps: [{ name: b }] } }\n  b: { image: x, when: { steps: [{ name: a }] } }\n',
      ),
    ).toEqual(['steps wait for each other in a cycle: a -> b -> a'])
  })
})

describe('services', () => {
  test('accept a compose document, only services, a path and a stored composition', () => {
    const services = (composition: string, compositions = {}): unknown =>
      compile({ text: `version: 1\nservices: { composition: ${composition} }\nsteps: {}\n`, file: 'x' }, { compositions }).plan
        ?.services?.compose
    expect(services('{ a: { image: x } }')).toEqual({ inline: { services: { a: { image: 'x' } } } })
    expect(services('{ version: "3", services: { a: { image: x } } }')).toEqual({
      inline: { version: '3', services: { a: { image: 'x' } } },
    })
    expect(services('{ services: { image: x } }')).toEqual({ inline: { services: { services: { image: 'x' } } } })
    expect(services('./compose.yml')).toEqual({ path: './compose.yml' })
    expect(services('stored', { stored: { a: { image: 'y' } } })).toEqual({ inline: { services: { a: { image: 'y' } } } })
  })

  test('are allowed on freestyle, parallel and typed steps; in older types the field has another meaning', () => {
    const services = '{ composition: { db: { image: y } } }'
    const plan = planOf(
      `version: 1\nsteps:\n  p: { type: parallel, services: ${services}, steps: { a: { image: x } } }\n  t: { type: travis, services: { db: { image: y } }, test: { image: x, command: z } }\n`,
    )
    expect(plan.steps.map(({ name, services: own }) => [name, own !== undefined])).toEqual([
      ['p', true],
      ['a', false],
      ['t', false],
    ])
  })

  test('readiness has the Codefresh defaults, and setup its commands', () => {
    const plan = planOf(`version: 1
steps:
  it:
    image: x
    services:
      composition: { db: { image: y } }
      shared_host_network: '\${{SHARED}}'
      readiness: { image: y, commands: [ping] }
      setup: { image: y, commands: [load] }
`)
    expect(plan.steps[0]?.services).toEqual({
      compose: { inline: { services: { db: { image: 'y' } } } },
      variables: [],
      sharedHostNetwork: '${{SHARED}}',
      readiness: { image: 'y', commands: ['ping'], periodMs: 10_000, timeoutMs: 10_000, failureThreshold: 3 },
      setup: { image: 'y', commands: ['load'] },
    })
    const delayed = planOf(
      'version: 1\nservices: { composition: {}, readiness: { image: y, commands: [ping], periodSeconds: 4, initialDelaySeconds: 10 } }\nsteps: {}\n',
    )
    expect(delayed.services?.readiness).toMatchObject({ periodMs: 4_000, failureThreshold: 6 })
  })
})
