/** What builds share and what hooks leave behind, from the command line against a real `windlass up`. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDesk, startUp, type Desk, type Up } from './support.ts'

let desk: Desk
let up: Up

beforeAll(async () => {
  desk = await openDesk()
  up = await startUp(desk)
})

afterAll(async () => {
  await up[Symbol.asyncDispose]()
  await desk[Symbol.asyncDispose]()
})

const idIn = (text: string): string => /[0-9a-f]{24}/.exec(text)?.[0] ?? ''
const step = (...commands: string[]): object => ({ image: desk.images['SHELL_IMAGE'] ?? '', commands })

test('P033: builds of a pipeline at the same time have volumes of their own; a later one finds what the first left', async () => {
  const steps = { count: step('echo line >> lines', 'echo "lines: $(wc -l < lines)"', 'sleep "$PAUSE"') }
  const spec = { steps, variables: [{ key: 'PAUSE', value: '0' }] }
  const pipeline = { version: '1.0', kind: 'pipeline', metadata: { name: 'shared/volume' }, spec }
  expect(await desk.run(['apply', '-f', await desk.file('shared.json', JSON.stringify(pipeline))])).toMatchObject({ code: 0 })
  const slow = desk.start(['run', 'shared/volume', '-v', 'PAUSE=6'])
  await slow.says('lines: 1', 30_000)
  const beside = await desk.run(['run', 'shared/volume'])
  expect(beside.stdout).toContain('lines: 1')
  expect(await slow.finished).toMatchObject({ code: 0 })
  const later = await desk.run(['run', 'shared/volume'])
  expect(later.stdout).toContain('lines: 2')
})

test('P102: a hook of a step annotates the build once the step has succeeded', async () => {
  const set = [{ entity_type: 'build', annotations: [{ quality: 'good' }, { count: { evaluate: '1 + 1' } }, 'marked'] }]
  const steps = {
    good: { ...step('true'), hooks: { on_success: { annotations: { set } } } },
    bad: {
      ...step('false'),
      fail_fast: false,
      hooks: { on_success: { annotations: { set: [{ annotations: [{ quality: 'never' }] }] } } },
    },
  }
  const file = await desk.file('annotated.json', JSON.stringify({ version: '1.0', steps }))
  const id = idIn((await desk.run(['run', '-f', file])).stdout)
  const told = JSON.parse((await desk.run(['describe', 'build', id, '-o', 'json'])).stdout)
  expect(told.annotations).toMatchObject({ quality: 'good', count: 2, marked: '' })
})
