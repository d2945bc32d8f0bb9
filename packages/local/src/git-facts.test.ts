import { expect, test } from 'vitest'
import { parseRemote } from './git-facts.ts'

test('reads owner, name and host from all forms of remote URLs', () => {
  const cases = {
    'https://github.com/demo/app.git': { owner: 'demo', name: 'app', host: 'https://github.com' },
    'https://user:secret@git.example.com:8443/group/sub/app': {
      owner: 'group/sub',
      name: 'app',
      host: 'https://git.example.com:8443',
    },
    'git@github.com:demo/app.git': { owner: 'demo', name: 'app', host: 'https://github.com' },
    'ssh://git@git.example.com:22/demo/app.git': { owner: 'demo', name: 'app', host: 'https://git.example.com' },
    '/srv/git/demo/app.git': { owner: 'srv/git/demo', name: 'app', host: undefined },
  }
  for (const [remote, parsed] of Object.entries(cases)) expect(parseRemote(remote), remote).toEqual(parsed)
})
