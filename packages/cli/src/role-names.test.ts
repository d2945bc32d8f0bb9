import { AUDIT_RESULTS, FORGES, INSTALLATION_ROLES, ROLES } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { AUDIT_RESULT_NAMES, FORGE_NAMES, INSTALLATION_ROLE_NAMES, ROLE_NAMES } from './role-names.ts'

test('the command line names every role, result and forge of the protocol', () => {
  expect(ROLE_NAMES).toEqual(ROLES)
  expect(INSTALLATION_ROLE_NAMES).toEqual(INSTALLATION_ROLES)
  expect(AUDIT_RESULT_NAMES).toEqual(AUDIT_RESULTS)
  expect(FORGE_NAMES).toEqual(FORGES)
})
