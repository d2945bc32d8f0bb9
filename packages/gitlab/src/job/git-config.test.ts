import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { configText } from './git-config.ts'

/** Returns what git reads from a text: pairs of a key and a value. */
function readByGit(text: string): string[][] {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-git-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'config')
  writeFileSync(file, text)
  const output = execFileSync('git', ['config', '--file', file, '--null', '--list'], { encoding: 'utf8' })
  return output
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => [entry.slice(0, entry.indexOf('\n')), entry.slice(entry.indexOf('\n') + 1)])
}

test('git reads the values that were written, whatever characters they have', () => {
  const values = ['plain', '', ' spaces ', 'a#b;c', 'say "hello"', 'C:\\new', 'two\nlines', '\ttab', 'x$HOME`id`', "it's", 'ü']
  const entries = values.map((value) => ({ section: ['http'] as const, key: 'extraHeader', value }))
  expect(readByGit(configText(entries))).toEqual(values.map((value) => ['http.extraheader', value]))
})

test('git reads subsections with quotes and backslashes', () => {
  const url = 'https://user:"p\\w]@gitlab.test/'
  const entries = [
    { section: ['url', url] as const, key: 'insteadOf', value: 'https://gitlab.test/' },
    { section: ['url', url] as const, key: 'insteadOf', value: 'git@gitlab.test:' },
  ]
  expect(readByGit(configText(entries))).toEqual([
    [`url.${url}.insteadof`, 'https://gitlab.test/'],
    [`url.${url}.insteadof`, 'git@gitlab.test:'],
  ])
})
