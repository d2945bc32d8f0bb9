import { expect, test } from 'vitest'
import { showBody } from './shown-body.ts'

test('masks the values of secret fields and the logins of URLs', () => {
  const body = {
    ref: 'refs/heads/main',
    repository: { clone_url: 'https://ann:hunter2@git.example.com/acme/app.git' },
    secret: 'hunter3',
    list: [{ access_token: 'hunter4', 'x-api-key': 'hunter5' }],
  }
  expect(JSON.parse(showBody(JSON.stringify(body)))).toEqual({
    ref: 'refs/heads/main',
    repository: { clone_url: 'https://*****@git.example.com/acme/app.git' },
    secret: '*****',
    list: [{ access_token: '*****', 'x-api-key': '*****' }],
  })
})

test('masks what is nested more deeply than any forge does', () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  expect(showBody(`{"secret":"hunter2","deep":${deep}}`)).toContain('*****')
})

test('masks secret fields in any spelling, also numbers', () => {
  const names = [
    'accessToken',
    'clientSecret',
    'ApiKey',
    'privateKey',
    'secret_key',
    'GITHUB_TOKEN',
    'dbPassword',
    'Authorization',
  ]
  const shown: unknown = JSON.parse(
    showBody(JSON.stringify(Object.fromEntries(names.map((name, index) => [name, `hunter${index}`])))),
  )
  expect(shown).toEqual(Object.fromEntries(names.map((name) => [name, '*****'])))
  expect(showBody('{"password":12345}')).toBe('{"password":"*****"}')
})

test('returns a body without secrets as it was received', () => {
  const body = '{ "ref" : "refs/heads/main",\n "tokens": 3, "token": "" }'
  expect(showBody(body)).toBe(body)
})
