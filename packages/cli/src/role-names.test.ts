import { AUDIT_RESULTS, INSTALLATION_ROLES, ROLES } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { AUDIT_RESULT_NAMES, INSTALLATION_ROLE_NAMES, ROLE_NAMES } from './role-names.ts'

test('the command line names every role and result of the protocol', () => {
  expect([ROLE_NAMES, INSTALLATION_ROLE_NAMES, AUDIT_RESULT_NAMES]).toEqual([ROLES, INSTALLATION_ROLES, AUDIT_RESULTS])
})
