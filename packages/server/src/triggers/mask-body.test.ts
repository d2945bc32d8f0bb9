import { expect, test } from 'vitest'
import { maskBody, maskHeaders } from './mask-body.ts'

test('masks secrets in fields, in logins of URLs and in parameters of URLs', () => {
  const body = {
    ref: 'refs/heads/main',
    token: 's3cret-1',
    hook: { config: { secret: 's3cret-2', insecure_ssl: '0' }, accessToken: 's3cret-3', api_key: 's3cret-4' },
    repository: {
      clone_url: 'https://mira:s3cret-5@forge.test/acme/app.git',
      archive: 'https://forge.test/a?ref=main&access_token=s3cret-6&sig=s3cret-7',
    },
    list: [{ password: 's3cret-8' }],
  }
  const masked = maskBody(JSON.stringify(body))
  expect(masked).not.toContain('s3cret')
  expect(JSON.parse(masked)).toMatchObject({
    ref: 'refs/heads/main',
    token: '*****',
    hook: { config: { insecure_ssl: '0' } },
    repository: {
      clone_url: 'https://*****@forge.test/acme/app.git',
      archive: 'https://forge.test/a?ref=main&access_token=*****&sig=*****',
    },
  })
})

test('keeps a body without secrets as it was received', () => {
  const body = '{ "ref":"refs/heads/main",  "commits":[{"message":"Rotate the token","id":"1"}], "tokens_used": 3, "secret": "" }'
  expect(maskBody(body)).toBe(body)
  expect(maskBody('not JSON, https://mira:s3cret@forge.test/')).toBe('not JSON, https://*****@forge.test/')
})

test('masks headers with secrets', () => {
  expect(maskHeaders({ 'x-github-event': 'push', 'x-gitlab-token': 's3cret' })).toEqual({
    'x-github-event': 'push',
    'x-gitlab-token': '*****',
  })
})
