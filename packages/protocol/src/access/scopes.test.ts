import { expect, test } from 'vitest'
import { INSTALLER_SCOPES, missingScopes, readScopeNames } from './scopes.ts'

test('lists missing scopes; write includes read, and a key without scopes has all of them (R007)', () => {
  expect(missingScopes(undefined, INSTALLER_SCOPES)).toEqual([])
  expect(missingScopes(['agent:write', 'runtime:read', 'installation:write'], INSTALLER_SCOPES)).toEqual([
    'runtime:write',
    'certificate:write',
    'cluster:write',
  ])
  expect(missingScopes(['agent:write'], ['agent:read'])).toEqual([])
})

test('the documented scope names of the Codefresh installer cover the installer scopes (R007)', () => {
  const { scopes, unknown } = readScopeNames(['Runner-Installation', 'Agent', 'Agents:read', 'Agents:write', 'no-such'])
  expect(missingScopes(scopes, INSTALLER_SCOPES)).toEqual([])
  expect(unknown).toEqual(['no-such'])
  expect(readScopeNames(['agent:read', 'build:write']).scopes).toEqual(['agent:read', 'build:write'])
})
