import { expect, test } from 'vitest'
import { describeDestination, describeSource, shortRevision } from './sources.ts'

test.each([
  [{ repo: 'https://git.example.com/acme/shop.git', path: 'deploy/prod' }, 'git.example.com/acme/shop deploy/prod'],
  [{ repo: 'https://git.example.com/acme/shop', path: '.' }, 'git.example.com/acme/shop'],
  [{ repo: 'oci://registry.example.com/charts', chart: 'shop' }, 'registry.example.com/charts shop'],
  [{ repo: 'git@git.example.com:acme/shop.git' }, 'git@git.example.com:acme/shop'],
])('%j is %s', (source, text) => {
  expect(describeSource(source)).toBe(text)
})

test.each([
  ['0123456789abcdef0123456789abcdef01234567', '01234567'],
  ['1.2.3', '1.2.3'],
])('the revision %s is %s', (revision, text) => {
  expect(shortRevision(revision)).toBe(text)
})

test.each([
  [{ server: 'https://kubernetes.default.svc', namespace: 'shop' }, 'in-cluster / shop'],
  [{ name: 'prod', server: 'https://10.0.0.1' }, 'prod'],
  [{ server: 'https://10.0.0.1', namespace: '' }, 'https://10.0.0.1'],
])('the destination %j is %s', (destination, text) => {
  expect(describeDestination({ destination })).toBe(text)
})
