import { expect, test } from 'vitest'
import { joinRepositoryUrl, RepositoryUrl, splitRepositoryUrl } from './repository-url.ts'

test.each([
  ['https://git.example.com/acme/apps.git', 'https://git.example.com/acme/apps.git', '', undefined],
  ['https://git.example.com/acme/apps', 'https://git.example.com/acme/apps.git', '', undefined],
  ['https://git.example.com/acme/apps.git/prod/eu/?ref=main', 'https://git.example.com/acme/apps.git', 'prod/eu', 'main'],
  ['https://git.example.com:443/a/b/c.git?ref=release/1.0', 'https://git.example.com/a/b/c.git', '', 'release/1.0'],
  ['https://my.github.com/my.github/x.git//y', 'https://my.github.com/my.github/x.git', 'y', undefined],
  ['http://git.test:3000/scm/P/x.git', 'http://git.test:3000/scm/P/x.git', '', undefined],
])('splits %s', (text, clone, path, branch) => {
  expect(splitRepositoryUrl(text)).toEqual({ clone, path, branch })
  // Two spellings of one place are one text.
  const normal = RepositoryUrl.parse(text)
  expect(normal).toBe(joinRepositoryUrl({ clone, path, branch }))
  expect(RepositoryUrl.parse(normal)).toBe(normal)
})

test.each([
  '',
  'x',
  'https://',
  'https:///a/b',
  'https://h/a b',
  'https://h/a%2fb',
  'https://h/a#b',
  'https://h/a\\b',
  'https://h//a',
])('refuses %j', (text) => {
  expect(RepositoryUrl.safeParse(text).success).toBe(false)
})
