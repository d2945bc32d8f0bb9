import { expect, test } from 'vitest'
import { findPushTarget } from './push-target.ts'

const standard = { context: 'standard', isDefault: true, domain: 'registry.example.com', username: 'u', password: 'p' }
const other = { context: 'other', isDefault: false, domain: 'other.example.com' }
const registries = [standard, other]
const image = { imageName: 'team/app' }

test.each([
  ['explicit, with a default registry', undefined, {}, 'registry.example.com/team/app'],
  ['always', true, {}, 'registry.example.com/team/app'],
  ['always, but disabled in the step', true, { disablePush: true }, undefined],
  ['never', false, {}, undefined],
  ['never, but enabled in the step', false, { disablePush: false }, 'registry.example.com/team/app'],
  ['never, but the step names a registry', false, { registry: 'other' }, 'other.example.com/team/app'],
  ['explicit, registry named', undefined, { registry: 'other' }, 'other.example.com/team/app'],
  ['explicit, not pushed', undefined, { disablePush: true }, undefined],
] as const)('finds the push target in account mode %s (P060)', (_, autoPush, fields, repository) => {
  const target = findPushTarget({ ...image, ...fields }, { registries, autoPush })
  expect('repository' in target ? target.repository : undefined).toBe(repository)
})

test('fails the step in mode always without a default registry (P060)', () => {
  expect(() => findPushTarget(image, { registries: [other], autoPush: true })).toThrow('no default one')
})

test('pushes nothing without a default registry and fails if the step demands a push', () => {
  expect(findPushTarget(image, { registries: [other] })).toHaveProperty('why')
  expect(() => findPushTarget({ ...image, disablePush: false }, { registries: [other] })).toThrow('no default one')
  expect(findPushTarget({ imageName: 'other.example.com/x' }, { registries: [other] })).toMatchObject({
    repository: 'other.example.com/x',
  })
  expect(findPushTarget({ imageName: 'third.example.com/x' }, { registries: [other] })).toHaveProperty('why')
})

test('rejects an image name whose host is not that of the named registry', () => {
  const build = { imageName: 'evil.example/x', registry: 'standard' }
  expect(() => findPushTarget(build, { registries })).toThrow('Its login is not sent there')
})
