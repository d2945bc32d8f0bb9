import { EventName, GitTrigger, TRIGGER_RULES, type RuleResult } from '@windlass/protocol'
import { expect, test } from 'vitest'
import type { ForgeEvent } from '../../forges/event.ts'
import { conclude, judge } from './judge.ts'

const PUSH: ForgeEvent = {
  names: ['push.heads', 'push'],
  repo: 'acme/app',
  branch: 'main',
  revision: 'a1'.repeat(20),
  occurrence: 'b2',
  files: ['src/app.ts', 'pages/guide.md'],
  git: { commitMessage: 'Fix it' },
}

const PULL: ForgeEvent = {
  ...PUSH,
  names: ['pullrequest.opened', 'pullrequest'],
  branch: 'feature/x',
  files: 'unknown',
  pullRequest: { isFork: false, authorMayWrite: undefined },
  git: { pullRequest: { target: 'main' } },
}

const COMMENT: ForgeEvent = {
  ...PULL,
  names: ['pullrequest.commentAdded', 'pullrequest.commentAddedUnrestricted'],
  comment: { text: 'please /test it', author: 'bob', authorMayWrite: true },
}

/** Returns the first rule that does not hold; undefined if the trigger builds. */
function stop(more: object, event: ForgeEvent = PUSH): RuleResult['rule'] | undefined {
  const events = ['push', 'pullrequest', 'pullrequest.commentAdded']
  const trigger = GitTrigger.parse({ name: 't', repo: 'acme/app', events, ...more })
  return judge(trigger, event).find(({ holds }) => !holds)?.rule
}

/** Returns true if the trigger builds after an approval. */
function waits(more: object, event: ForgeEvent): boolean {
  const events = ['push', 'pullrequest', 'pullrequest.commentAdded']
  const rules = judge(GitTrigger.parse({ name: 't', repo: 'acme/app', events, ...more }), event)
  return conclude(rules).needsApproval === true
}

test('applies every rule in the documented order, and shows those after the first that does not hold', () => {
  const trigger = GitTrigger.parse({ name: 't', repo: 'a/b', events: ['release'], disabled: true, branchRegex: '/^x$/' })
  const rules = judge(trigger, PUSH)
  expect(rules.map(({ rule }) => rule)).toEqual([...TRIGGER_RULES])
  expect(rules.filter(({ holds }) => !holds).map(({ rule }) => rule)).toEqual(['disabled', 'event', 'branch'])
  expect(rules.find(({ rule }) => rule === 'branch')?.text).toBe('"main" does not match /^x$/.')
})

test('a trigger builds for its events only, and a disabled one for none', () => {
  expect(stop({})).toBeUndefined()
  expect(stop({ events: ['push.tags'] })).toBe('event')
  expect(stop({ events: ['push.heads'] })).toBeUndefined()
  expect(stop({ disabled: true })).toBe('disabled')
})

test('filters branches by regular expressions, by globs and by exclusion (P141)', () => {
  const on = (branch: string, filter: object): RuleResult['rule'] | undefined => stop(filter, { ...PUSH, branch })
  expect(on('my-release-1', { branchRegex: '/release/g' })).toBeUndefined()
  expect(on('Feature-1', { branchRegex: '/feature-/gi' })).toBeUndefined()
  expect(on('main', { branchRegex: '/^((?!main).)*$/' })).toBe('branch')
  expect(on('dev', { branchRegex: '/^((?!main).)*$/' })).toBeUndefined()
  expect(on('main', { branchRegex: '/^(main|dev)$/', branchRegexInput: 'multiselect-exclude' })).toBe('branch')
  expect(on('next', { branchRegex: '/^(main|dev)$/', branchRegexInput: 'multiselect-exclude' })).toBeUndefined()
  expect(on('release/1.0', { branchRegex: 'release/*' })).toBeUndefined()
  expect(on('release/1/0', { branchRegex: 'release/*' })).toBe('branch')
  expect(on('main', { branchRegex: '!{main,release/**}' })).toBe('branch')
  expect(on('feature/x', { branchRegex: '!{main,release/**}' })).toBeUndefined()
  expect(stop({ branchRegex: '/x/' }, { ...PUSH, branch: undefined })).toBe('branch')
  // The flag g has a state in JavaScript: a second match must give the same result.
  for (let i = 0; i < 3; i += 1) expect(on('main', { branchRegex: '/main/g' })).toBeUndefined()
})

test('a filter that cannot be used does not hold, and says why', () => {
  const trigger = GitTrigger.parse({ name: 't', repo: 'a/b', events: ['push'], branchRegex: '/(/' })
  expect(judge(trigger, PUSH).find(({ rule }) => rule === 'branch')).toMatchObject({
    holds: false,
    text: expect.stringContaining('The filter cannot be used'),
  })
  const slow = `/^(${'(a+)+'.repeat(20)})$/`
  expect(stop({ branchRegex: slow }, { ...PUSH, branch: `${'a'.repeat(400)}b` })).toBe('branch')
})

test('filters pull requests by target branch, and comments by text (P143)', () => {
  expect(stop({ pullRequestTargetBranchRegex: '/^main$/' }, PULL)).toBeUndefined()
  expect(stop({ pullRequestTargetBranchRegex: '/^dev$/' }, PULL)).toBe('target-branch')
  expect(stop({ pullRequestTargetBranchRegex: '/^dev$/' }, PUSH)).toBeUndefined()
  expect(stop({ commentRegex: '/\\/test/gi' }, COMMENT)).toBeUndefined()
  expect(stop({ commentRegex: '/^\\/deploy/' }, COMMENT)).toBe('comment')
})

test.each([
  ['src/**', ['src/a/b.ts'], true],
  ['./src/**', ['src/a.ts'], true],
  ['/src/**', ['pages/a.md'], false],
  ['src/*', ['src/a/b.ts'], false],
  ['src/*', ['src/a.ts'], true],
  ['{a/*,b/**}', ['b/c/d'], true],
  ['{a/*,b/**}', ['a/c/d'], false],
  ['{a/{x,y}/*,b}', ['a/y/1'], true],
  ['dir//file', ['dir/a/b/file'], true],
  ['dir//file', ['dir/file'], true],
  ['**/*.md', ['a/b/c.md'], true],
  ['**/*.md', ['.github/c.md'], false],
  ['.github/**', ['.github/workflows/x.yml'], true],
  ['dir/!(x)**', ['dir/y'], true],
  ['dir/!(x)**', ['dir/x'], false],
  ['!pages/**', ['pages/a.md'], false],
  ['!pages/**', ['pages/a.md', 'src/a.ts'], true],
  ['!{pages/**,*.md}', ['pages/a.md', 'README.md'], false],
  ['!{pages/**,*.md}', ['pages/a.md', 'Makefile'], true],
])('the glob %s builds for the files %j: %s (P144)', (modifiedFilesGlob, files, builds) => {
  expect(stop({ modifiedFilesGlob }, { ...PUSH, files })).toBe(builds ? undefined : 'modified-files')
})

test('names the file and the glob that match, and counts unknown files as changed (P144)', () => {
  const text = (files: ForgeEvent['files']): string | undefined =>
    judge(GitTrigger.parse({ name: 't', repo: 'a/b', events: ['push'], modifiedFilesGlob: '{lib/**,src/**}' }), {
      ...PUSH,
      files,
    }).at(-1)?.text
  expect(text(['README.md', 'src/x.ts'])).toBe('src/x.ts matches src/**.')
  expect(text(['a', 'b', 'c', 'd'])).toBe('None of 4 changed files (a, b, c, …) matches {lib/**,src/**}.')
  expect(stop({ modifiedFilesGlob: 'x' }, { ...PUSH, files: 'all' })).toBeUndefined()
  expect(stop({ modifiedFilesGlob: 'x' }, { ...PUSH, files: 'unknown' })).toBeUndefined()
})

test.each(['[skip ci]', '[CI Skip]', 'text [no ci] text', '[skip codefresh]', '[codefresh skip]'])(
  'the commit message "%s" skips the build (P145)',
  (commitMessage) => {
    expect(stop({}, { ...PUSH, git: { commitMessage } })).toBe('skip-text')
    expect(stop({}, { ...PUSH, git: { commitMessage: commitMessage.replace(/[[\]]/g, '') } })).toBeUndefined()
  },
)

test('builds pull requests from forks only if the trigger allows it, those of strangers after an approval (P146)', () => {
  const from = (isFork: boolean | undefined, authorMayWrite?: boolean): ForgeEvent => ({
    ...PULL,
    pullRequest: { isFork, authorMayWrite },
  })
  const allowed = { pullRequestAllowForkEvents: true }
  expect(stop({}, from(false))).toBeUndefined()
  expect(waits({}, from(false))).toBe(false)
  for (const isFork of [true, undefined]) {
    expect(stop({}, from(isFork, true))).toBe('fork')
    for (const [mayWrite, isHeld] of [
      [true, false],
      [false, true],
      [undefined, true],
    ] as const) {
      expect(stop(allowed, from(isFork, mayWrite))).toBeUndefined()
      expect(waits(allowed, from(isFork, mayWrite))).toBe(isHeld)
    }
    for (const revision of [undefined, 'refs/pull/7/head', 'a1a1a1a1a1a1'])
      expect(stop(allowed, { ...from(isFork, true), revision }), `${revision} can change`).toBe('fork')
  }
  // A comment on a pull request from a fork counts by the author of the comment.
  const anyone = { ...allowed, skipCommentAuthorAssociationValidation: true }
  for (const [authorMayWrite, isHeld] of [
    [true, false],
    [false, true],
  ] as const) {
    const comment = { text: '/test', author: 'eve', authorMayWrite }
    expect(waits(anyone, { ...COMMENT, ...from(true, !authorMayWrite), names: COMMENT.names, comment })).toBe(isHeld)
  }
})

test('builds for comments of writers only, unless the trigger allows every author (P146)', () => {
  const by = (authorMayWrite: boolean | undefined): ForgeEvent => ({
    ...COMMENT,
    names: COMMENT.names,
    comment: { text: '/test', author: 'bob', authorMayWrite },
  })
  expect(stop({}, by(true))).toBeUndefined()
  for (const mayWrite of [false, undefined]) {
    expect(stop({}, by(mayWrite))).toBe('comment-author')
    expect(stop({ skipCommentAuthorAssociationValidation: true }, by(mayWrite))).toBeUndefined()
    expect(stop({ events: [EventName.enum['pullrequest.commentAddedUnrestricted']] }, by(mayWrite))).toBeUndefined()
  }
})
