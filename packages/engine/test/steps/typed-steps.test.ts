import { expect, test } from 'vitest'
import { runPipeline, testDocker } from '../support/run-pipeline.ts'

function manifest(name: string, spec: string): string {
  return `version: '1.0'\nkind: step-type\nmetadata: {name: ${name}, version: 1.0.0}\nspec:${spec}`
}

const GREET = manifest(
  'acme/greet',
  `
  arguments: '{"type":"object","additionalProperties":false,"required":["WHO"],"properties":{"WHO":{"type":"string"},"HOW":{"type":"string","default":"hi"},"FLAG":{"type":"boolean","default":true}}}'
  steps:
    first:
      image: $SHELL
      environment: ['WHO=\${{WHO}}']
      commands:
        - echo "\${{HOW}} $WHO \${{FLAG}} in $(pwd)"
        - cf_export GREETING="\${{HOW}} $WHO"
    second:
      image: $SHELL
      commands: ['echo "before me: \${{steps.first.output.GREETING}}, \${{steps.first.result}}"']
`,
)

test('sets arguments and defaults as variables in a typed step, which works in the volume (P166)', async () => {
  const run = await runPipeline(
    `
version: '1.0'
steps:
  prepare: {image: $SHELL, commands: ['cf_export NAME=world']}
  greet:
    type: acme/greet:1.0.0
    arguments: {WHO: '\${{NAME}}'}
  after: {image: $SHELL, commands: ['echo "[$GREETING] [\${{steps.greet.output.GREETING}}] [\${{steps.greet.result}}]"', "echo '[\${{WHO}}]'"]}
`,
    { stepTypes: [GREET] },
  )
  expect(run.outcome).toMatchObject({ status: 'success' })
  expect(run.output('greet.first')).toBe('hi world true in /codefresh/volume\n')
  expect(run.output('greet.second')).toBe('before me: hi world, success\n')
  expect(run.output('after')).toBe('[hi world] [hi world] [success]\n[${{WHO}}]\n')
  expect(run.status('greet')).toBe('success')
})

test('expands a template that ranges over a list to one part per item (P167)', async () => {
  const many = manifest(
    'acme/many',
    `
  arguments: {type: object, properties: {ITEMS: {type: array, items: {type: string}}, LOUD: {type: boolean}}}
  delimiters: {left: '[[', right: ']]'}
  stepsTemplate: |-
    [[- range $i, $item := .Arguments.ITEMS ]]
    part_[[ $i ]]:
      image: $SHELL
      commands:
        - echo '[[ if $.Arguments.LOUD ]][[ toUpper $item ]][[ else ]][[ $item ]][[ end ]]'
    [[- end ]]
`,
  )
  const run = await runPipeline(
    `
version: '1.0'
steps:
  several:
    type: acme/many:1.0.0
    arguments: {ITEMS: [one, '\${{SECOND}}', three], LOUD: '\${{LOUD}}'}
`,
    { stepTypes: [many], variables: { SECOND: 'two', LOUD: 'true' } },
  )
  expect(run.outcome).toMatchObject({ status: 'success' })
  expect([0, 1, 2].map((index) => run.output(`several.part_${index}`))).toEqual(['ONE\n', 'TWO\n', 'THREE\n'])
})

const RETURNING = manifest(
  'acme/return',
  `
  arguments: {type: object, properties: {SKIP: {type: string, default: 'no'}}}
  returns: {type: object, required: [WANTED], properties: {WANTED: {type: string}, LIST: {type: array}}}
  steps:
    one:
      image: $SHELL
      commands:
        - '[ "\${{SKIP}}" = yes ] || echo WANTED=first >> /meta/env_vars_to_export'
        - echo INNER=hidden >> /meta/env_vars_to_export
    two:
      image: $SHELL
      commands:
        - . /meta/env_vars_to_export && echo "sees $INNER \${{steps.one.output.INNER}}"
        - '[ "\${{SKIP}}" = yes ] || echo WANTED=second >> /meta/env_vars_to_export'
        - echo 'LIST=["a","b"]' >> /meta/env_vars_to_export
`,
)

test('returns only declared outputs from /meta, and the later part wins (P168)', async () => {
  const run = await runPipeline(
    `
version: '1.0'
steps:
  give: {type: 'acme/return:1.0.0'}
  after: {image: $SHELL, commands: ['echo "\${{steps.give.output.WANTED}} [$WANTED] [$INNER]"', "echo '\${{steps.give.output.LIST}} \${{steps.give.output.INNER}}'", 'ls -d /meta || echo none']}
`,
    { stepTypes: [RETURNING] },
  )
  expect(run.output('give.two')).toBe('sees hidden hidden\n')
  expect(run.output('after')).toContain('second [] []\n["a","b"] ${{steps.give.output.INNER}}\n')
  expect(run.output('after')).toContain('none')
  const left = await (await testDocker()).listUnusedVolumes([`windlass.io/build=${run.buildId}`])
  expect(left).toEqual([])
})

test('fails a step whose type does not return a required output (P168)', async () => {
  const run = await runPipeline(`version: '1.0'\nsteps:\n  give: {type: 'acme/return:1.0.0', arguments: {SKIP: 'yes'}}\n`, {
    stepTypes: [RETURNING],
  })
  expect(run.outcome).toMatchObject({ status: 'error' })
  expect(run.snapshot.steps['give']).toMatchObject({ status: 'error', message: expect.stringContaining('WANTED') })
})

test('runs typed steps in hooks and nested ones with parallel parts under their own names (P101)', async () => {
  const outer = manifest(
    'acme/outer',
    `
  steps:
    both:
      type: parallel
      steps:
        left: {image: $SHELL, commands: [echo left]}
        right: {type: 'acme/greet:1.0.0', arguments: {WHO: inner}}
`,
  )
  const run = await runPipeline(
    `
version: '1.0'
steps:
  work:
    image: $SHELL
    commands: [echo working]
    hooks:
      on_success:
        exec:
          type: acme/greet:1.0.0
          arguments: {WHO: hook}
  nested: {type: 'acme/outer:1.0.0'}
`,
    { stepTypes: [GREET, outer] },
  )
  expect(run.outcome).toMatchObject({ status: 'success' })
  const names = Object.keys(run.snapshot.steps)
  expect(run.output('work.on_success.second')).toBe('before me: hi hook, success\n')
  expect(names).toContain('nested.both')
  expect(run.output(names.find((name) => name.endsWith('right.first')) ?? '')).toContain('hi inner')
})
