import { expect, test } from 'vitest'
import { LayerCacheCounter } from './layer-cache.ts'

function count(text: string, size = text.length): { hits: number; misses: number } {
  const counter = new LayerCacheCounter()
  const bytes = Buffer.from(text)
  for (let start = 0; start < bytes.length; start += size) counter.push(bytes.subarray(start, start + size))
  return counter.result
}

const PLAIN = `#1 [internal] load build definition from Dockerfile
#1 DONE 0.0s
#4 [base 1/3] FROM docker.io/library/alpine
#4 CACHED
#5 [base 2/3] RUN one
#5 CACHED
#6 [base 3/3] COPY . .
#6 sha256:12 CACHED
#6 DONE 0.1s
#7 [linux/arm64 2/2] RUN [1/2] CACHED
#7 0.1 CACHED
#7 DONE 2.0s
#8 exporting to image
#8 CACHED
`

test('counts cached steps as hits and other steps as misses for any chunk size', () => {
  for (const size of [1, 7, 1000]) expect(count(PLAIN, size)).toEqual({ hits: 1, misses: 2 })
})

test('reads the output of the classic builder', () => {
  expect(
    count(
      'Step 1/3 : FROM alpine\n ---> 123\nStep 2/3 : RUN one\n ---> Using cache\n ---> 456\nStep 3/3 : RUN two\n ---> Running in 1\n',
    ),
  ).toEqual({ hits: 1, misses: 1 })
})

test('reads rawjson over several lines', () => {
  const object = { vertexes: [{ digest: 'b', name: '[2/3] RUN x', completed: 't', cached: true }], statuses: [{ id: '}' }] }
  expect(count(`${JSON.stringify(object, undefined, 2)}\n${JSON.stringify({ vertexes: [] }, undefined, 2)}\n`)).toEqual({
    hits: 1,
    misses: 0,
  })
})

test('reads rawjson', () => {
  const vertex = (digest: string, name: string, more: object) => JSON.stringify({ vertexes: [{ digest, name, ...more }] }) + '\n'
  expect(
    count(
      vertex('a', '[1/3] FROM x', { completed: 't', cached: true }) +
        vertex('b', '[2/3] RUN x', {}) +
        vertex('b', '[2/3] RUN x', { completed: 't', cached: true }) +
        vertex('c', '[3/3] RUN y', { completed: 't' }) +
        '{broken\n',
    ),
  ).toEqual({ hits: 1, misses: 1 })
})
