import { expect, test } from 'vitest'
import { loginFor } from './registries.ts'

const corp = { context: 'corp', isDefault: true, domain: 'registry.corp.example', username: 'robot', password: 'p' }
const hub = { context: 'hub', isDefault: false, domain: 'docker.io', username: 'robot', password: 'p' }

test.each([
  ['registry.corp.example/team/app', corp],
  ['registry.corp.example/team/app:1', corp],
  ['team/app', hub],
  ['docker.io/team/app', hub],
])('returns the login of an integration for %s on its host', (repository, registry) => {
  expect(loginFor(repository, registry)).toEqual({ domain: registry.domain, username: 'robot', password: 'p' })
})

test.each([
  ['evil.example/team/app', corp],
  ['registry.corp.example.evil.example/app', corp],
  ['registry.corp.example:444/app', corp],
  ['localhost/app', corp],
  ['team/app', corp],
  ['evil.example/app', hub],
])('does not send the login of an integration to another host for %s', (repository, registry) => {
  expect(() => loginFor(repository, registry)).toThrow(`integration "${registry.context}" is for ${registry.domain}`)
})

test('returns no login without an integration, or for one without a login', () => {
  expect(loginFor('evil.example/x', { context: 'open', isDefault: false, domain: 'open.example' })).toBeUndefined()
  expect(loginFor('evil.example/x', undefined)).toBeUndefined()
})
