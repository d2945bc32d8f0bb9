import { expect, test } from 'vitest'
import { INSTALLER_SCOPES, missingScopes, readScopeNames } from './scopes.ts'

test('R007: what a key lacks is told by name; writing covers reading, and a key without scopes lacks nothing', () => {
  expect(missingScopes(undefined, INSTALLER_SCOPES)).toEqual([])
  expect(missingScopes(['agent:write', 'runtime:read', 'installation:write'], INSTALLER_SCOPES)).toEqual([
    'runtime:write',
    'certificate:write',
    'cluster:write',
  ])
  expect(missingScopes(['agent:write'], ['agent:read'])).toEqual([])
})

test('R007: the names that the vendor documents for its installer cover what ours needs', () => {
  const { scopes, unknown } = readScopeNames(['Runner-Installation', 'Agent', 'Agents:read', 'Agents:write', 'no-such'])
  expect(missingScopes(scopes, INSTALLER_SCOPES)).toEqual([])
  expect(unknown).toEqual(['no-such'])
  expect(readScopeNames(['agent:read', 'build:write']).scopes).toEqual(['agent:read', 'build:write'])
})
