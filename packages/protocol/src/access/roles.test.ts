import { expect, test } from 'vitest'
import { higherRole, INSTALLATION_ROLES, lowerRole, RIGHTS, roleHasRight, RoleInput, ROLES, type Right } from './roles.ts'

const rights = Object.keys(RIGHTS) as Right[]

test('each role has the rights of the roles before it and at least one more', () => {
  const counts = INSTALLATION_ROLES.map((role) => rights.filter((right) => roleHasRight(role, right)).length)
  expect(counts[0]).toBe(0)
  expect(counts.at(-1)).toBe(rights.length)
  for (const [index, count] of counts.entries()) expect(count).toBeGreaterThan(counts[index - 1] ?? -1)
})

test('a role has a right in a project that the roles before it do not have', () => {
  for (const role of ROLES)
    expect(rights.some((right) => RIGHTS[right].at !== 'installation' && RIGHTS[right].role === role)).toBe(true)
})

test('compares roles', () => {
  expect([lowerRole('admin', 'none'), lowerRole('viewer', 'developer'), lowerRole('admin', 'admin')]).toEqual([
    'none',
    'viewer',
    'admin',
  ])
  expect([higherRole('admin', 'none'), higherRole('viewer', 'developer')]).toEqual(['admin', 'developer'])
})

test('reads the role `user` of earlier versions as developer', () => {
  expect([RoleInput.parse('user'), RoleInput.parse('maintainer')]).toEqual(['developer', 'maintainer'])
  expect(RoleInput.safeParse('none').success).toBe(false)
})
