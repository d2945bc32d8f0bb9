import { expect, test } from 'vitest'
import { loginFor } from './docker-config.ts'
import { keysIn, readIssues } from './issues.ts'
import { openProjects } from './limits.ts'
import { repoIn } from './commit.ts'

test('keys of issues are found in the texts of commits and branches', () => {
  expect(keysIn('SHOP-12: mend the cart, see SHOP-12 and PAY_2-7', [])).toEqual(['SHOP-12', 'PAY_2-7'])
  // Without a project, small letters are words such as utf-8.
  expect(keysIn('feature/shop-12-utf-8', [])).toEqual([])
  expect(keysIn('feature/shop-12-utf-8', ['SHOP'])).toEqual(['SHOP-12'])
  expect(keysIn('XSHOP-1 SHOP-1x shop-2', ['shop-'])).toEqual(['SHOP-2'])
  expect(keysIn('CVE-2026-1234', ['CVE'])).toEqual(['CVE-2026'])
})

test('an issue that was moved out of the allowed projects is not read by its old key', async () => {
  const fields = { summary: 'Mend the cart' }
  const keyNow: Readonly<Record<string, string>> = { 'SHOP-1': 'SHOP-1', 'SHOP-2': 'ADM-9', 'SHOP-3': 'PAY-7' }
  const jira = { url: 'https://jira.test', token: 't', isAllowed: openProjects(['shop', 'ADM-'], []) }
  const issues = await readIssues(
    async ({ pathname }) => ({
      status: 200,
      headers: {},
      text: JSON.stringify({ key: keyNow[pathname.split('/').at(-1) ?? ''], fields }),
    }),
    jira,
    Object.keys(keyNow),
  )
  expect(issues.map(({ key }) => key)).toEqual(['SHOP-1', 'SHOP-2'])
})

test('the login of a registry is that of its host, in each form of the file', () => {
  const auth = Buffer.from('mira:p:w').toString('base64')
  const text = JSON.stringify({
    auths: {
      'https://index.docker.io/v1/': { auth },
      'registry.example.com:5000': { username: 'a', password: 'b' },
      'https://ghcr.io': { auth: 'broken' },
      'helped.test': {},
      'odd.test': { auth: 7 },
    },
  })
  expect(loginFor(text, 'registry-1.docker.io')).toMatchObject({ username: 'mira', password: 'p:w' })
  expect(loginFor(text, 'registry.example.com:5000')).toMatchObject({ username: 'a', password: 'b' })
  for (const host of ['registry.example.com', 'ghcr.io', 'helped.test', 'odd.test', 'evil.test'])
    expect(loginFor(text, host)).toBeUndefined()
  expect(() => loginFor('[]', 'x')).toThrow('config.json of Docker')
})

test('a repository is named by its URL or by owner and name', () => {
  expect(repoIn('acme/shop', undefined)).toBe('acme/shop')
  expect(repoIn('https://git.example.com/acme/shop.git', 'https://git.example.com/')).toBe('acme/shop')
  expect(repoIn('https://example.com/git/acme/shop/', 'https://example.com/git')).toBe('acme/shop')
  expect(repoIn('https://github.com/acme/shop', undefined)).toBe('acme/shop')
})
