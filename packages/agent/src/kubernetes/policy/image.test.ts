import { expect, test } from 'vitest'
import { isListedImage } from './image.ts'

const DIGEST = `sha256:${'a'.repeat(64)}`
const OTHER = `sha256:${'b'.repeat(64)}`

test.each<[entry: string, listed: readonly string[], others: readonly string[]]>([
  [
    'windlass/dind',
    ['windlass/dind', 'windlass/dind:1', `windlass/dind:1@${DIGEST}`, 'docker.io/windlass/dind:1'],
    [
      'windlass/dind-of-others:1',
      'windlass/dind/more:1',
      'windlass/din',
      'ghcr.io/windlass/dind:1',
      'evil.example/windlass/dind:1',
    ],
  ],
  [
    'windlass/dind:1',
    ['windlass/dind:1', `windlass/dind:1@${OTHER}`],
    ['windlass/dind:10', 'windlass/dind', `windlass/dind@${DIGEST}`],
  ],
  [
    `windlass/dind@${DIGEST}`,
    [`windlass/dind@${DIGEST}`, `windlass/dind:1@${DIGEST}`],
    ['windlass/dind:1', `windlass/dind@${OTHER}`],
  ],
  [
    'registry.example.com/ci/',
    ['registry.example.com/ci/dind:1', 'registry.example.com/ci/a/b'],
    ['registry.example.com/cifs/dind', 'registry.example.com/dind', 'ci/dind'],
  ],
  ['registry.example.com/', ['registry.example.com/dind:1'], ['registry.example.com.evil.example/dind:1', 'dind']],
  ['registry:5000/dind', ['registry:5000/dind:1'], ['registry:5001/dind:1', 'registry/dind:1']],
  ['dind', ['docker.io/library/dind:1'], ['evil/dind', 'dind/evil']],
])('matches the entry %s with %j and not with %j', (entry, listed, others) => {
  for (const image of listed) expect(isListedImage(image, [entry]), image).toBe(true)
  for (const image of others) expect(isListedImage(image, [entry]), image).toBe(false)
})

test('does not match an invalid image reference', () => {
  for (const image of ['', ' ', 'a b', 'windlass/dind@sha256:short', 'registry.example.com/ci/../dind', ':1', '@'])
    expect(isListedImage(image, ['windlass/dind', 'registry.example.com/ci/', 'registry.example.com/']), image).toBe(false)
})
