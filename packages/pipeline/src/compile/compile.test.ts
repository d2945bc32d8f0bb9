import { describe, expect, test } from 'vitest'
import { messagesOf, oneStep, planOf, problemsOf } from '../../test/documents.ts'
import { compile } from './compile.ts'

describe('a valid document', () => {
  const text = `version: '1.0'
stages: [prepare, test]
steps:
  main_clone:
    type: git-clone
    stage: prepare
    repo: me/app
    revision: \${{CF_REVISION}}
    git: github
    depth: '5'
  unit:
    title: Unit tests
    stage: test
    image: node:24
    shell: bash
    commands:
      - npm ci
      - |-
        npm test
        echo done
    environment: [CI=true]
    volumes: ['./cache:/cache']
    fail_fast: false
    strict_fail_fast: true
    timeout: 10m
    retry: { maxAttempts: 3, delay: 10, exponentialFactor: 2 }
    when:
      branch: { only: [main, /^rel/i] }
      condition:
        any: { fresh: 'steps.main_clone.result == "success"' }
      steps:
        - name: main_clone
  image:
    type: build
    image_name: me/app
    tag: one
    tags: [two, one]
    dockerfile: { content: FROM alpine }
    build_arguments: [A=1]
    progress: plain
  publish:
    type: push
    candidate: \${{image}}
    registry: hub
    credentials: { username: u, password: '\${{P}}' }
`

  test('becomes a plan with all its steps in order and all their fields', () => {
    const plan = planOf(text)
    expect(plan).toMatchObject({
      planVersion: 1,
      mode: 'serial',
      stages: ['prepare', 'test'],
      failFast: true,
      strictFailFast: false,
      variables: [],
    })
    expect(plan.steps.map(({ name, after, stage }) => [name, after, stage])).toEqual([
      ['main_clone', [], 'prepare'],
      ['unit', ['main_clone'], 'test'],
      ['image', ['unit'], undefined],
      ['publish', ['image'], undefined],
    ])
    const [clone, unit, image, push] = plan.steps
    expect(clone?.action).toMatchObject({
      kind: 'git-clone',
      repo: 'me/app',
      revision: '${{CF_REVISION}}',
      git: 'github',
      depth: 5,
      useProxy: false,
    })
    expect(unit).toMatchObject({
      title: 'Unit tests',
      failFast: false,
      strictFailFast: true,
      timeout: '10m',
      retry: { maxAttempts: 3, delayMs: 10_000, factor: 2 },
      position: { line: 11, column: 3 },
      when: {
        branch: { only: ['main', '/^rel/i'] },
        condition: { any: { fresh: 'steps.main_clone.result == "success"' } },
        steps: { match: 'all', of: [{ name: 'main_clone', on: ['success'] }] },
      },
      action: {
        kind: 'freestyle',
        image: 'node:24',
        shell: 'bash',
        commands: ['npm ci', 'npm test\necho done'],
        environment: ['CI=true'],
        volumes: ['./cache:/cache'],
      },
    })
    expect(image?.action).toMatchObject({
      tags: ['one', 'two'],
      dockerfile: { content: 'FROM alpine' },
      buildArguments: ['A=1'],
      buildkit: true,
      progress: 'plain',
      tagPolicy: 'lowercase',
    })
    expect(push?.action).toMatchObject({
      candidate: '${{image}}',
      registry: 'hub',
      tags: ['latest'],
      credentials: { username: 'u', password: '${{P}}' },
    })
  })

  test('always compiles to the same plan, which is JSON', () => {
    const plan = planOf(text)
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan)
    expect(planOf(text)).toEqual(plan)
  })

  test('passes the given variables to the plan', () => {
    const layer = { level: 'build', variables: { A: { value: '1' } } } as const
    expect(compile({ text, file: 'x' }, { variables: [layer] }).plan?.variables).toEqual([layer])
  })
})

test('accepts CRLF line ends, a byte order mark and YAML 1.1 rules', () => {
  const text = oneStep('image: alpine', 'commands:', '  - |', '    one', '    two', 'title: 2001-01-01')
  const expected = planOf(text)
  expect(planOf(text.replaceAll('\n', '\r\n'))).toEqual(expected)
  expect(planOf(`\ufeff${text}`)).toEqual(expected)
  expect(planOf(`%YAML 1.1\n---\n${text}`).steps[0]).toMatchObject({ title: '2001-01-01' })
})

test('treats a step without a type as freestyle', () => {
  expect(planOf(oneStep('image: alpine')).steps[0]?.action.kind).toBe('freestyle')
})

test('accepts a document without steps', () => {
  expect(planOf('version: 1.0\nsteps: {}\n').steps).toEqual([])
})

test('steps inherit fail_fast from the root', () => {
  const plan = planOf('version: 1\nfail_fast: no\nsteps:\n  a: { image: x }\n  b: { image: x, fail_fast: "${{FF}}" }\n')
  expect(plan.steps.map(({ failFast }) => failFast)).toEqual([false, '${{FF}}'])
})

test('keeps stages and rejects an unknown stage with a suggestion (P094)', () => {
  expect(planOf('version: 1\nstages: [one]\nsteps:\n  a: { image: x, stage: one }\n').steps[0]?.stage).toBe('one')
  expect(problemsOf('version: 1\nstages: [one]\nsteps:\n  a: { image: x, stage: onee }\n')).toEqual([
    '4:25 error unknown-stage "stage" must be one of [one]. Current value: onee. Did you mean "one"?',
  ])
  expect(messagesOf(oneStep('image: x', 'stage: one'))).toEqual(['"stage" must be one of []. Current value: one'])
})

test('accepts aliases, and reports an alias next to its field as a conflict (P187)', () => {
  const plan = planOf(`version: '1.0'
steps:
  build_it:
    type: build
    image-name: me/app
    working-directory: ./src
    build-arguments: [A=1]
    tag-policy: original
    fail-fast: false
  run_it:
    image: x
    working-directory: ./src
    failFast: false
  clone_it:
    type: git-clone
    repo: a/b
    exclude_blob: true
`)
  expect(plan.steps[0]).toMatchObject({
    failFast: false,
    action: { imageName: 'me/app', workingDirectory: './src', buildArguments: ['A=1'], tagPolicy: 'original' },
  })
  expect(plan.steps[1]).toMatchObject({ failFast: false, action: { workingDirectory: './src' } })
  expect(plan.steps[2]?.action).toMatchObject({ excludeBlobs: true })
  expect(messagesOf(oneStep('image: x', 'fail_fast: true', 'fail-fast: true'))).toEqual([
    '"fail-fast" is an alias of "fail_fast", which is set too',
  ])
})

test('supports anchors, aliases, merge keys and indicators anywhere (P188)', () => {
  const plan = planOf(`version: '1.0'
indicators:
  - &base
    image: alpine
    environment: &env [A=1]
    retry: { maxAttempts: 2 }
  - &shell { shell: bash, image: other }
steps:
  one:
    <<: *base
    commands: [echo 1]
  two:
    <<: [*shell, *base]
    environment: *env
    image: own
`)
  expect(plan.steps[0]).toMatchObject({
    retry: { maxAttempts: 2 },
    action: { image: 'alpine', environment: ['A=1'], commands: ['echo 1'] },
  })
  expect(plan.steps[1]?.action).toMatchObject({ image: 'own', shell: 'bash', environment: ['A=1'] })
})

test('accepts the fields of a type inside arguments', () => {
  const plan = planOf(oneStep('type: build', 'arguments:', '  image-name: me/app', '  target: prod'))
  expect(plan.steps[0]?.action).toMatchObject({ imageName: 'me/app', target: 'prod' })
})

test('accepts common fields inside arguments, and those of the step take precedence', () => {
  const both = oneStep(
    'image: x',
    'title: Own',
    'arguments:',
    '  image: y',
    '  fail_fast: false',
    '  when: { branch: { only: [main] } }',
  )
  expect(planOf(both).steps[0]).toMatchObject({
    title: 'Own',
    action: { image: 'x' },
    failFast: false,
    when: { branch: { only: ['main'] } },
  })
  expect(problemsOf(both)).toEqual(['7:7 warning conflict "image" is also set on the step, which takes precedence'])
})

test('reports all problems at once, each with position, path and hint', () => {
  const { plan, problems } = compile({
    file: 'bad.yml',
    text: `version: '2.0'
stags: [a]
steps:
  a.b:
    image: x
  build:
    type: build
    tag: 1.0
    dockerfil: x
  push:
    type: push
`,
  })
  expect(plan).toBeUndefined()
  expect(problems.map(({ line, column, code, path, message }) => `${line}:${column} ${code} ${path} ${message}`)).toEqual([
    '1:10 unknown-version version Current version: 2.0 is invalid. please change version to 1.0',
    '2:1 unknown-key stags "stags" is not allowed. Did you mean "stages"?',
    '4:3 step-name steps.a.b step name cannot contain ".", "#", "$", "[", or "]". Current value: a.b',
    '6:3 required steps.build.image_name "image_name" is required',
    '8:10 wrong-type steps.build.tag "tag" must be a string. Current value: 1.0',
    '9:5 unknown-key steps.build.dockerfil "dockerfil" is not allowed. Did you mean "dockerfile"?',
    '10:3 required steps.push.candidate "candidate" is required',
  ])
  expect(problems[4]).toMatchObject({ file: 'bad.yml', hint: 'Put it in quotes: "1.0".', endLine: 8, endColumn: 13 })
  expect(problems[5]?.suggestion).toEqual({ from: 'dockerfil', to: 'dockerfile' })
})

describe('when', () => {
  const condition = (expression: string): string =>
    `version: 1\nsteps:\n  one: { image: x }\n  it:\n    image: x\n    when:\n      condition:\n        all:\n          check: ${expression}\n`

  test('reports an invalid expression at its position in the document', () => {
    expect(problemsOf(condition("steps.one.result = 'success'"))).toEqual([
      '9:35 error expression invalid expression: unexpected character "="',
    ])
    expect(problemsOf(condition("\"'a' == lowr('A')\""))).toEqual([
      '9:26 error expression invalid expression: unknown function lowr(). Did you mean lower()?',
    ])
    expect(problemsOf(condition("'''it'' == it'"))).toEqual([
      "9:29 error expression invalid expression: unknown name \"it\"; write 'it' for a string or Variable('it') for a variable",
    ])
    expect(problemsOf(condition("|-\n            'a' ==\n            'b' +"))).toEqual([
      '11:18 error expression invalid expression: unexpected end of expression',
    ])
  })

  test('reports missing steps, the step itself and later steps', () => {
    expect(problemsOf(condition("steps.oen.result == 'success'"))).toEqual([
      '9:18 error unknown-step step "oen" does not exist. Did you mean "one"?',
    ])
    expect(problemsOf(condition("it.result == 'success'"))).toEqual(['9:18 error unknown-step step "it" refers to itself'])
    const later =
      'version: 1\nsteps:\n  a:\n    image: x\n    when:\n      steps: [{ name: b, on: [success] }, { name: c }]\n  b: { image: x }\n'
    expect(problemsOf(later)).toEqual([
      '6:23 warning later-step step "b" runs later, so it is still pending here',
      '6:51 warning unknown-step step "c" does not exist, so the condition is never met',
    ])
  })

  test('warns about comparing a result with a value that it never has', () => {
    expect(problemsOf(condition("steps.one.result == 'finished' || '${{steps.one.result}}' == 'x'"))).toEqual([
      '9:18 warning never-true a step result is never "finished"',
    ])
    expect(problemsOf(condition("${{steps.one.result}} != 'error'"))).toEqual([
      '9:18 warning never-true a step result is never "error"',
    ])
  })

  test('reports an invalid branch pattern', () => {
    expect(problemsOf(oneStep('image: x', 'when:', '  branch: { only: ["/(/", "/(a)\\\\1/", ok] }'))).toEqual([
      '6:24 error pattern invalid regular expression: /(/: Unterminated group',
      '6:31 error pattern invalid regular expression: back-references are not supported',
    ])
  })

  test('steps is a list, all or any, but not all and any', () => {
    const steps = (text: string): string[] =>
      messagesOf(`version: 1\nsteps:\n  one: { image: x }\n  it:\n    image: x\n    when: { steps: ${text} }\n`)
    expect(steps('[{ name: one, on: [finished] }]')).toEqual([])
    expect(steps('{ any: [{ name: one }] }')).toEqual([])
    expect(steps('{ all: [{ name: one }], any: [{ name: one }] }')).toEqual(['"all" conflict with forbidden peer "any"'])
    expect(steps('{}')).toEqual(['"steps" must contain "all" or "any"'])
    expect(steps('[]')).toEqual(['"steps" must contain at least 1 items'])
    expect(steps('[{ name: one, on: [done] }]')).toEqual([
      '"on[0]" must be one of [success, running, failure, skipped, pending, terminating, terminated, finished, approved, denied]. Current value: done',
    ])
  })
})

describe('references to steps', () => {
  test('an unknown step is an error in working_directory and a warning elsewhere', () => {
    expect(
      problemsOf(
        oneStep('image: x', 'working_directory: ${{steps.clon.workingDirectory}}', 'commands: ["echo ${{steps.nope.result}}"]'),
      ),
    ).toEqual(['5:24 error unknown-step step "clon" does not exist', '6:16 warning unknown-step step "nope" does not exist'])
  })
})

test('reports a misaligned key as such, not as a text that needs quotes', () => {
  const text = "version: '1.0'\nsteps:\n  a:\n    image: x\n   commands:\n   - echo\n"
  const [problem] = compile({ text, file: 'test.yml' }).problems
  expect(problem).toMatchObject({ code: 'yaml-syntax', line: 5, hint: expect.stringContaining('same column') })
})

test('keeps errors that come after more warnings than are kept', () => {
  const warned = Array.from({ length: 600 }, (_, n) => `unknown${n}: 1`).join(', ')
  const text = `version: 1\nsteps:\n  a: { image: x, ${warned} }\n  b: { shell: fish }\n`
  const { plan, problems } = compile({ text, file: 'f' })
  expect(plan).toBeUndefined()
  expect(problems).toHaveLength(500)
  expect(problems.filter(({ severity }) => severity === 'error').map(({ line, path }) => `${line} ${path}`)).toEqual([
    '4 steps.b.image',
    '4 steps.b.shell',
  ])
})
