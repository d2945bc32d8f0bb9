import { expect, test } from 'vitest'
import { localCachePaths } from './local-caches.ts'

test.each([
  ['type=local,src=cache', ['cache']],
  ['type=local,dest=/codefresh/volume/cache,mode=max', ['/codefresh/volume/cache']],
  ['SRC=/run/windlass,TYPE=local', ['/run/windlass']],
  ['"type=local","src=/run/windlass"', ['/run/windlass']],
  ['type=registry,ref=example.com/src=x', []],
  ['example.com/app:cache', []],
])('finds the folders of the layer cache %s: %j', (entry, paths) => {
  expect(localCachePaths([entry])).toEqual(paths)
})
