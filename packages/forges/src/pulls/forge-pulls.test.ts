import { expect, test } from 'vitest'
import type { ForgePage } from '../api/forge-api.ts'
import { FORGE_PULLS, type ForgePulls } from './forge-pulls.ts'

const PLACE = { repo: 'acme/apps', head: 'windlass-promote-1', base: 'release/1' }
const NEW = { ...PLACE, title: 'Promote', description: 'Release 1' }
const page = (body: unknown): ForgePage => ({ url: new URL('https://git.test/api'), body, headers: {} })

function pullsOf(forge: 'github' | 'gitea' | 'gitlab'): ForgePulls {
  const pulls = FORGE_PULLS[forge]
  if (pulls === undefined) throw new Error(`no pull requests of ${forge}`)
  return pulls
}

test('each forge is asked in its form, also for a base with a slash', () => {
  expect(pullsOf('github').of(PLACE).path).toBe(
    '/repos/acme/apps/pulls?head=acme%3Awindlass-promote-1&base=release%2F1&state=all',
  )
  expect(pullsOf('gitea').of(PLACE).path).toBe('/repos/acme/apps/pulls/release%2F1/windlass-promote-1')
  expect(pullsOf('gitlab').of(PLACE).path).toBe(
    '/projects/acme%2Fapps/merge_requests?source_branch=windlass-promote-1&target_branch=release%2F1&state=all',
  )
  expect(pullsOf('github').create(NEW)).toMatchObject({
    path: '/repos/acme/apps/pulls',
    body: { head: PLACE.head, base: PLACE.base, title: 'Promote', body: 'Release 1' },
  })
  expect(pullsOf('gitlab').create(NEW)).toMatchObject({
    path: '/projects/acme%2Fapps/merge_requests',
    body: { source_branch: PLACE.head, target_branch: PLACE.base, title: 'Promote', description: 'Release 1' },
  })
  expect(pullsOf('gitlab').one('acme/apps', 7).path).toBe('/projects/acme%2Fapps/merge_requests/7')
  expect(pullsOf('github').ofCommit('acme/apps', 'a1').path).toBe('/repos/acme/apps/commits/a1/pulls')
  expect(pullsOf('gitea').ofCommit('acme/apps', 'a1').path).toBe('/repos/acme/apps/commits/a1/pull')
  expect(pullsOf('gitlab').ofCommit('acme/apps', 'a1').path).toBe('/projects/acme%2Fapps/repository/commits/a1/merge_requests')
})

test('states are read in the forms of each forge, and an answer of another shape is none', () => {
  const github = { number: 7, html_url: 'https://git.test/acme/apps/pull/7', state: 'open', merged: false, merge_commit_sha: 'a' }
  const read = (body: unknown): unknown => pullsOf('github').one('acme/apps', 7).read(page(body))
  expect(read(github)).toEqual({ number: 7, url: github.html_url, state: 'open' })
  expect(read({ ...github, state: 'closed' })).toMatchObject({ state: 'closed' })
  expect(read({ ...github, state: 'closed', merged: true })).toMatchObject({ state: 'merged', revision: 'a' })
  expect(read({ ...github, html_url: 'javascript:alert(1)' })).toMatchObject({ url: '' })
  expect(read({ message: 'no' })).toBeUndefined()
  // A list says it with a time.
  expect(
    pullsOf('github')
      .of(PLACE)
      .read(page([{ ...github, merged: undefined, merged_at: '2027-01-10T08:00:00Z' }])).items,
  ).toMatchObject([{ state: 'merged' }])
  expect(pullsOf('gitea').of(PLACE).read(page(github)).items).toHaveLength(1)
  const gitlab = {
    iid: 3,
    web_url: 'https://git.test/-/3',
    state: 'merged',
    merge_commit_sha: null,
    squash_commit_sha: 'b',
    sha: 'c',
  }
  const readGitlab = (body: unknown): unknown => pullsOf('gitlab').one('acme/apps', 3).read(page(body))
  expect(readGitlab(gitlab)).toEqual({ number: 3, url: gitlab.web_url, state: 'merged', revision: 'b' })
  expect(readGitlab({ ...gitlab, squash_commit_sha: null })).toMatchObject({ revision: 'c' })
  expect(readGitlab({ ...gitlab, state: 'opened' })).toMatchObject({ state: 'open' })
  expect(readGitlab({ ...gitlab, state: 'closed' })).toMatchObject({ state: 'closed' })
})
