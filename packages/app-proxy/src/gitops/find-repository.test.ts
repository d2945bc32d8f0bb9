import { expect, test } from 'vitest'
import type { Integration } from '../store/integrations.ts'
import { findRepository } from './find-repository.ts'

const sharingPolicy = 'ALL_USERS_IN_ACCOUNT'
const integrations: Integration[] = [
  { name: 'hub', provider: 'github', url: 'https://github.com', sharingPolicy },
  { name: 'lab', provider: 'gitlab', url: 'https://git.example.com', sharingPolicy },
  { name: 'below', provider: 'gitea', url: 'https://git.example.com/gitea/', sharingPolicy },
  { name: 'bit', provider: 'bitbucket-server', url: 'https://bit.example.com', sharingPolicy },
]

test.each([
  ['https://github.com/acme/apps.git', 'hub', 'acme/apps'],
  ['https://git.example.com/group/sub/apps.git', 'lab', 'group/sub/apps'],
  ['https://git.example.com/gitea/ann/apps.git', 'below', 'ann/apps'],
  ['https://bit.example.com/scm/SHOP/apps.git', 'bit', 'SHOP/apps'],
])('%s belongs to %s', (clone, name, repo) => {
  expect(findRepository(integrations, clone)).toMatchObject({ integration: { name }, repo })
})

test.each([
  'https://github.com.evil.test/acme/apps.git',
  'http://github.com/acme/apps.git',
  'https://github.com/apps.git',
  'https://example.com/acme/apps.git',
])('%s belongs to no integration, so no Git token goes there', (clone) => {
  expect(findRepository(integrations, clone)).toBeUndefined()
})
