import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { REASONS } from './lists.ts'

const docs = new URL('../../../docs/', import.meta.url)

/** Returns the reasons of a kind that a text does not name. */
function missing(blame: 'waiting' | 'infra', text: string): string[] {
  return Object.entries(REASONS)
    .filter(([name, row]) => row.blame === blame && !text.includes(`\`${name}\``))
    .map(([name]) => name)
}

test('the page about running builds says what to do about every reason for waiting', () => {
  const page = readFileSync(new URL('guides/running.md', docs), 'utf8')
  const [, section = ''] = /^## Why a build waits\n(.*?)^## /ms.exec(page) ?? []
  expect(missing('waiting', section)).toEqual([])
})

test('the page about troubleshooting has every reason of the infrastructure', () => {
  expect(missing('infra', readFileSync(new URL('operate/troubleshooting.md', docs), 'utf8'))).toEqual([])
})
