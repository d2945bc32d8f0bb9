import { expect, test } from 'vitest'
import { runPipeline } from '../support/run-pipeline.ts'

test('passes an exported variable to the next step, not to the same one, also as an output of its step (P120, P126)', async () => {
  const run = await runPipeline(`
version: '1.0'
steps:
  give:
    image: $SHELL
    commands:
      - cf_export VERSION=1.2.3
      - echo "[$VERSION]"
  take:
    image: $SHELL
    commands:
      - echo "$VERSION \${{VERSION}} \${{steps.give.output.VERSION}}"
`)
  expect(run.output('give')).toBe('[]\n')
  expect(run.output('take')).toBe('1.2.3 1.2.3 1.2.3\n')
  expect(run.log('give')).toContain('[SYSTEM] Exported variables: VERSION.')
})

test('takes the value of the exported variable for cf_export with a name only (P121)', async () => {
  const run = await runPipeline(`
version: '1.0'
steps:
  give:
    image: $SHELL
    commands:
      - export A='from the shell' value=v name=n
      - cf_export A value name
      - cf_export NOT_THERE
  take: {image: $SHELL, commands: ['echo "$A, $value, $name, [$NOT_THERE]"']}
`)
  expect(run.output('take')).toBe('from the shell, v, n, []\n')
  expect(run.output('give')).toContain('NOT_THERE is not exported')
})

test('masks a masked export in the logs of later steps (P122)', async () => {
  const run = await runPipeline(`
version: '1.0'
steps:
  give: {image: $SHELL, commands: ['cf_export KEY=opensesame --mask']}
  take: {image: $SHELL, commands: ['echo "key: $KEY"', 'echo "$KEY" | base64']}
`)
  expect(run.output('take')).toMatch(/^key: \*{5}\n\*{5}/)
  expect(run.output('take')).not.toContain('opensesame')
})

test('exports a line appended to env_vars_to_export, also from a failed step (P123)', async () => {
  const run = await runPipeline(`
version: '1.0'
steps:
  give:
    image: $SHELL
    fail_fast: false
    commands:
      - echo FILE=written >> \${{CF_VOLUME_PATH}}/env_vars_to_export
      - exit 1
  replace: {image: $SHELL, commands: ['echo OTHER=replaced > /tmp/x', 'mv /tmp/x /codefresh/volume/env_vars_to_export']}
  take: {image: $SHELL, commands: ['echo "$FILE $OTHER"', 'echo LAST=still >> /codefresh/volume/env_vars_to_export']}
  last: {image: $SHELL, commands: ['echo "$LAST"']}
`)
  expect(run.output('take')).toBe('written replaced\n')
  expect(run.output('last')).toBe('still\n')
})

test('keeps a multi-line value intact (P124)', async () => {
  const run = await runPipeline(`
version: '1.0'
steps:
  give:
    image: $SHELL
    commands:
      - |
        cf_export TEXT="first
          second

        END_OF_VALUE"
      - printf 'BLOCK<<EOF\\none\\ntwo\\nEOF\\n' >> /codefresh/volume/env_vars_to_export
  take: {image: $SHELL, commands: ['echo "$TEXT"', 'echo "$BLOCK"']}
`)
  expect(run.output('take')).toBe('first\n  second\n\nEND_OF_VALUE\none\ntwo\n')
})

test('exports a new value for a built-in variable (P125)', async () => {
  const run = await runPipeline(
    `
version: '1.0'
steps:
  give: {image: $SHELL, commands: ['echo "$CF_BRANCH"', cf_export CF_BRANCH=other]}
  take: {image: $SHELL, commands: ['echo "$CF_BRANCH"']}
`,
    { branch: 'main' },
  )
  expect(run.output('give')).toBe('main\n')
  expect(run.output('take')).toBe('other\n')
})

test('applies the step environment over exports, exports over build variables, and those over the rest (P119)', async () => {
  const level = (name: 'pipeline' | 'project', value: string) =>
    ({ level: name, variables: { A: { value }, B: { value }, C: { value }, D: { value } } }) as const
  const run = await runPipeline(
    `
version: '1.0'
steps:
  give: {image: $SHELL, commands: [cf_export A=export B=export]}
  take: {image: $SHELL, environment: ['A=own'], commands: ['echo "$A $B $C $D"']}
`,
    { layers: [level('project', 'project'), level('pipeline', 'pipeline')], variables: { A: 'build', B: 'build', C: 'build' } },
  )
  expect(run.output('take')).toBe('own export build pipeline\n')
})

test('keeps an undefined reference as written (P117)', async () => {
  const run = await runPipeline("version: '1.0'\nsteps:\n  one: {image: $SHELL, commands: [\"echo '${{NOBODY}}'\"]}\n")
  expect(run.output('one')).toBe('${{NOBODY}}\n')
  expect(run.log('one')).toContain('No value for ${{NOBODY}}')
})

test('sets the variables of the build and the step in the environment (P128)', async () => {
  const run = await runPipeline("version: '1.0'\nsteps:\n  one: {image: $SHELL, commands: [env]}\n", { branch: 'feature/X' })
  const names = [
    'CI=true',
    'CF_BUILD_ID=',
    'CF_BRANCH=feature/X',
    'CF_BRANCH_TAG_NORMALIZED=feature_X',
    'CF_STEP_NAME=one',
    'CF_CURRENT_ATTEMPT=1',
    'CF_MAX_ATTEMPTS=1',
    'CF_VOLUME_NAME=',
    'CF_VOLUME_PATH=/codefresh/volume',
  ]
  for (const name of names) expect(run.output('one')).toContain(name)
})

test('masks a secret variable in the log, also encoded and in chunks (P130)', async () => {
  const run = await runPipeline(
    `
version: '1.0'
steps:
  one:
    image: $SHELL
    commands:
      - echo "$TOKEN"
      - echo -n "x$TOKEN" | base64
      - printf sword; sleep 0.3; printf 'fish'; echo
      - exit 4
`,
    { secrets: { TOKEN: 'swordfish' } },
  )
  expect(run.output('one')).toBe('*****\neH*****A==\n*****\n')
  expect(JSON.stringify(run.events)).not.toContain('swordfish')
})
