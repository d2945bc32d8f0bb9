import { expect, test } from 'vitest'
import { openImageClaims } from './image-claims.ts'

test('does not remove a claimed image or claim an image that is being removed', async () => {
  const claims = openImageClaims()
  const removed: string[] = []
  expect(await claims.claim('used')).toBe(true)
  await claims.remove('used', async () => removed.push('used') > 0)
  const slow = Promise.withResolvers<void>()
  const removal = claims.remove('old', () => slow.promise.then(() => removed.push('old') > 0))
  const claim = claims.claim('old')
  expect(removed).toEqual([])
  slow.resolve()
  expect(await removal).toBe(true)
  expect(await claim).toBe(false)
  expect(removed).toEqual(['old'])
  expect(await claims.claim('old')).toBe(true)
  expect(claims.claimed()).toEqual(['used', 'old'])
})
