/** A memory of the newest objects, so that followers on the server that wrote them cause no requests to a remote store. */
import type { Objects } from './objects.ts'

/** Serves reads of the last written objects from memory, up to `maxBytes` in total. Merged objects are not kept. */
export function rememberRecent(objects: Objects, maxBytes: number): Objects {
  // In the order in which they were written.
  const recent = new Map<string, Buffer>()
  let total = 0

  function forget(key: string): void {
    total -= recent.get(key)?.byteLength ?? 0
    recent.delete(key)
  }

  function remember(key: string, bytes: Buffer): void {
    forget(key)
    if (bytes.byteLength > maxBytes) return
    recent.set(key, bytes)
    total += bytes.byteLength
    for (const oldest of recent.keys()) {
      if (total <= maxBytes) return
      forget(oldest)
    }
  }

  return {
    ...objects,
    async put(key, parts) {
      if (Symbol.asyncIterator in parts) return objects.put(key, parts)
      // A copy, because the memory of request bodies is reused.
      const bytes = Buffer.concat([...parts])
      await objects.put(key, [bytes])
      remember(key, bytes)
    },
    async get(key, range) {
      const bytes = recent.get(key)
      // A copy, so that a slow reader does not keep the whole object in memory.
      return bytes === undefined ? objects.get(key, range) : Buffer.from(bytes.subarray(range.start, range.start + range.bytes))
    },
    async delete(key) {
      forget(key)
      await objects.delete(key)
    },
  }
}
