import { describe, expect, test } from 'vitest'
import { messagesOf, oneStep, problemsOf } from '../test/documents.ts'

/** Returns errors and warnings of a step with these fields in addition to an image. */
function freestyle(...lines: string[]): string[] {
  return messagesOf(oneStep('image: x', ...lines))
}

/** Returns those of a document with this root key. */
function root(line: string): string[] {
  return messagesOf(`version: 1\n${line}\nsteps: {}\n`)
}

test('requires version 1.0 in one of its spellings (P174, V01)', () => {
  for (const version of ['1.0', '1', "'1'", "'1.0'"]) expect(messagesOf(`version: ${version}\nsteps: {}\n`)).toEqual([])
  expect(messagesOf('steps: {}\n')).toEqual(['"version" is required'])
  for (const version of ['2', '-1', 'one', '"1.1"'])
    expect(messagesOf(`version: ${version}\nsteps: {}\n`)).toEqual([
      `Current version: ${version.replaceAll('"', '')} is invalid. please change version to 1.0`,
    ])
  expect(messagesOf('version: []\nsteps: {}\n')).toEqual(['Current version: an object is invalid. please change version to 1.0'])
})

test('requires steps to be a mapping of mappings (P174, V02)', () => {
  expect(messagesOf('version: 1\n')).toEqual(['"steps" is required'])
  expect(messagesOf('version: 1\nsteps: [a]\n')).toEqual(['"steps" must be an object'])
  expect(problemsOf('version: 1\nsteps:\n  a:\n  image: x\n')).toEqual([
    '3:3 error wrong-type "a" must be an object',
    '4:3 error wrong-type "image" must be an object',
  ])
  expect(messagesOf('version: 1\nsteps: {}\n')).toEqual([])
})

test('rejects unknown root keys (P174, V03)', () => {
  expect(root('foobarbaz: 1')).toEqual(['"foobarbaz" is not allowed'])
  expect(problemsOf('version: 1\nstage: [a]\nsteps: {}\n')).toEqual([
    '2:1 error unknown-key "stage" is not allowed. Did you mean "stages"?',
  ])
})

test('requires mode to be sequential or parallel (P174, V04)', () => {
  for (const mode of ['sequential', 'parallel']) expect(root(`mode: ${mode}`)).toEqual([])
  expect(root('mode: serial')).toEqual(['"mode" must be one of [sequential, parallel]. Current value: serial'])
  expect(root('mode: []')).toEqual(['"mode" must be one of [sequential, parallel]'])
})

test('requires build_version to be v1 or v2 (P174, V05)', () => {
  for (const version of ['v1', 'v2']) expect(root(`build_version: ${version}`)).toEqual([])
  expect(root('build_version: v3')).toEqual(['"build_version" must be one of [v1, v2]. Current value: v3'])
})

test('requires stages to be a list of strings (P174, V06)', () => {
  expect(root('stages: [a, b]')).toEqual([])
  expect(root('stages: one')).toEqual(['"stages" must be an array. Current value: one'])
  expect(root('stages: [1]')).toEqual(['"stages[0]" must be a string. Current value: 1'])
})

test('requires the stage of a step to be one of the stages, none by default (P174, V07)', () => {
  const staged = (stages: string, stage: string): string[] =>
    messagesOf(`version: 1\n${stages}\nsteps:\n  a: { image: x, stage: ${stage} }\n`)
  expect(staged('stages: [test, build]', 'build')).toEqual([])
  expect(staged('stages: [test, build]', 'biuld')).toEqual([
    '"stage" must be one of [test, build]. Current value: biuld. Did you mean "build"?',
  ])
  expect(staged('indicators: []', 'test')).toEqual(['"stage" must be one of []. Current value: test'])
})

test('requires services to be an object (P174, V08)', () => {
  expect(root('services: []')).toEqual(['"services" must be an object'])
  expect(root('services: { name: s, composition: { db: { image: d } } }')).toEqual([])
})

test('requires indicators to be a list (P174, V09)', () => {
  expect(root('indicators: [{ a: &a b }]')).toEqual([])
  expect(root('indicators: {}')).toEqual(['"indicators" must be an array'])
})

test('rejects forbidden characters in step names, with one error for each name (P174, V10)', () => {
  for (const name of ['a.b', 'a#b', 'a$b', 'a[b', 'a]b']) {
    expect(messagesOf(`version: 1\nsteps:\n  "${name}": { image: x }\n`)).toEqual([
      `step name cannot contain ".", "#", "$", "[", or "]". Current value: ${name}`,
    ])
  }
  expect(messagesOf('version: 1\nsteps:\n  "a b-c_1": { image: x }\n')).toEqual([])
  expect(messagesOf('version: 1\nsteps:\n  a.b: { image: x }\n  c.d: { image: x }\n')).toHaveLength(2)
})

test('reports each duplicate step name in the whole document (P174, V11)', () => {
  expect(problemsOf('version: 1\nsteps:\n  a: { image: x }\n  a: { image: y }\n')).toEqual([
    '4:3 error duplicate-key duplicate key "a"',
  ])
  const nested = `version: 1
steps:
  a: { image: x }
  group:
    type: parallel
    steps:
      a: { image: x }
      inner:
        type: parallel
        steps:
          a: { image: x }
          group: { image: x }
`
  expect(problemsOf(nested)).toEqual([
    '7:7 error duplicate-step step name exist more than once. Current value: a',
    '11:11 error duplicate-step step name exist more than once. Current value: a',
    '12:11 error duplicate-step step name exist more than once. Current value: group',
  ])
})

test('limits step names to 150 characters (P174, V12)', () => {
  const named = (length: number): string[] => messagesOf(`version: 1\nsteps:\n  ${'x'.repeat(length)}: { image: x }\n`)
  expect(named(150)).toEqual([])
  expect(named(151)).toEqual(['step name length is limited to 150'])
})

test('accepts the four moments of hooks only (P174, V13)', () => {
  for (const moment of ['on_elected', 'on_success', 'on_fail', 'on_finish']) {
    expect(root(`hooks: { ${moment}: [echo] }`)).toEqual([])
    expect(freestyle(`hooks: { ${moment}: [echo] }`)).toEqual([])
  }
  expect(root('hooks: { on_something: [echo] }')).toEqual(['"on_something" is not allowed'])
  expect(freestyle('hooks: { on_start: [echo] }')[0]).toContain('"on_start" is not allowed')
  expect(root('hooks: [echo]')).toEqual(['"hooks" must be an object'])
})

test('checks the forms of hooks and the forbidden fields of their steps (P174, V14)', () => {
  const hook = (value: string): string[] => root(`hooks: { on_finish: ${value} }`)
  for (const shape of [
    '[echo]',
    '{ exec: [echo] }',
    '{ exec: [echo], annotations: { set: [{ annotations: [{ a: 1 }] }] } }',
    '{ exec: { image: x, commands: [echo] } }',
    '{ image: x, commands: [echo] }',
    '{ steps: { h: { image: x } }, mode: parallel, fail_fast: false }',
    '{ exec: { steps: { h: { image: x } } } }',
    '{ exec: { type: git-clone, repo: a/b } }',
    '{ annotations: { set: [{ annotations: [a] }] } }',
  ])
    expect(hook(shape), shape).toEqual([])
  for (const key of ['debug: {}', 'hooks: {}', 'stage: s', 'on_start: {}', 'on_finish: {}', 'on_fail: {}', 'on_success: {}']) {
    const name = key.slice(0, key.indexOf(':'))
    expect(hook(`{ exec: { image: x, ${key} } }`)[0], key).toContain(`"${name}" is not allowed`)
    expect(hook(`{ steps: { h: { image: x, ${key} } } }`)[0], key).toContain(`"${name}" is not allowed`)
  }
  for (const key of ['type: freestyle', 'image: x'])
    expect(hook(`{ steps: { h: { image: x } }, ${key} }`)[0]).toContain(`"${key.split(':')[0]}" is not allowed`)
  expect(hook('5')).toHaveLength(1)
  expect(hook('{ exec: [echo], annotation: {} }')[0]).toContain('Did you mean "annotations"?')
})

test('rejects on_success, on_fail and on_finish next to hooks (P174, V15)', () => {
  const both = freestyle('on_success: { annotations: { set: [{ annotations: [a] }] } }', 'hooks: { on_success: [echo] }')
  expect(both).toEqual(['Either old "on_success/on_fail/on_finish" or new "hooks" should be used'])
  const one = freestyle('on_fail: { annotations: { set: [{ annotations: [a] }] } }')
  expect(one).toEqual([])
})

test('checks the forms of when (P174, V16)', () => {
  expect(freestyle('when: { brunch: {} }')).toEqual(['"brunch" is not allowed. Did you mean "branch"?'])
  expect(freestyle('when: { branch: { on: [a] } }')).toEqual(['"on" is not allowed. Did you mean "only"?'])
  expect(freestyle('when: { branch: { only: main } }')).toEqual(['"only" must be an array. Current value: main'])
  expect(freestyle('when: { condition: { or: {} } }')).toEqual(['"or" is not allowed'])
  expect(freestyle('when: []')).toEqual(['"when" must be an object'])
  expect(freestyle("when: { condition: { all: { a: '1 == 1' }, any: { b: 'true' } }, branch: { ignore: ['/x/i'] } }")).toEqual([])
})

test('limits labels of conditions to letters, digits and underscores (P174, V17)', () => {
  expect(freestyle('when: { condition: { all: { a_1: "1 == 1" } } }')).toEqual([])
  for (const label of ['a-b', 'a b', 'a.b'])
    expect(freestyle(`when: { condition: { all: { "${label}": "1 == 1" } } }`)).toEqual([
      `"${label}" can only contain letters, digits and "_"`,
    ])
})

test('requires when.steps to have either all or any (P174, V18)', () => {
  const when = (steps: string): string[] =>
    messagesOf(`version: 1\nsteps:\n  a: { image: x }\n  b: { image: x, when: { steps: ${steps} } }\n`)
  for (const steps of ['[{ name: a }]', '{ all: [{ name: a }] }', '{ any: [{ name: a, on: [success] }] }'])
    expect(when(steps)).toEqual([])
  expect(when('{ all: [{ name: a }], any: [{ name: a }] }')).toEqual(['"all" conflict with forbidden peer "any"'])
  expect(when('{}')).toEqual(['"steps" must contain "all" or "any"'])
  expect(when('{ all: [], one: 1 }')).toEqual(['"all" must contain at least 1 items', '"one" is not allowed'])
})

test('requires on to be a non-empty list of states (P174, V19)', () => {
  const on = (states: string): string[] =>
    messagesOf(`version: 1\nsteps:\n  a: { image: x }\n  b: { image: x, when: { steps: [{ name: a, on: ${states} }] } }\n`)
  expect(on('[success, failure, skipped, pending, terminating, terminated, finished, approved, denied, running]')).toEqual([])
  expect(on('[]')).toEqual(['"on" must contain at least 1 items'])
  expect(on('[succes]')[0]).toMatch(/^"on\[0\]" must be one of \[.*\]\. Current value: succes\. Did you mean "success"\?$/)
  expect(on('success')).toEqual(['"on" must be an array. Current value: success'])
})

test('requires positive retry numbers and moves them into their ranges with a warning (P174, V20)', () => {
  expect(freestyle('retry: { maxAttempts: 0 }')).toEqual(['"maxAttempts" must be a positive number. Current value: 0'])
  expect(freestyle('retry: { delay: -1 }')).toEqual(['"delay" must be a positive number. Current value: -1'])
  expect(freestyle('retry: { exponentialFactor: two }')).toEqual(['"exponentialFactor" must be a number. Current value: two'])
  expect(freestyle("retry: { maxAttempts: '3', delay: '7.5' }")).toEqual([])
  expect(problemsOf(oneStep('image: x', 'retry: { maxAttempts: 99, delay: 3 }'))).toEqual([
    '5:27 warning retry-range "maxAttempts" must be between 1 and 10; 10 is used. Current value: 99',
    '5:38 warning retry-range "delay" must be between 5 and 60; 5 is used. Current value: 3',
  ])
})

test('warns about an invalid timeout on all types except pending-approval and deploy (P174, V21)', () => {
  for (const timeout of ['90s', '.5h', '1.m', '0s', 'null', "'${{T}}'"]) expect(freestyle(`timeout: ${timeout}`)).toEqual([])
  expect(problemsOf(oneStep('image: x', 'timeout: 5'))).toEqual([
    '5:14 warning timeout-ignored "timeout" must be a string. Current value: 5',
  ])
  expect(freestyle('timeout: 5 days')).toEqual(['"timeout" must be a number followed by s, m or h. Current value: 5 days'])
  expect(problemsOf(oneStep('type: pending-approval', 'timeout: 5m'))[0]).toContain(
    'error wrong-type "timeout" must be an object',
  )
  const deploy = ['type: deploy', 'kind: kubernetes', 'cluster: c', 'namespace: n', 'service: s']
  expect(problemsOf(oneStep(...deploy, "timeout: '300'"))).toEqual([])
  expect(problemsOf(oneStep(...deploy, 'timeout: 5m'))[0]).toContain('error invalid-value "timeout" must be a number of seconds')
})

test('requires strict_fail_fast to be a real boolean or one variable (P174, V22)', () => {
  for (const flag of ['true', 'false', "'${{FF}}'"]) {
    expect(freestyle(`strict_fail_fast: ${flag}`)).toEqual([])
    expect(root(`strict_fail_fast: ${flag}`)).toEqual([])
  }
  for (const flag of ["'true'", '0', "''", 'text', '{}', 'null', '[]', '42', '"a ${{FF}}"']) {
    expect(freestyle(`strict_fail_fast: ${flag}`)).toHaveLength(1)
    expect(root(`strict_fail_fast: ${flag}`)).toHaveLength(1)
  }
})

test('requires fail_fast to be a boolean or a variable on steps, and also accepts texts and objects at the root (P174, V23)', () => {
  for (const flag of ['true', 'Yes', "'off'", '1', "'0'", "'${{FF}}'"]) expect(freestyle(`fail_fast: ${flag}`)).toEqual([])
  for (const flag of ['42', 'maybe', '"a ${{FF}}"', '[]', '{}']) expect(freestyle(`fail_fast: ${flag}`)).toHaveLength(1)
  for (const flag of ['false', "'${{FF}}'"]) expect(root(`fail_fast: ${flag}`)).toEqual([])
  for (const flag of ['maybe', '{}'])
    expect(problemsOf(`version: 1\nfail_fast: ${flag}\nsteps: {}\n`).join()).not.toContain('error')
})

test('accepts both forms of docker_machine without effect (P174, V24)', () => {
  expect(freestyle('docker_machine: { create: { provider: p } }')).toEqual([])
  expect(freestyle('docker_machine: { use: { node: n } }')).toEqual([])
  expect(freestyle('docker_machine: { make: {} }')).toEqual(['"make" is not allowed'])
  expect(freestyle('docker_machine: yes please')).toEqual(['"docker_machine" must be an object. Current value: yes please'])
})

test('requires user name and password in credentials (P174, V25)', () => {
  for (const type of ['type: git-clone\n    repo: a/b', 'type: push\n    candidate: a']) {
    expect(messagesOf(oneStep(type, 'credentials: { username: u }'))).toEqual(['"password" is required'])
    expect(messagesOf(oneStep(type, 'credentials: {}'))).toEqual(['"username" is required', '"password" is required'])
    expect(messagesOf(oneStep(type, 'credentials: me'))).toEqual(['"credentials" must be an object. Current value: me'])
  }
})

test('rejects unquoted numbers in string fields (P174, V26)', () => {
  expect(freestyle('title: 5')).toEqual(['"title" must be a string. Current value: 5'])
  expect(freestyle('description: []')).toEqual(['"description" must be a string'])
  expect(freestyle('working_directory: {}')).toEqual(['"working_directory" must be a string'])
  expect(messagesOf(oneStep('image: 1.5'))).toEqual(['"image" must be a string. Current value: 1.5'])
  expect(messagesOf(oneStep('image: ""'))).toEqual(['"image" is not allowed to be empty'])
  expect(messagesOf(oneStep('type: build', 'image_name: x', 'tag: 1.0'))).toEqual(['"tag" must be a string. Current value: 1.0'])
})

test('checks the forms of annotations and metadata (P174, V27)', () => {
  const after = (fields: string): string[] => freestyle(`on_success: ${fields}`)
  const set = (entries: string): string[] => after(`{ annotations: { set: [{ entity_type: build, annotations: ${entries} }] } }`)
  expect(set("[a, { b: text }, { c: true }, { d: 5 }, { e: { evaluate: '1 == 1' } }]")).toEqual([])
  expect(after('{ annotations: { put: [] } }')).toEqual(['"put" is not allowed'])
  expect(after('{ annotations: { set: {} } }')).toEqual(['"set" must be an array'])
  expect(after('{ metadata: { put: [] } }')[0]).toContain('"put" is not allowed')
  expect(after("{ metadata: { set: [{ '${{it}}': { A: 1 } }] } }")).toHaveLength(1)
  expect(after("{ metadata: { set: [{ '${{it.imageId}}': [{ A: 1 }] }] } }")).toEqual([])
  expect(set('[{ a-b: 1 }]')).toHaveLength(1)
  expect(set('[{ a: [] }]')).toHaveLength(1)
  expect(after('{ annotations: { set: [{ annotations: [a], display: a }] } }')).toEqual([])
  expect(after('{ annotations: { unset: [{ annotations: [a], display: a }] } }')).toEqual(['"display" is not allowed'])
})

test('warns about missing and invalid versions of typed steps (P174, V28)', () => {
  const version = (type: string): string[] =>
    problemsOf(oneStep(`type: ${type}`)).filter((problem) => problem.includes('step-version'))
  expect(version("'my/greet:1.2.3-rc.1+5'")).toEqual([])
  expect(version('my/greet')).toEqual([
    '4:11 warning step-version Step version not specified. The latest version will be used, which may result in breaking changes.',
  ])
  expect(version("'my/greet:1.2'")).toEqual(['4:11 warning step-version Invalid semantic version "1.2" for step.'])
  expect(version("'my/greet:${{V}}'")).toEqual([])
  expect(version('freestyle')).toEqual([])
})

test('accepts an unknown type with a warning and rejects a misspelled one (P174, V29)', () => {
  expect(problemsOf(oneStep("type: 'my/greet:1.0.0'"))).toEqual([
    '4:11 warning step-type step type "my/greet" is neither built in nor loaded; the step is not checked',
  ])
  expect(problemsOf(oneStep('type: freestyl'))).toEqual([
    '4:11 error step-type step type "freestyl" does not exist. Did you mean "freestyle"?',
  ])
  for (const type of ['freestyle-ssh', 'github-action', 'services'])
    for (const version of ['', ':1.0.0'])
      expect(problemsOf(oneStep(`type: ${type}${version}`))).toEqual([
        `4:11 error type-refused step type "${type}" is not supported`,
      ])
})

test('a problem of a value in a list names the field and the number of the value (P174)', () => {
  expect(freestyle('environment: [{ A: 1 }]')).toEqual(['"environment[0]" must be a string'])
  expect(freestyle('when: { steps: [5] }')).toEqual(['"steps[0]" must be an object. Current value: 5'])
  expect(freestyle('when: { steps: [{ name: it, on: [5] }] }')).toContainEqual(
    expect.stringMatching(/^"on\[0\]" must be one of \[success, .*\]\. Current value: 5$/),
  )
})

test('a value outside a list of allowed values gets the nearest one, in any case of letters (P173)', () => {
  const mode = (value: string): string[] => messagesOf(`version: 1\nmode: ${value}\nsteps: {}\n`)
  expect(mode('paralel')).toEqual([
    '"mode" must be one of [sequential, parallel]. Current value: paralel. Did you mean "parallel"?',
  ])
  expect(mode('Parallel')).toEqual([
    '"mode" must be one of [sequential, parallel]. Current value: Parallel. Did you mean "parallel"?',
  ])
  expect(mode('quick')).toEqual(['"mode" must be one of [sequential, parallel]. Current value: quick'])
})

test('requires a name and one of two types in an environment record (P174, V30)', () => {
  expect(freestyle('env: { name: prod, type: helm-release, endpoints: [{ name: web, url: "https://a" }] }')).toEqual([])
  expect(freestyle('env: { type: kubernetes }')).toEqual(['"name" is required'])
  expect(freestyle('env: { name: prod, type: nomad }')).toEqual([
    '"type" must be one of [kubernetes, helm-release]. Current value: nomad',
  ])
})

describe('the rules of the step types (P174)', () => {
  test('freestyle: rejects commands or shell with cmd, and malformed environment and volumes entries', () => {
    expect(freestyle('commands: [a]', 'cmd: [b]')).toEqual(['"commands" conflict with forbidden peer "cmd"'])
    expect(freestyle('shell: bash', 'cmd: b')).toEqual(['"shell" conflict with forbidden peer "cmd"'])
    expect(freestyle('shell: zsh')).toEqual(['"shell" must be one of [sh, bash]. Current value: zsh. Did you mean "sh"?'])
    expect(freestyle('commands: echo')).toEqual(['"commands" must be an array. Current value: echo'])
    expect(freestyle('environment: A=1')).toEqual(['"environment" must be an array or an object. Current value: A=1'])
    expect(freestyle('environment: { A: [] }')).toEqual(['"A" must be a string, a number or a boolean'])
    expect(freestyle('environment: [A]')).toEqual([])
    expect(freestyle('environment: [=A, A B]')).toEqual([
      '"environment[0]" must have the form NAME=VALUE. Current value: =A',
      '"environment[1]" must have the form NAME=VALUE. Current value: A B',
    ])
    expect(freestyle("environment: ['${{LINE}}', A=]")).toEqual([])
    expect(freestyle('volumes: [a]')).toEqual(['"volumes[0]" must have the form source:/target. Current value: a'])
    expect(freestyle('entry_point: 5')).toEqual(['"entry_point" must be an array or a string. Current value: 5'])
    expect(messagesOf(oneStep('commands: [a]'))).toEqual(['"image" is required'])
  })

  test('freestyle: accepts unknown fields with a warning, but not registry_contexts', () => {
    expect(problemsOf(oneStep('image: x', 'create_file: y', 'comands: [a]'))).toEqual([
      '5:5 warning unknown-key unknown field "create_file" in a freestyle step; it has no effect',
      '6:5 warning unknown-key unknown field "comands" in a freestyle step; it has no effect. Did you mean "commands"?',
    ])
    expect(freestyle('registry_contexts: [a]')).toEqual([`'registry_contexts' not allowed. Did you mean "registry_context"?`])
  })

  test('git-clone, build and push: reports missing and unknown fields', () => {
    expect(messagesOf(oneStep('type: git-clone'))).toEqual(['"repo" is required'])
    expect(messagesOf(oneStep('type: git-clone', 'repo: a/b', 'depth: 0'))).toEqual([
      '"depth" must be a positive number. Current value: 0',
    ])
    expect(messagesOf(oneStep('type: push', 'candidate: x', 'working_directory: y'))).toEqual([
      '"working_directory" is not allowed',
    ])
    expect(messagesOf(oneStep('type: build', 'image_name: x', 'tag_policy: lower'))).toEqual([
      '"tag_policy" must be one of [original, lowercase]. Current value: lower. Did you mean "lowercase"?',
    ])
    expect(messagesOf(oneStep('type: build', 'image_name: x', 'tags: [1, 2]'))).toEqual([
      '"tags[0]" must be a string. Current value: 1',
      '"tags[1]" must be a string. Current value: 2',
    ])
    expect(messagesOf(oneStep('type: build', 'image_name: x', 'dockerfile: []'))).toEqual([
      '"dockerfile" must be a string or an object',
    ])
    expect(messagesOf(oneStep('type: build', 'image_name: x', 'dockerfile: { text: y }'))).toEqual([
      '"content" is required',
      '"text" is not allowed',
    ])
  })

  test('build: requires build version 2 for registry, tags and disable_push', () => {
    const build = (version: string): string[] =>
      messagesOf(
        `version: 1\nbuild_version: ${version}\nsteps:\n  a: { type: build, image_name: x, registry: r, tags: [t], disable_push: true }\n`,
      )
    expect(build('v2')).toEqual([])
    expect(build('v1')).toEqual([
      '"registry" is not allowed with "build_version: v1"',
      '"tags" is not allowed with "build_version: v1"',
      '"disable_push" is not allowed with "build_version: v1"',
    ])
  })

  test('warns about upper-case image names, ignoring variables', () => {
    expect(problemsOf(oneStep('type: build', 'image_name: Me/${{NAME}}'))).toEqual([
      '5:17 warning uppercase-image "image_name" must be lower case. Current value: Me/${{NAME}}',
    ])
    expect(messagesOf(oneStep('type: build', 'image_name: me/${{NAME}}'))).toEqual([])
  })
})

describe('suggestions (P173)', () => {
  const cases: [type: string, key: string, suggested: string | undefined][] = [
    ['type: build', 'titl', 'title'],
    ['type: build', 'working-irectory', 'working_directory'],
    ['type: build', 'working_dir', 'working_directory'],
    ['type: build', 'warcing_derektory', 'working_directory'],
    ['type: build', 'image_nam', 'image_name'],
    ['type: push', 'condidate', 'candidate'],
    ['type: pending-approval', 'git', undefined],
    ['type: build', 'repo', undefined],
    ['type: build', 'titleaaa', undefined],
    ['type: build', 'ing_directory', undefined],
    ['type: build', 'warcing_derektori', undefined],
    ['type: build', 'candidate', undefined],
    ['type: push', 'dockerfile', undefined],
  ]
  test.each(cases)('%s: %s', (type, key, suggested) => {
    const message = messagesOf(oneStep(type, `${key}: x`)).find((one) => one.startsWith(`"${key}"`))
    expect(message).toBe(`"${key}" is not allowed${suggested === undefined ? '' : `. Did you mean "${suggested}"?`}`)
  })

  test('image_nam: also reports the missing field', () => {
    expect(messagesOf(oneStep('type: build', 'image_nam: x'))).toContain('"image_name" is required')
  })

  test('suggests for nested keys only fields of the same level', () => {
    expect(freestyle('when: { brunch: {} }')).toEqual(['"brunch" is not allowed. Did you mean "branch"?'])
    expect(freestyle('when: { branch: { on: [a] } }')).toEqual(['"on" is not allowed. Did you mean "only"?'])
    expect(messagesOf(oneStep('type: pending-approval', 'timeout: { duratin: 5 }'))).toEqual([
      '"duratin" is not allowed. Did you mean "duration"?',
    ])
    expect(messagesOf(oneStep('type: pending-approval', 'timeout: { tit: 5 }'))).toEqual(['"tit" is not allowed'])
  })

  test('never suggests aliases', () => {
    expect(messagesOf(oneStep('type: build', 'image_name: x', 'tag-polic: lowercase'))).toEqual([
      '"tag-polic" is not allowed. Did you mean "tag_policy"?',
    ])
  })
})

test('reports tabs in the indentation, as a warning inside block texts (P174, T1)', () => {
  expect(problemsOf('version: 1\nsteps:\n  a:\n \timage: x\n')[0]).toMatch(
    /^4:2 error mixed-indentation Your YAML contains both spaces and tabs\./,
  )
  expect(problemsOf(oneStep('image: x', 'commands:', '  - |', '    cat <<E', '    \tindented', '    E'))).toEqual([
    '8:9 warning mixed-indentation Your YAML contains both spaces and tabs.',
  ])
})

test('warns about deeper lines after >-, up to the next item or outer field (P174, T2)', () => {
  const warning = "warning folded-indentation Your YAML contains invalid indentation after characters '>-'."
  expect(
    problemsOf(oneStep('image: x', 'commands:', '  - >-', '    one', '      two', '  - >-', '    three', '    four')),
  ).toEqual([`8:1 ${warning}`])
  expect(
    problemsOf(
      oneStep('image: x', 'commands:', '  - >-', '    one', 'environment:', '    - A=1', '    - B=2', 'retry:', '  delay: 9'),
    ),
  ).toEqual([])
  expect(problemsOf(oneStep('image: x', 'commands:', '  - |-', '    one', '      two'))).toEqual([])
})
