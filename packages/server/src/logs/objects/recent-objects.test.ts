import { expect, test } from 'vitest'
import type { Objects } from './objects.ts'
import { rememberRecent } from './recent-objects.ts'

/** A store in memory that counts reads. */
function openStore() {
  const stored = new Map<string, Buffer>()
  const reads: string[] = []
  const objects: Objects = {
    async put(key, parts) {
      const all: Uint8Array[] = []
      for await (const some of Symbol.asyncIterator in parts ? parts : [parts]) all.push(...some)
      stored.set(key, Buffer.concat(all))
    },
    async get(key, { start, bytes }) {
      reads.push(key)
      return stored.get(key)?.subarray(start, start + bytes)
    },
    head: async () => undefined,
    delete: async (key) => void stored.delete(key),
    list: async function* () {},
  }
  return { objects, reads }
}

async function text(objects: Objects, key: string): Promise<string | undefined> {
  return (await objects.get(key, { start: 1, bytes: 2 }))?.toString()
}

test('serves the newest objects from memory and older ones from the store', async () => {
  const { objects, reads } = openStore()
  const recent = rememberRecent(objects, 10)
  const reused = Buffer.from('abcd')
  await recent.put('1', [reused])
  reused.fill('x')
  await recent.put('2', [Buffer.from('ef'), Buffer.from('gh')])
  expect([await text(recent, '1'), await text(recent, '2')]).toEqual(['bc', 'fg'])
  expect(reads).toEqual([])
  await recent.put('3', [Buffer.from('ijkl')])
  expect([await text(recent, '1'), await text(recent, '2'), await text(recent, '3')]).toEqual(['bc', 'fg', 'jk'])
  expect(reads).toEqual(['1'])
})

test('forgets deleted objects and keeps neither merged nor failed ones', async () => {
  const { objects, reads } = openStore()
  const recent = rememberRecent(objects, 10)
  await recent.put('1', [Buffer.from('abcd')])
  await recent.delete('1')
  expect(await text(recent, '1')).toBeUndefined()
  const merged = async function* (): AsyncGenerator<readonly Uint8Array[]> {
    yield [Buffer.from('efgh')]
  }
  await recent.put('2', merged())
  expect(await text(recent, '2')).toBe('fg')
  const away = rememberRecent({ ...objects, put: () => Promise.reject(new Error('away')) }, 10)
  await expect(away.put('3', [Buffer.from('ijkl')])).rejects.toThrow('away')
  expect(await text(away, '3')).toBeUndefined()
  expect(reads).toEqual(['1', '2', '3'])
})
