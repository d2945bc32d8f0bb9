/** Log objects in a bucket of S3 or a compatible store. */
import { elementsOf, textOf } from '@windlass/cloud'
import { defined, fault, isFault } from '@windlass/kit'
import { requireObjectKey, type Objects } from '../objects/objects.ts'
import { keyOf } from './address.ts'
import { S3Error, type S3 } from './client.ts'
import { getObject, sizeOf } from './get-object.ts'
import { openUpload, type Upload } from './upload.ts'

/** Size from which an object is sent in parts. The store requires 5 MiB for each part except the last. */
const PART_BYTES = 8_388_608
const KEYS_PER_PAGE = 1_000

/**
 * Stores each object below the prefix of the address. Repeating a call is harmless, because a key always has the same bytes. Throws `unavailable`
 * if the store does not answer or refuses the call.
 */
export function s3Objects(s3: S3): Objects {
  const { address } = s3

  async function putObject(key: string, parts: readonly Uint8Array[]): Promise<void> {
    await s3.call({ action: 'PutObject', method: 'PUT', key, headers: address.encryption, body: joined(parts) })
  }

  async function put(key: string, parts: Parameters<Objects['put']>[1]): Promise<void> {
    let upload: Upload | undefined
    let held: Uint8Array[] = []
    let size = 0
    try {
      for await (const some of Symbol.asyncIterator in parts ? parts : [parts]) {
        if (size >= PART_BYTES) {
          upload ??= await openUpload(s3, key)
          await upload.send(joined(held))
          held = []
          size = 0
        }
        held.push(...some)
        size += some.reduce((sum, { byteLength }) => sum + byteLength, 0)
      }
      if (upload === undefined) return await putObject(key, held)
      await upload.send(joined(held))
      await upload.complete()
    } catch (error) {
      await upload?.abort()
      throw error
    }
  }

  async function get(key: string, { start, bytes }: { start: number; bytes: number }): Promise<Buffer | undefined> {
    if (bytes === 0) return Buffer.alloc(0)
    return (await getObject(s3, key, { start, bytes }))?.body
  }

  async function head(key: string): Promise<{ bytes: number } | undefined> {
    const bytes = await sizeOf(s3, key)
    return bytes === undefined ? undefined : { bytes }
  }

  async function* list(folder: string): AsyncGenerator<{ key: string; bytes: number; modifiedAt: number }> {
    const root = keyOf(address, '')
    const prefix = folder === '' ? root : `${root}${folder}/`
    for (let token: string | undefined; ;) {
      const query = {
        'list-type': '2',
        'max-keys': String(KEYS_PER_PAGE),
        prefix,
        ...defined({ 'continuation-token': token }),
      }
      const page = await orUnavailable(() => s3.call({ action: 'ListObjectsV2', method: 'GET', query }))
      const xml = page.body.toString()
      for (const entry of elementsOf(xml, 'Contents')) {
        const key = textOf(entry, 'Key') ?? ''
        if (!key.startsWith(prefix)) continue
        const modifiedAt = Date.parse(textOf(entry, 'LastModified') ?? '')
        yield { key: key.slice(root.length), bytes: Number(textOf(entry, 'Size')), modifiedAt }
      }
      token = textOf(xml, 'NextContinuationToken')
      if (textOf(xml, 'IsTruncated') !== 'true' || token === undefined) return
    }
  }

  return {
    put: (key, parts) => orUnavailable(() => put(requireObjectKey(key), parts)),
    get: (key, range) => orUnavailable(() => get(requireObjectKey(key), range)),
    head: (key) => orUnavailable(() => head(requireObjectKey(key))),
    delete: (key) =>
      orUnavailable(async () => {
        requireObjectKey(key)
        await s3.call({ action: 'DeleteObject', method: 'DELETE', key, accepts: ['NoSuchKey'] })
      }),
    list,
  }
}

/**
 * Reports a store that is unreachable or refuses calls as `unavailable`, so that engines keep their output and send it again. The answer of the
 * store, which may name accounts and roles, is only the cause, for the log of the server.
 */
export async function orUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isStore = error instanceof S3Error || isFault(error, 'storage-refused', 'storage-unreachable')
    if (!isStore) throw error
    throw fault('unavailable', { message: 'The log storage does not respond.' }, error)
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts)
}
