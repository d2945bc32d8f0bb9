import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { NO_BUILD_REASONS, TRIGGER_RULES } from './triggers.ts'

test('the guide of triggers says what to do about every reason why nothing was built', () => {
  const page = readFileSync(new URL('../../../docs/guides/triggers.md', import.meta.url), 'utf8')
  const [, section = ''] = /^## Why a push did not build\n(.*)/ms.exec(page) ?? []
  expect(Object.keys(NO_BUILD_REASONS).filter((name) => !section.includes(`\`${name}\``))).toEqual([])
})

test('every rule of a trigger is a reason why nothing was built', () => {
  expect(TRIGGER_RULES.filter((rule) => !Object.hasOwn(NO_BUILD_REASONS, rule))).toEqual([])
})
