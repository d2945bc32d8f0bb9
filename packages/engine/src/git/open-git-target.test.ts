import { fault, manualClock } from '@windlass/kit'
import type { ResolvedGitClone } from '@windlass/plan'
import type { GitAccess } from '@windlass/protocol'
import { expect, test } from 'vitest'
import type { RequestGitAccess } from '../attempt/input.ts'
import { openGitTarget, type CredentialPart } from './open-git-target.ts'

const EXPIRES_AT = 1_000_000
const known: GitAccess = {
  context: 'forge',
  isDefault: true,
  url: 'https://git.example.com',
  username: 'robot',
  password: 'first',
  expiresAt: EXPIRES_AT,
}
const fixed: GitAccess = {
  context: 'fixed',
  isDefault: false,
  url: 'https://fixed.example.com',
  username: 'me',
  password: 'kept',
}

function open(request: RequestGitAccess | undefined, { now = 0, git = 'forge' } = {}) {
  const hidden: string[] = []
  const part: CredentialPart = {
    context: { input: { git: [known, fixed] }, requestGitAccess: request, clock: manualClock(now) },
    output: { hide: (values) => void hidden.push(...values) },
    signal: new AbortController().signal,
  }
  const action: ResolvedGitClone = {
    kind: 'git-clone',
    repo: 'team/app',
    git,
    directory: '/codefresh/volume/app',
    excludeBlobs: false,
    skipTagsOnUpdate: false,
    useProxy: false,
  }
  return { target: openGitTarget(part, action), hidden }
}

const refuse: RequestGitAccess = async () => {
  throw fault('forge-refused', { message: 'Connect again.' })
}

test('clones with the token that the server returns, and hides it', async () => {
  const { target, hidden } = open(async (context) => ({ ...known, context, password: 'second' }))
  expect((await target).secrets).toEqual({ credentials: 'https://robot:second@git.example.com\n' })
  expect(hidden).toContain('second')
})

test('does not request a password that does not expire', async () => {
  const { target } = open(refuse, { git: 'fixed', now: EXPIRES_AT })
  expect((await target).secrets).toEqual({ credentials: 'https://me:kept@fixed.example.com\n' })
})

test('uses the token of the claim until it expires if the server returns none, then fails with its reason', async () => {
  expect((await open(refuse).target).secrets).toEqual({ credentials: 'https://robot:first@git.example.com\n' })
  await expect(open(refuse, { now: EXPIRES_AT }).target).rejects.toMatchObject({
    reason: 'clone-failed',
    message: 'Connect again.',
  })
})

test('stops for a server that refuses the attempt', async () => {
  const stale: RequestGitAccess = async () => {
    throw fault('attempt-stale')
  }
  await expect(open(stale).target).rejects.toMatchObject({ code: 'attempt-stale' })
})
