import { describe, expect, test } from 'vitest'
import { messagesOf, oneStep, problemsOf } from '../test/documents.ts'

/** Errors and warnings of a step with these fields besides an image. */
function freestyle(...lines: string[]): string[] {
  return messagesOf(oneStep('image: x', ...lines))
}

describe('P174: the rules of the language', () => {
  test('V01: version is required and is 1.0 in one of its spellings', () => {
    for (const version of ['1.0', '1', "'1'", "'1.0'"]) expect(messagesOf(`version: ${version}\nsteps: {}\n`)).toEqual([])
    expect(messagesOf('steps: {}\n')).toEqual(['"version" is required'])
    expect(messagesOf('version: 2\nsteps: {}\n')).toEqual(['Current version: 2 is invalid. please change version to 1.0'])
    expect(messagesOf('version: []\nsteps: {}\n')).toEqual([
      'Current version: an object is invalid. please change version to 1.0',
    ])
  })

  test('V02: steps is a mapping of mappings', () => {
    expect(messagesOf('version: 1\n')).toEqual(['"steps" is required'])
    expect(messagesOf('version: 1\nsteps: [a]\n')).toEqual(['"steps" must be an object'])
    expect(problemsOf('version: 1\nsteps:\n  a:\n  image: x\n')).toEqual([
      '3:3 error wrong-type "a" must be an object',
      '4:3 error wrong-type "image" must be an object',
    ])
  })

  test('V03 to V09: root keys', () => {
    const root = (line: string): string[] => messagesOf(`version: 1\n${line}\nsteps: {}\n`)
    expect(root('foobarbaz: 1')).toEqual(['"foobarbaz" is not allowed'])
    expect(root('mode: serial')).toEqual(['"mode" must be one of [sequential, parallel]. Current value: serial'])
    expect(root('build_version: v3')).toEqual(['"build_version" must be one of [v1, v2]. Current value: v3'])
    expect(root('stages: one')).toEqual(['"stages" must be an array. Current value: one'])
    expect(root('stages: [1]')).toEqual(['"0" must be a string. Current value: 1'])
    expect(root('indicators: {}')).toEqual(['"indicators" must be an array'])
  })

  test('V10 to V12: step names', () => {
    for (const name of ['a.b', 'a#b', 'a$b', 'a[b', 'a]b']) {
      expect(messagesOf(`version: 1\nsteps:\n  "${name}": { image: x }\n`)).toEqual([
        `step name cannot contain ".", "#", "$", "[", or "]". Current value: ${name}`,
      ])
    }
    expect(messagesOf('version: 1\nsteps:\n  "a b-c_1": { image: x }\n')).toEqual([])
    expect(messagesOf(`version: 1\nsteps:\n  ${'x'.repeat(151)}: { image: x }\n`)).toEqual(['step name length is limited to 150'])
    expect(problemsOf('version: 1\nsteps:\n  a: { image: x }\n  a: { image: y }\n')).toEqual([
      '4:3 error duplicate-key "a" stands twice in this mapping',
    ])
  })

  test('V16 to V18: when', () => {
    expect(freestyle('when: { brunch: {} }')).toEqual(['"brunch" is not allowed. Did you mean "branch"?'])
    expect(freestyle('when: { branch: { on: [a] } }')).toEqual(['"on" is not allowed. Did you mean "only"?'])
    expect(freestyle('when: { branch: { only: main } }')).toEqual(['"only" must be an array. Current value: main'])
    expect(freestyle('when: { condition: { or: {} } }')).toEqual(['"or" is not allowed. Did you mean "all"?'])
    expect(freestyle('when: { condition: { all: { "a-b": "1 == 1" } } }')).toEqual([
      '"a-b" may have only letters, digits and "_"',
    ])
    expect(freestyle('when: { steps: { all: [], one: 1 } }')).toEqual([
      '"all" must contain at least 1 items',
      '"one" is not allowed. Did you mean "any"?',
    ])
    expect(freestyle('when: []')).toEqual(['"when" must be an object'])
  })

  test('V20: retry', () => {
    expect(freestyle('retry: { maxAttempts: 0 }')).toEqual(['"maxAttempts" must be a positive number. Current value: 0'])
    expect(freestyle('retry: { exponentialFactor: two }')).toEqual(['"exponentialFactor" must be a number. Current value: two'])
    expect(freestyle("retry: { maxAttempts: '3', delay: '7.5' }")).toEqual([])
    expect(freestyle('retry: { maxAttempts: 99 }')).toEqual(['"maxAttempts" must be from 1 to 10; 10 is used. Current value: 99'])
  })

  test('V21: a wrong timeout is a warning', () => {
    for (const timeout of ['90s', '.5h', '1.m', '0s', 'null', "'${{T}}'"]) expect(freestyle(`timeout: ${timeout}`)).toEqual([])
    expect(problemsOf(oneStep('image: x', 'timeout: 5'))).toEqual([
      '5:14 warning timeout-ignored "timeout" must be a string. Current value: 5',
    ])
    expect(freestyle('timeout: 5 days')).toEqual(['"timeout" must be a number followed by s, m or h. Current value: 5 days'])
  })

  test('V22 and V23: flags', () => {
    for (const flag of ['true', 'Yes', "'off'", '1', "'0'", "'${{FF}}'"]) expect(freestyle(`fail_fast: ${flag}`)).toEqual([])
    for (const flag of ['42', 'maybe', '"a ${{FF}}"', '[]']) expect(freestyle(`fail_fast: ${flag}`)).toHaveLength(1)
    for (const flag of ['true', "'${{FF}}'"]) expect(freestyle(`strict_fail_fast: ${flag}`)).toEqual([])
    for (const flag of ["'true'", '0', "''", 'text', '{}', 'null', '[]', '42'])
      expect(freestyle(`strict_fail_fast: ${flag}`)).toHaveLength(1)
  })

  test('V25 and V26: credentials need both parts, texts are texts', () => {
    expect(messagesOf(oneStep('type: git-clone', 'repo: a/b', 'credentials: { username: u }'))).toEqual([
      '"password" is required',
    ])
    expect(freestyle('title: 5')).toEqual(['"title" must be a string. Current value: 5'])
    expect(freestyle('working_directory: {}')).toEqual(['"working_directory" must be a string'])
    expect(messagesOf(oneStep('image: ""'))).toEqual(['"image" is not allowed to be empty'])
  })

  test('freestyle: commands, cmd and shell exclude each other, environment and volumes have a form', () => {
    expect(freestyle('commands: [a]', 'cmd: [b]')).toEqual(['"commands" conflict with forbidden peer "cmd"'])
    expect(freestyle('shell: bash', 'cmd: b')).toEqual(['"shell" conflict with forbidden peer "cmd"'])
    expect(freestyle('shell: zsh')).toEqual(['"shell" must be one of [sh, bash]. Current value: zsh'])
    expect(freestyle('commands: echo')).toEqual(['"commands" must be an array. Current value: echo'])
    expect(freestyle('environment: A=1')).toEqual(['"environment" must be an array or an object. Current value: A=1'])
    expect(freestyle('environment: { A: [] }')).toEqual(['"A" must be a string, a number or a boolean'])
    expect(freestyle('environment: [A]')).toEqual(['"0" must have the form NAME=VALUE. Current value: A'])
    expect(freestyle("environment: ['${{LINE}}', A=]")).toEqual([])
    expect(freestyle('volumes: [a]')).toEqual(['"0" must have the form source:/target. Current value: a'])
    expect(freestyle('entry_point: 5')).toEqual(['"entry_point" must be an array or a string. Current value: 5'])
    expect(messagesOf(oneStep('commands: [a]'))).toEqual(['"image" is required'])
  })

  test('freestyle: unknown fields pass with a word, registry_contexts does not', () => {
    expect(problemsOf(oneStep('image: x', 'create_file: y', 'comands: [a]'))).toEqual([
      '5:5 warning unknown-key "create_file" is no field of freestyle steps and has no effect',
      '6:5 warning unknown-key "comands" is no field of freestyle steps and has no effect. Did you mean "commands"?',
    ])
    expect(freestyle('registry_contexts: [a]')).toEqual([`'registry_contexts' not allowed. Did you mean "registry_context"?`])
  })

  test('git-clone, build and push: required and unknown fields', () => {
    expect(messagesOf(oneStep('type: git-clone'))).toEqual(['"repo" is required'])
    expect(messagesOf(oneStep('type: git-clone', 'repo: a/b', 'depth: 0'))).toEqual([
      '"depth" must be a positive number. Current value: 0',
    ])
    expect(messagesOf(oneStep('type: push', 'candidate: x', 'working_directory: y'))).toEqual([
      '"working_directory" is not allowed',
    ])
    expect(messagesOf(oneStep('type: build', 'image_name: x', 'tag_policy: lower'))).toEqual([
      '"tag_policy" must be one of [original, lowercase]. Current value: lower',
    ])
    expect(messagesOf(oneStep('type: build', 'image_name: x', 'tags: [1, 2]'))).toEqual([
      '"0" must be a string. Current value: 1',
      '"1" must be a string. Current value: 2',
    ])
    expect(messagesOf(oneStep('type: build', 'image_name: x', 'dockerfile: []'))).toEqual([
      '"dockerfile" must be a string or an object',
    ])
    expect(messagesOf(oneStep('type: build', 'image_name: x', 'dockerfile: { text: y }'))).toEqual([
      '"content" is required',
      '"text" is not allowed',
    ])
  })

  test('build: registry, tags and disable_push need build version 2', () => {
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

  test('an image name in upper case gets a warning; variables do not count', () => {
    expect(problemsOf(oneStep('type: build', 'image_name: Me/${{NAME}}'))).toEqual([
      '5:17 warning uppercase-image "image_name" must be lower case. Current value: Me/${{NAME}}',
    ])
    expect(messagesOf(oneStep('type: build', 'image_name: me/${{NAME}}'))).toEqual([])
  })
})

describe('P173: suggestions in documents', () => {
  const cases: [type: string, key: string, suggested: string | undefined][] = [
    ['type: build', 'titl', 'title'],
    ['type: build', 'working-irectory', 'working_directory'],
    ['type: build', 'working_dir', 'working_directory'],
    ['type: build', 'warcing_derektory', 'working_directory'],
    ['type: build', 'image_nam', 'image_name'],
    ['type: push', 'condidate', 'candidate'],
    ['type: build', 'repo', 'retry'],
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
})

describe('text checks', () => {
  test('T1: tabs in the indentation break a document, inside a block text they are worth a warning', () => {
    expect(problemsOf('version: 1\nsteps:\n  a:\n \timage: x\n')[0]).toMatch(
      /^4:2 error mixed-indentation Your YAML contains both spaces and tabs\./,
    )
    expect(problemsOf(oneStep('image: x', 'commands:', '  - |', '    cat <<E', '    \tindented', '    E'))).toEqual([
      '8:9 warning mixed-indentation Your YAML contains both spaces and tabs.',
    ])
  })

  test('T2: deeper lines after >- get a warning', () => {
    expect(
      problemsOf(oneStep('image: x', 'commands:', '  - >-', '    one', '      two', '  - >-', '    three', '    four')),
    ).toEqual(["8:1 warning folded-indentation Your YAML contains invalid indentation after characters '>-'."])
  })
})
