/**
 * An image as one archive that is an OCI layout and also what `docker load` reads. Registries, containerd and skopeo use `index.json`; Docker
 * before version 25 uses `manifest.json`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileEntry, listEntries, writeTar, type Entry } from '../tar.ts'
import { blobPath, MEDIA_TYPES, type Blobs, type Descriptor, type Layer } from './blobs.ts'
import { normalizeLayer, type Replacements } from './layer.ts'
import type { SavedImage } from './saved-images.ts'

export interface ArchivedImage {
  readonly reference: string
  readonly architecture: string
  /** Descriptor of the manifest, by whose digest registries know the image. */
  readonly manifest: Descriptor
  /** Digest of the configuration, which Docker shows as the image ID. */
  readonly imageId: string
  readonly layers: readonly Layer[]
  readonly config: Descriptor
}

export interface ImageOptions {
  /** Time of the release, for the configuration. */
  readonly createdAt: Date
  readonly labels: Readonly<Record<string, string>>
  readonly replacements?: Replacements
  /** True for layers that are not compressed. */
  readonly isPlain?: boolean
  /** Layers that were already written, by their digest in Docker. */
  readonly written?: Map<string, Layer>
  /** Called with the entries of each layer, the lowest first. */
  readonly onLayer?: (entries: readonly Entry[]) => void
}

/** Writes the blobs of an image. */
export async function writeImage(image: SavedImage, blobs: Blobs, options: ImageOptions): Promise<ArchivedImage> {
  const { createdAt, labels, replacements, isPlain, written = new Map<string, Layer>(), onLayer } = options
  const layers: Layer[] = []
  for (const { diffId, tar } of image.layers) {
    const entries = normalizeLayer(await listEntries(tar), replacements)
    onLayer?.(entries)
    const layer = written.get(diffId) ?? (await blobs.writeLayer(writeTar(entries), isPlain))
    written.set(diffId, layer)
    layers.push(layer)
  }
  const { architecture, os, config } = image.config
  const settings = Object.entries(config).filter(([, value]) => value !== null && value !== undefined && value !== '')
  const configuration = blobs.writeJson(MEDIA_TYPES.config, {
    created: createdAt.toISOString(),
    architecture,
    os,
    config: { ...Object.fromEntries(settings), Labels: labels },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
  })
  const manifest = blobs.writeJson(MEDIA_TYPES.manifest, {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.manifest,
    config: configuration,
    layers: layers.map(({ descriptor }) => descriptor),
  })
  return { reference: image.reference, architecture, manifest, imageId: configuration.digest, layers, config: configuration }
}

/** Returns the archive of one image. */
export function archiveImage(image: ArchivedImage, blobs: Blobs): Readable {
  return writeTar(entriesOf(image, blobs))
}

function* entriesOf({ reference, manifest, config, layers, architecture }: ArchivedImage, { folder }: Blobs): Generator<Entry> {
  const digests = new Set([config, manifest, ...layers.map(({ descriptor }) => descriptor)].map(({ digest }) => digest))
  yield { header: { name: 'blobs/', type: 'directory' } }
  yield { header: { name: 'blobs/sha256/', type: 'directory' } }
  for (const digest of [...digests].toSorted()) {
    const name = blobPath(digest)
    yield { header: { name, type: 'file' }, read: () => readFileSync(join(folder, name)) }
  }
  const annotations = {
    'io.containerd.image.name': `docker.io/${reference}`,
    'org.opencontainers.image.ref.name': reference.slice(reference.lastIndexOf(':') + 1),
  }
  const platform = { architecture, os: 'linux' }
  const index = { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: [{ ...manifest, platform, annotations }] }
  yield fileEntry('index.json', JSON.stringify(index))
  const paths = layers.map(({ descriptor }) => blobPath(descriptor.digest))
  yield fileEntry('manifest.json', JSON.stringify([{ Config: blobPath(config.digest), RepoTags: [reference], Layers: paths }]))
  yield fileEntry('oci-layout', JSON.stringify({ imageLayoutVersion: '1.0.0' }))
}
