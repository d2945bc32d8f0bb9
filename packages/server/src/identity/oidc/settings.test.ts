import { expect, test } from 'vitest'
import { readServerConfig, toServerOptions } from '../../config.ts'
import { grantsOf, type OidcSettings } from './settings.ts'

const ENV = {
  WINDLASS_SERVER_OIDC_ISSUER: 'https://login.test/realm',
  WINDLASS_SERVER_OIDC_CLIENT_ID: 'windlass',
  WINDLASS_SERVER_ADVERTISED_URL: 'https://ci.test',
}

function read(env: Record<string, string>): OidcSettings | undefined {
  return toServerOptions(readServerConfig(env)).oidc
}

test('reads the settings with their defaults', () => {
  expect(read({})).toBeUndefined()
  expect(read(ENV)).toEqual({
    issuer: 'https://login.test/realm',
    clientId: 'windlass',
    scopes: ['openid', 'profile', 'email'],
    name: 'login.test',
    groupsClaim: 'groups',
    defaultRole: 'none',
  })
  const more = {
    WINDLASS_SERVER_OIDC_ROLES: '{"platform":"admin","shop":{"shop-api":"developer"}}',
    WINDLASS_SERVER_OIDC_NAME: 'Acme',
  }
  expect(read({ ...ENV, ...more })).toMatchObject({
    name: 'Acme',
    groupRoles: { platform: 'admin', shop: { 'shop-api': 'developer' } },
  })
})

test.each([
  ['an issuer over plain HTTP', { ...ENV, WINDLASS_SERVER_OIDC_ISSUER: 'http://login.test' }, 'OIDC_ISSUER'],
  ['an issuer without a client', { ...ENV, WINDLASS_SERVER_OIDC_CLIENT_ID: '' }, 'must be set together'],
  ['no advertised URL', { ...ENV, WINDLASS_SERVER_ADVERTISED_URL: '' }, 'must be set together'],
  ['scopes without openid', { ...ENV, WINDLASS_SERVER_OIDC_SCOPES: 'profile' }, 'must contain openid'],
  ['roles that are not JSON', { ...ENV, WINDLASS_SERVER_OIDC_ROLES: 'platform=admin' }, 'OIDC_ROLES is not valid'],
  ['an unknown role', { ...ENV, WINDLASS_SERVER_OIDC_ROLES: '{"platform":"root"}' }, 'OIDC_ROLES is not valid'],
])('refuses %s', (_, env, message) => {
  expect(() => read(env)).toThrow(message)
})

const SETTINGS: OidcSettings = {
  issuer: 'https://login.test',
  clientId: 'windlass',
  scopes: ['openid'],
  name: 'Acme',
  groupsClaim: 'groups',
  defaultRole: 'viewer',
  groupRoles: { a: 'developer', b: 'admin', c: { shop: 'viewer', web: 'developer' }, d: { shop: 'maintainer' } },
}

test('the highest role of the groups counts, and a project without a group is taken', () => {
  expect(grantsOf(SETTINGS, ['a', 'b', 'x'])).toEqual({
    role: 'admin',
    projects: new Map([
      ['shop', undefined],
      ['web', undefined],
    ]),
  })
  expect(grantsOf(SETTINGS, ['c', 'd'])).toEqual({
    role: 'viewer',
    projects: new Map([
      ['shop', 'maintainer'],
      ['web', 'developer'],
    ]),
  })
  expect(grantsOf({ ...SETTINGS, groupRoles: undefined }, ['a'])).toBeUndefined()
})

test('groups with the names of properties of objects give nothing', () => {
  expect(grantsOf(SETTINGS, ['constructor', '__proto__', 'toString'])?.role).toBe('viewer')
})
