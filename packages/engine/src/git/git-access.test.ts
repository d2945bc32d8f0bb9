import { expect, test } from 'vitest'
import type { ResolvedGitClone } from '@windlass/plan'
import type { GitAccess } from '@windlass/protocol'
import { toGitTarget } from './git-access.ts'

const forge: GitAccess = {
  context: 'forge',
  isDefault: true,
  url: 'https://git.example.com/',
  username: 'robot',
  password: 'p@ss word',
}
const shell: GitAccess = {
  context: 'shell',
  isDefault: false,
  url: 'git@ssh.example.com',
  sshPrivateKey: 'KEY',
  sshKnownHosts: 'known',
}

function target(repo: string, more: Partial<ResolvedGitClone> = {}) {
  const action: ResolvedGitClone = {
    kind: 'git-clone',
    repo,
    directory: '/codefresh/volume/x',
    excludeBlobs: false,
    skipTagsOnUpdate: false,
    useProxy: false,
    ...more,
  }
  return toGitTarget(action, [forge, shell])
}

test('resolves owner/name at the default or named integration', () => {
  expect(target('team/app')).toMatchObject({
    url: 'https://git.example.com/team/app',
    integration: 'forge',
    secrets: { credentials: 'https://robot:p%40ss%20word@git.example.com\n' },
  })
  expect(target('team/app', { git: 'CF-default' }).integration).toBe('forge')
  expect(target('team/app', { git: 'shell' }).url).toBe('git@ssh.example.com:team/app')
  expect(() => target('team/app', { git: 'nobody' })).toThrow('no git integration "nobody"')
})

test('uses only the credentials of the integration of the URL host', () => {
  expect(target('https://git.example.com/team/app.git').integration).toBe('forge')
  expect(target('https://other.example.com/team/app.git')).toMatchObject({
    integration: undefined,
    secrets: { credentials: '\n' },
  })
  expect(target('git@ssh.example.com:team/app.git')).toMatchObject({
    url: 'git@ssh.example.com:team/app.git',
    integration: 'shell',
    secrets: { key: 'KEY\n', known_hosts: 'known\n' },
  })
  expect(target('git@elsewhere.example.com:team/app.git').secrets).toEqual({ known_hosts: '\n' })
})

test('removes credentials from the URL and masks them', () => {
  expect(target('https://me:tok%2Fen@other.example.com/x.git')).toMatchObject({
    url: 'https://other.example.com/x.git',
    mask: ['tok/en'],
    secrets: { credentials: 'https://me:tok%2Fen@other.example.com\n' },
  })
  const own = target('https://git.example.com/x.git', { credentials: { username: 'a', password: 'b' } })
  expect(own.secrets).toEqual({ credentials: 'https://a:b@git.example.com\n' })
})

test('rejects protocols that could run programs or reads them as a path at the integration', () => {
  for (const repo of ['git://example.com/x', 'ftp://example.com/x']) expect(() => target(repo)).toThrow('not allowed')
  expect(target('ext::sh -c id').url).toMatch(/^https:\/\/git\.example\.com\//)
})
