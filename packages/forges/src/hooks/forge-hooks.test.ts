import { expect, test } from 'vitest'
import { FORGE_HOOKS, HOOKED_FORGES, type HookedForge } from './forge-hooks.ts'

const hook = { url: 'https://ci.example.com/hooks/1', secret: 'a secret of a test' }

/** What each forge answers to the list of webhooks, shortened. */
const ANSWERS: Readonly<Record<HookedForge, unknown>> = {
  github: [{ id: 7, config: { url: hook.url } }],
  gitea: [{ id: 7, config: { url: hook.url, content_type: 'json' } }],
  gitlab: [{ id: 7, url: hook.url }],
  bitbucket: { values: [{ uuid: '7', url: hook.url }] },
  'bitbucket-server': { values: [{ id: 7, url: hook.url }], isLastPage: true },
}

test.each(HOOKED_FORGES)('reads the webhooks of %s, and creates one with the secret in its body only', (forge) => {
  const { page, create, remove } = FORGE_HOOKS[forge]
  const { read } = page('acme/app', 2)
  expect(read(ANSWERS[forge])).toEqual([{ id: '7', url: hook.url }])
  for (const other of [undefined, 'no', {}, [{}], { values: [{}] }]) expect(read(other) ?? []).toEqual([])
  const { method, path, body } = create('acme/app', hook)
  expect(method).toBe('POST')
  expect(path).not.toContain(hook.secret)
  expect(JSON.stringify(body)).toContain(JSON.stringify(hook.secret))
  expect(JSON.stringify(body)).toContain(JSON.stringify(hook.url))
  expect(remove('acme/app', '../8').path).toMatch(/\.\.%2F8$/)
})

test.each(HOOKED_FORGES)('an existing webhook of %s keeps its secret when it is refreshed', (forge) => {
  const call = FORGE_HOOKS[forge].refresh('acme/app', { id: '7', url: hook.url })
  expect(JSON.stringify(call ?? '')).not.toMatch(/secret|token/)
})

test('paths name a repository as its forge does', () => {
  const paths = HOOKED_FORGES.map((forge) => FORGE_HOOKS[forge].page('acme/team/app', 2).path)
  expect(paths).toEqual([
    '/repos/acme/team/app/hooks?per_page=50&page=2',
    '/projects/acme%2Fteam%2Fapp/hooks?per_page=50&page=2',
    '/repositories/acme/team/app/hooks?pagelen=50&page=2',
    '/api/1.0/projects/acme/team/repos/app/webhooks?limit=50&start=50',
    '/repos/acme/team/app/hooks?limit=50&page=2',
  ])
})
