import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DEBUG_ACTIONS } from '@windlass/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { commands } from '../packages/cli/src/table.ts'
import { optionReads } from './option-reads.ts'

const folder = resolve(import.meta.dirname, '../packages/cli/src/commands')
/** Options that an action reads by a computed name: `options[name]`. */
const COMPUTED: Readonly<Record<string, readonly string[]>> = { debug: DEBUG_ACTIONS }
/** Begins the summary of an option that has no effect, or that is always refused. */
const WITHOUT_EFFECT = /^(?:Accepted|Not supported)/

test('finds the options that an action reads itself, in other functions and in other files', () => {
  const path = mkdtempSync(join(tmpdir(), 'windlass-options-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  mkdirSync(join(path, 'one'))
  writeFileSync(
    join(path, 'one/command.ts'),
    "export const list = [command('one', { run: async (call) => (await import('./action.ts')).act(call) })]",
  )
  writeFileSync(
    join(path, 'one/action.ts'),
    [
      "import { read } from '../read.ts'",
      'export function act({ options: { pattern, ...options } }) { helper(options); read(options); return result.unrelated }',
      'const helper = (options) => options.member',
      'function unused(options) { return options.unused }',
    ].join('\n'),
  )
  writeFileSync(join(path, 'read.ts'), 'export function read({ other, kubeNamespace: namespace }) {}')
  const found = [...(optionReads(path).get('one') ?? [])].filter((name) => !['options', ''].includes(name))
  expect(found.toSorted()).toEqual(['kubeNamespace', 'member', 'other', 'pattern'])
})

test('each command reads each of its options, or says that the option has no effect', () => {
  const reads = optionReads(folder)
  const unread = commands.flatMap(({ name, options }) =>
    Object.entries(options)
      .filter(([key, { summary }]) => !WITHOUT_EFFECT.test(summary) && !reads.get(name)?.has(key))
      .filter(([key]) => !COMPUTED[name]?.includes(key))
      .map(([, { flags }]) => `${name} ${flags}`),
  )
  expect(unread).toEqual([])
  for (const [name, keys] of Object.entries(COMPUTED))
    expect(Object.keys(commands.find((one) => one.name === name)?.options ?? {})).toEqual(expect.arrayContaining([...keys]))
})
