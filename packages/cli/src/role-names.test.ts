import { AUDIT_RESULTS, CHANNEL_TYPES, FORGES, INSTALLATION_ROLES, MAIL_SECURITY, NOTIFY_ON, ROLES } from '@windlass/protocol'
import { expect, test } from 'vitest'
import {
  AUDIT_RESULT_NAMES,
  CHANNEL_NAMES,
  FORGE_NAMES,
  INSTALLATION_ROLE_NAMES,
  MAIL_SECURITY_NAMES,
  NOTIFY_ON_NAMES,
  ROLE_NAMES,
} from './role-names.ts'

test('the command line names every role, result and forge of the protocol', () => {
  expect(ROLE_NAMES).toEqual(ROLES)
  expect(INSTALLATION_ROLE_NAMES).toEqual(INSTALLATION_ROLES)
  expect(AUDIT_RESULT_NAMES).toEqual(AUDIT_RESULTS)
  expect(FORGE_NAMES).toEqual(FORGES)
  expect(CHANNEL_NAMES).toEqual(CHANNEL_TYPES)
  expect(NOTIFY_ON_NAMES).toEqual(NOTIFY_ON)
  expect(MAIL_SECURITY_NAMES).toEqual(MAIL_SECURITY)
})
