/** The folder of blobs that the archives of images are made of. */
import { createHash, type Hash } from 'node:crypto'
import { createWriteStream, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

export interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

/** A compressed layer, and the digest of its uncompressed archive. */
export interface Layer {
  readonly descriptor: Descriptor
  readonly diffId: string
}

export const MEDIA_TYPES = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  plainLayer: 'application/vnd.oci.image.layer.v1.tar',
} as const

/** Returns the path of a blob in an OCI layout. */
export function blobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`
}

export interface Blobs {
  readonly folder: string
  writeJson(mediaType: string, value: unknown): Descriptor
  /** Writes a layer. It is compressed unless `isPlain`. */
  writeLayer(tar: AsyncIterable<Buffer>, isPlain?: boolean): Promise<Layer>
}

/** Opens a folder for blobs, which it creates. Layers are compressed with the level of gzip. */
export function openBlobs(folder: string, level: number): Blobs {
  mkdirSync(join(folder, 'blobs/sha256'), { recursive: true })
  let parts = 0
  return {
    folder,
    writeJson(mediaType, value) {
      const content = Buffer.from(JSON.stringify(value))
      const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`
      writeFileSync(join(folder, blobPath(digest)), content)
      return { mediaType, digest, size: content.byteLength }
    },
    async writeLayer(tar, isPlain = false) {
      const part = join(folder, `layer-${(parts += 1)}.part`)
      const [plain, stored] = [createHash('sha256'), createHash('sha256')]
      if (isPlain) await pipeline(tar, hashing(plain, stored), createWriteStream(part))
      else await pipeline(tar, hashing(plain), createGzip({ level }), hashing(stored), createWriteStream(part))
      const digest = `sha256:${stored.digest('hex')}`
      renameSync(part, join(folder, blobPath(digest)))
      const mediaType = isPlain ? MEDIA_TYPES.plainLayer : MEDIA_TYPES.layer
      const { size } = statSync(join(folder, blobPath(digest)))
      return { descriptor: { mediaType, digest, size }, diffId: `sha256:${plain.digest('hex')}` }
    },
  }
}

function hashing(...hashes: readonly Hash[]) {
  return async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      for (const hash of hashes) hash.update(chunk)
      yield chunk
    }
  }
}
