/** Shared volumes and annotations of hooks, from the command line against a real `windlass up`. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { letGo, UNTIL_LET_GO } from '../../../../e2e/support/steps.ts'
import { openSandbox, startUp, type Sandbox, type Up } from '../support.ts'

let sandbox: Sandbox
let up: Up

beforeAll(async () => {
  sandbox = await openSandbox()
  up = await startUp(sandbox)
})

afterAll(async () => {
  await up[Symbol.asyncDispose]()
  await sandbox[Symbol.asyncDispose]()
})

const idIn = (text: string): string => /[0-9a-f]{24}/.exec(text)?.[0] ?? ''
const step = (...commands: string[]): object => ({ image: sandbox.images['SHELL_IMAGE'] ?? '', commands })

test('concurrent builds of a pipeline have separate volumes; a later one reuses that of the first (P033)', async () => {
  const wait = `if test "$WAITS" = yes; then ${UNTIL_LET_GO}; fi`
  const steps = { count: step('echo line >> lines', 'echo "lines: $(wc -l < lines)"', wait) }
  const spec = { steps, variables: [{ key: 'WAITS', value: 'no' }] }
  const pipeline = { version: '1.0', kind: 'pipeline', metadata: { name: 'shared/volume' }, spec }
  expect(await sandbox.run(['apply', '-f', await sandbox.file('shared.json', JSON.stringify(pipeline))])).toMatchObject({
    code: 0,
  })
  const slow = sandbox.start(['run', 'shared/volume', '-v', 'WAITS=yes'])
  await slow.says('lines: 1')
  const beside = await sandbox.run(['run', 'shared/volume'])
  expect(beside.stdout).toContain('lines: 1')
  await letGo(idIn(slow.stdout()))
  expect(await slow.finished).toMatchObject({ code: 0 })
  const later = await sandbox.run(['run', 'shared/volume'])
  expect(later.stdout).toContain('lines: 2')
})

test('a hook of a step annotates the build after the step succeeds (P102)', async () => {
  const set = [{ entity_type: 'build', annotations: [{ quality: 'good' }, { count: { evaluate: '1 + 1' } }, 'marked'] }]
  const steps = {
    good: { ...step('true'), hooks: { on_success: { annotations: { set } } } },
    bad: {
      ...step('false'),
      fail_fast: false,
      hooks: { on_success: { annotations: { set: [{ annotations: [{ quality: 'never' }] }] } } },
    },
  }
  const file = await sandbox.file('annotated.json', JSON.stringify({ version: '1.0', steps }))
  const id = idIn((await sandbox.run(['run', '-f', file])).stdout)
  const described = JSON.parse((await sandbox.run(['describe', 'build', id, '-o', 'json'])).stdout)
  expect(described.annotations).toMatchObject({ quality: 'good', count: 2, marked: '' })
})
