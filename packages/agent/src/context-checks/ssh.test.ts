import { expect, test } from 'vitest'
import { readSshPlace } from './ssh.ts'

test('reads the host of an SSH address as clones do (E31)', () => {
  expect(readSshPlace('git@git.example.com')).toEqual({ host: 'git.example.com', port: 22 })
  expect(readSshPlace('git@git.example.com:team')).toEqual({ host: 'git.example.com', port: 22 })
  expect(readSshPlace('ssh://git@git.example.com:2222/team')).toEqual({ host: 'git.example.com', port: 2222 })
  expect(readSshPlace('ssh://git@[fd00::1]')).toEqual({ host: 'fd00::1', port: 22 })
  for (const text of ['', 'ftp://host', 'ssh://', 'a b']) expect(readSshPlace(text)).toBeUndefined()
})
