import { expect, test } from 'vitest'
import { isBranchName, overlapOf, problemOfPath } from './paths.ts'

test.each([
  'app.yaml',
  'deploy/prod/app.yaml',
  '.github/workflows/ci.yml',
  '.gitignore',
  'a b/ü.txt',
  '-option',
  'git',
  'x.git/y',
  '"quoted"',
])('the path %s can be written', (path) => {
  expect(problemOfPath(path)).toBeUndefined()
})

test.each([
  '',
  '/etc/passwd',
  '../outside',
  'a/../../outside',
  './a',
  'a//b',
  'a/',
  '.git/config',
  'a/.git/hooks/post-checkout',
  '.GIT/config',
  '.g\u200cit/config',
  '.git./config',
  '.git /config',
  '.git::$INDEX_ALLOCATION/config',
  'git~1/config',
  'GIT~2',
  'a\\..\\b',
  'a\nb',
  'a\0b',
  'a\tb',
  `${'d/'.repeat(600)}x`,
  'n'.repeat(256),
  '\ud800',
])('the path %j cannot be written', (path) => {
  expect(problemOfPath(path)).toBeDefined()
})

test.each(['main', 'release/1.2', 'feature/ü', 'a.b', 'a@b'])('%s is a branch', (name) => expect(isBranchName(name)).toBe(true))

test.each([
  '',
  '-d',
  '/a',
  'a/',
  'a..b',
  'a b',
  'a~1',
  'a^',
  'a:b',
  'a?',
  '*',
  'a[b',
  'a\\b',
  'a.lock',
  'a/.b',
  'a.',
  '@',
  'a@{1}',
  'a//b',
  'a\nb',
])('%j is not a branch', (name) => expect(isBranchName(name)).toBe(false))

test('paths overlap with themselves, with their folders and with what is inside them', () => {
  const changed = ['a/x.yaml', 'a', 'a/b', 'ab', 'c/d/e']
  expect(overlapOf(changed, ['a/x.yaml'])).toEqual(['a/x.yaml', 'a'])
  expect(overlapOf(changed, ['c/d'])).toEqual(['c/d/e'])
  expect(overlapOf(changed, ['b', 'a/x'])).toEqual(['a'])
})
