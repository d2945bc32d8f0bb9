import { expect, test } from 'vitest'
import { BUILTIN_VARIABLES, builtinVariables, gitVariables, isGitVariable, toDockerTag } from './builtin-variables.ts'

const git = {
  repoOwner: 'me',
  repoName: 'app',
  branch: 'Feature/ÄÖ one',
  revision: '0123456789abcdef0123456789abcdef01234567',
  commitMessage: 'Don\'t say "no" $HOME\nsecond line',
  commitAuthor: 'Ann',
  commitUrl: 'https://git.example/me/app/commit/0123456',
}

test('sets every variable of the table from its fact', () => {
  const values = builtinVariables({
    buildId: 'b1',
    buildUrl: 'https://ci.example/builds/b1',
    serverUrl: 'https://ci.example',
    createdAt: 1_700_000_000_000,
    initiator: 'ann',
    trigger: { kind: 'restart', name: 'push' },
    pipeline: 'demo/app',
    account: 'main',
    git,
  })
  expect(values).toMatchObject({
    CI: 'true',
    CF_BUILD_ID: 'b1',
    CF_BUILD_TIMESTAMP: '1700000000000',
    CF_PIPELINE_NAME: 'demo/app',
    CF_REPO_OWNER: 'me',
    CF_BRANCH: 'Feature/ÄÖ one',
    CF_BRANCH_TAG_NORMALIZED: 'Feature_one',
    CF_BRANCH_TAG_NORMALIZED_LOWER_CASE: 'feature_one',
    CF_REVISION: git.revision,
    CF_SHORT_REVISION: '0123456',
    CF_VOLUME_PATH: '/codefresh/volume',
  })
  expect(Object.keys(values).filter((name) => !Object.hasOwn(BUILTIN_VARIABLES, name))).toEqual([])
})

test('escapes quotes in a commit message, and all special characters in the escaped form (P129)', () => {
  const { CF_COMMIT_MESSAGE, CF_COMMIT_MESSAGE_ESCAPED } = gitVariables(git)
  expect(CF_COMMIT_MESSAGE).toBe('Don\\\'t say \\"no\\" $HOME\nsecond line')
  expect(CF_COMMIT_MESSAGE_ESCAPED).toBe('Don\\\'t say \\"no\\" \\$HOME\\nsecond line')
})

test('knows the variables that come from a Git event', () => {
  const pullRequest = {
    action: 'a',
    id: '1',
    number: '1',
    target: 't',
    headBranch: 'h',
    headCommit: 'c',
    labels: 'l',
    title: 't',
  }
  const comment = { comment: 'c', commentAuthor: 'a', merged: true, mergedCommit: 'm' }
  const release = { name: 'n', tag: 't', id: '1', isPrerelease: false }
  const all = gitVariables({ ...git, baseBranch: 'b', pullRequest: { ...pullRequest, ...comment }, release })
  expect(Object.keys(BUILTIN_VARIABLES).filter(isGitVariable).toSorted()).toEqual(Object.keys(all).toSorted())
  expect(isGitVariable('CF_REPO_SIZE')).toBe(false)
})

test('sets no variable for an unknown fact', () => {
  expect(gitVariables({})).toEqual({})
})

test('converts a branch to a tag that every registry accepts', () => {
  expect(['a/b//c', '.x', '-x', 'ok_1.2-3', 'x'.repeat(200)].map(toDockerTag)).toEqual([
    'a_b_c',
    'x',
    'x',
    'ok_1.2-3',
    'x'.repeat(128),
  ])
})
