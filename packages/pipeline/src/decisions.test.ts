/** What the published language leaves open or says twice, as decided (pipeline language, section 13). */
import { describe, expect, test } from 'vitest'
import { messagesOf, oneStep, planOf, problemsOf } from '../test/documents.ts'
import { compile } from './compile.ts'
import { readPipelineDocument } from './pipeline-document.ts'

describe('decisions', () => {
  test('13.1: git of a clone is optional', () => {
    expect(problemsOf(oneStep('type: git-clone', 'repo: a/b'))).toEqual([])
  })

  test('13.2: exclude_blob and exclude_blobs are the same', () => {
    for (const name of ['exclude_blob', 'exclude_blobs'])
      expect(planOf(oneStep('type: git-clone', 'repo: a/b', `${name}: true`)).steps[0]?.action).toMatchObject({
        excludeBlobs: true,
      })
  })

  test('13.3: a delay below five seconds is five, with a warning', () => {
    const text = oneStep('image: x', 'retry: { maxAttempts: 2, delay: 3 }')
    expect(planOf(text).steps[0]?.retry.delayMs).toBe(5_000)
    expect(problemsOf(text)).toEqual(['5:37 warning retry-range "delay" must be from 5 to 60; 5 is used. Current value: 3'])
  })

  test('13.7: working-directory and workingDirectory are both members of a step', () => {
    for (const member of ['working-directory', 'workingDirectory', 'working_directory'])
      expect(
        problemsOf(
          `version: 1\nsteps:\n  a: { image: x }\n  b: { image: x, when: { condition: { all: { c: "Member('a', '${member}') == '/x'" } } } }\n`,
        ),
      ).toEqual([])
  })

  test('13.8: a failed step has the result failure; error is never true and worth a warning', () => {
    const text = (word: string): string =>
      `version: 1\nsteps:\n  a: { image: x }\n  b: { image: x, when: { condition: { all: { c: "steps.a.result == '${word}'" } } } }\n`
    expect(messagesOf(text('failure'))).toEqual([])
    expect(messagesOf(text('error'))).toEqual(['a result is never "error"'])
  })

  test('13.9: root services go to every step, and steps may list them by name as well', () => {
    const text = (name: string): string =>
      `version: 1\nservices: { name: db, composition: { pg: { image: postgres } } }\nsteps:\n  a: { image: x, services: [${name}] }\n  b: { image: x }\n`
    expect(planOf(text('db'))).toMatchObject({
      services: { name: 'db', compose: { inline: { services: { pg: { image: 'postgres' } } } } },
      steps: [{ services: ['db'] }, { name: 'b' }],
    })
    expect(problemsOf(text('bd'))).toEqual(['4:29 warning unknown-service there are no root services "bd"'])
    expect(planOf(text('"${{NAME}}"')).steps[0]?.services).toEqual(['${{NAME}}'])
  })

  test('13.10: an approval that nobody decides ends as terminated', () => {
    expect(planOf(oneStep('type: pending-approval')).steps[0]?.action).toMatchObject({ finalState: 'terminated' })
  })

  test('13.11: a composition may be empty, its candidates run alone', () => {
    expect(
      planOf(oneStep('type: composition', 'composition: {}', 'composition_candidates: { a: { image: x } }')).steps[0]?.action,
    ).toMatchObject({ compose: { inline: {} }, candidates: { a: { image: 'x' } } })
  })

  test('13.12: inline is no location: a document without specTemplate is inline', () => {
    const text = (location: string): string =>
      `kind: pipeline\nmetadata: { name: a }\nspec: { specTemplate: { location: ${location}, url: http://x/y.yml } }\n`
    const read = (location: string): readonly string[] =>
      readPipelineDocument({ text: text(location), file: 'x' }).problems.map(({ message }) => message)
    expect(read('url')).toEqual([])
    expect(read('inline')).toEqual(['"location" must be one of [url, git]. Current value: inline'])
  })

  test('13.13: annotation in the singular is refused with a suggestion, beside exec and alone', () => {
    for (const value of ['{ annotation: { set: [] } }', '{ exec: [echo], annotation: { set: [] } }']) {
      const { problems } = compile({ text: oneStep('image: x', `hooks: { on_fail: ${value} }`), file: 'x' })
      expect(problems.map(({ code, message, suggestion }) => [code, message, suggestion])).toEqual([
        ['unknown-key', '"annotation" is not allowed. Did you mean "annotations"?', { from: 'annotation', to: 'annotations' }],
      ])
    }
  })

  test('13.15: strict_fail_fast stands on steps, on groups and at the root', () => {
    const plan = planOf(
      'version: 1\nstrict_fail_fast: true\nsteps:\n  a: { image: x, fail_fast: false, strict_fail_fast: true }\n  g: { type: parallel, fail_fast: false, strict_fail_fast: true, steps: { b: { image: x } } }\n',
    )
    expect([plan.strictFailFast, ...plan.steps.map(({ strictFailFast }) => strictFailFast)]).toEqual([true, true, true, false])
  })

  test('13.17: conditions that slipped out of their place are told, not ignored', () => {
    const told = (...lines: string[]): string[] =>
      problemsOf(`version: 1\nsteps:\n${lines.map((line) => `  ${line}\n`).join('')}`)
    expect(told('a: { image: x, arguments: { when: { branch: { only: [main] } } } }')).toEqual([
      '3:31 error not-allowed "when" is not allowed inside "arguments"',
    ])
    expect(told('a: { image: x }', 'when: { condition: { all: { b: 1 == 1 } } }')).toEqual([
      '4:3 error not-allowed "when" stands among the steps, where it has no effect',
    ])
    expect(told('a: { image: x }', 'condition: { all: { b: 1 == 1 } }')).toEqual([
      '4:3 error not-allowed "condition" stands among the steps, where it has no effect',
    ])
    expect(told('a: { image: x, condition: { all: { b: 1 == 1 } } }')).toEqual([
      '3:18 error not-allowed "condition" stands outside of "when", where it has no effect',
    ])
    expect(told('a: { type: build, image_name: x, branch: { only: [main] } }')).toEqual([
      '3:36 error not-allowed "branch" stands outside of "when", where it has no effect',
    ])
    expect(told('p: { type: parallel, steps: { a: { image: x }, when: { steps: [{ name: a }] } } }')).toEqual([
      '3:50 error not-allowed "when" stands among the steps, where it has no effect',
    ])
    expect(told('a: { image: x, branch: main }')).toEqual([
      '3:18 warning unknown-key "branch" is no field of freestyle steps and has no effect',
    ])
    expect(told('when: { image: x }')).toEqual([])
  })

  test('13.18: variables of services are a list or a mapping', () => {
    for (const variables of ['[A=1, B=x]', '{ A: 1, B: x }']) {
      const plan = planOf(`version: 1\nservices: { composition: {}, composition_variables: ${variables} }\nsteps: {}\n`)
      expect(plan.services?.variables).toEqual(['A=1', 'B=x'])
    }
  })

  test('13.19: a variable without quotes compares with a text', () => {
    expect(problemsOf(oneStep('image: x', 'when:', '  condition: { all: { skip: "${{SKIP}} == \'true\'" } }'))).toEqual([])
  })

  test('13.24: wrong expressions, unknown functions, circles and unknown steps are found before anything runs', () => {
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
    ).toEqual(['steps wait for each other in a circle: a -> b -> a'])
  })
})

describe('services', () => {
  test('a compose document, services alone, a path and a stored composition', () => {
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

  test('stand beside freestyle, parallel and typed steps; older types have a field of that name with another meaning', () => {
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

  test('readiness has the published defaults, setup its commands', () => {
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
