import { expect, test } from 'vitest'
import { findPushTarget } from './push-target.ts'

const standard = { context: 'standard', isDefault: true, domain: 'registry.example.com', username: 'u', password: 'p' }
const other = { context: 'other', isDefault: false, domain: 'other.example.com' }
const registries = [standard, other]
const image = { imageName: 'team/app' }

test.each([
  ['explicit, with a default registry', undefined, {}, 'registry.example.com/team/app'],
  ['always', true, {}, 'registry.example.com/team/app'],
  ['always, but not this one', true, { disablePush: true }, undefined],
  ['never', false, {}, undefined],
  ['never, but this one', false, { disablePush: false }, 'registry.example.com/team/app'],
  ['never, but the step names a registry', false, { registry: 'other' }, 'other.example.com/team/app'],
  ['explicit, registry named', undefined, { registry: 'other' }, 'other.example.com/team/app'],
  ['explicit, not pushed', undefined, { disablePush: true }, undefined],
] as const)('P060: account mode %s', (_, autoPush, says, repository) => {
  const target = findPushTarget({ ...image, ...says }, { registries, autoPush })
  expect('repository' in target ? target.repository : undefined).toBe(repository)
})

test('P060: in the mode always a missing default registry fails the step', () => {
  expect(() => findPushTarget(image, { registries: [other], autoPush: true })).toThrow('no default one')
})

test('without a default registry nothing is pushed, and a step that insists fails', () => {
  expect(findPushTarget(image, { registries: [other] })).toHaveProperty('why')
  expect(() => findPushTarget({ ...image, disablePush: false }, { registries: [other] })).toThrow('no default one')
  expect(findPushTarget({ imageName: 'other.example.com/x' }, { registries: [other] })).toMatchObject({
    repository: 'other.example.com/x',
  })
  expect(findPushTarget({ imageName: 'third.example.com/x' }, { registries: [other] })).toHaveProperty('why')
})
