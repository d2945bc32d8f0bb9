import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { deliveryLabels, NO_BUILD_REASONS, TRIGGER_RULES } from './triggers.ts'

test('the guide of triggers says what to do about every reason why nothing was built', () => {
  const page = readFileSync(new URL('../../../../docs/guides/triggers.md', import.meta.url), 'utf8')
  const [, section = ''] = /^## Why a push did not build\n(.*)/ms.exec(page) ?? []
  expect(Object.keys(NO_BUILD_REASONS).filter((name) => !section.includes(`\`${name}\``))).toEqual([])
})

test('every rule of a trigger is a reason why nothing was built', () => {
  expect(TRIGGER_RULES.filter((rule) => !Object.hasOwn(NO_BUILD_REASONS, rule))).toEqual([])
})

test('a delivery of a registry is not described in words of forges', () => {
  expect(deliveryLabels({ registry: 'harbor', repo: 'acme/base' })).toEqual({
    repo: 'Artifact',
    branch: 'Tag',
    revision: 'Digest',
  })
  expect(deliveryLabels({ forge: 'gitea', repo: 'acme/app' })).toMatchObject({ repo: 'Repository', branch: 'Branch' })
  expect(deliveryLabels({ repo: 'shop/app' }).repo).toBe('Pipeline')
})
