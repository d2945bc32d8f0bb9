import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keyOf, longName, oneOf, type Command } from './command.ts'
import { complete } from './commands/completion/complete.ts'
import { describeCommands } from './manual/describe-commands.ts'
import { normalizeArgv } from './normalize-argv.ts'
import { commands } from './table.ts'
import { completionScript } from './commands/completion/scripts.ts'

test('the table has every command of every folder', async () => {
  for (const file of globSync('commands/*/command.ts', { cwd: import.meta.dirname })) {
    const lists: Readonly<Record<string, readonly Command[]>> = await import(join(import.meta.dirname, file))
    const missing = Object.values(lists)
      .flat()
      .filter((command) => !commands.includes(command))
    expect([file, ...missing.map(({ name }) => name)]).toEqual([file])
  }
})

test('every option is listed under the key of its flag', () => {
  for (const { name, options } of commands)
    for (const [key, { flags }] of Object.entries(options)) expect(`${name} ${key}`).toBe(`${name} ${keyOf(flags)}`)
})

test('a wrong value of a long list names the nearest one instead of the list', () => {
  const option = oneOf(
    '--number <number>',
    'A number',
    Array.from({ length: 21 }, (_, n) => `number-${n}`),
  )
  const message = (given: string): unknown => {
    try {
      return option.read(given, undefined)
    } catch (error) {
      return error
    }
  }
  expect(message('nmber-7')).toMatchObject({
    message: '--number takes one of 21 values, not "nmber-7".',
    details: { hint: 'Did you mean number-7?' },
  })
  expect(message('elsewhere')).toMatchObject({ message: expect.stringContaining('number-0, number-1, ') })
})

test('no command repeats a short or long flag', () => {
  for (const { name, options } of commands) {
    const flags = Object.values(options).flatMap((option) => option.flags.split(/[ ,]+/).filter((word) => word.startsWith('-')))
    expect(new Set(flags).size, name).toBe(flags.length)
  }
})

test('the reference page names every command and option', () => {
  const page = describeCommands()
  for (const { name, options } of commands) {
    expect(page).toContain(`## windlass ${name}\n`)
    for (const { flags } of Object.values(options)) expect(page).toContain(`\`${flags}\``)
  }
})

test('no example contains a key or a password', () => {
  for (const { examples } of commands) for (const line of examples) expect(line).not.toMatch(/api-?key[ =]|password/i)
})

test('help before a command is --help after it', () => {
  expect(normalizeArgv(['help'])).toEqual(['--help'])
  expect(normalizeArgv(['help', 'get', 're'])).toEqual(['get', 'runtimes', '--help'])
})

test('completes commands, options and choices', () => {
  expect(complete(['au'])).toEqual(['auth', 'audit'])
  expect(complete(['auth', 'lo'])).toEqual(['login', 'logout'])
  expect(complete(['run', '--loc'])).toEqual(['--local'])
  expect(complete(['get', 'bu'])).toEqual(['builds'])
  expect(complete(['get', 'builds', '-o', 'y'])).toEqual(['yaml'])
  expect(complete(['get', '-o', 'json', 'bu'])).toEqual(['builds'])
  expect(complete(['get', 'age'])).toEqual(['agents'])
  expect(complete(['create', ''])).toEqual([
    'step-type',
    'agent',
    'context',
    'key',
    'webhook',
    'trigger',
    'cron-trigger',
    'event-trigger',
    'notification',
    'runtimes',
    'cluster',
    'user',
    'service-account',
    'team',
  ])
  expect(complete(['validate', 'pi'])).toEqual([])
  expect(complete(['logs', '--'])).toEqual([
    ...Object.values(commands.find(({ name }) => name === 'logs')?.options ?? {}).map(({ flags }) => longName(flags)),
    '--help',
  ])
})

test('prints a completion script for bash, zsh and fish', () => {
  for (const shell of ['bash', 'zsh', 'fish']) expect(completionScript(shell)).toContain('windlass __complete')
  expect(() => completionScript('csh')).toThrow('Completion for "csh" is not supported.')
  expect(longName('-b, --branch <name>')).toBe('--branch')
})
