/** The images of a release: one archive and one bill of materials each, from the images in the Docker daemon. */
import { execFileSync } from 'node:child_process'
import { createWriteStream, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { openBlobs, type Layer } from './oci/blobs.ts'
import { archiveImage, writeImage, type ArchivedImage, type ImageOptions } from './oci/image-archive.ts'
import type { Replacements } from './oci/layer.ts'
import { readSavedImages, type SavedImage } from './oci/saved-images.ts'
import { openInventory } from './sbom/components.ts'
import { toCycloneDx } from './sbom/cyclonedx.ts'

const root = resolve(import.meta.dirname, '../..')

/** Images that the programs of a release name. */
export const IMAGES = ['windlass', 'dind', 'dind-rootless', 'tools', 'buildkit', 'cosign', 'deploy', 'gitlab-helper'] as const

export interface Facts {
  readonly version: string
  /** Commit, with `-dirty` if files differ from it. */
  readonly revision: string
  readonly createdAt: Date
  /** Level of gzip for layers. */
  readonly level: number
}

/** An entry of `images.json`. */
export interface ReleasedImage {
  readonly name: string
  readonly reference: string
  readonly architecture: string
  /** Digest of the manifest in registries. */
  readonly digest: string
  /** Image ID in Docker. */
  readonly imageId: string
  readonly archive: string
}

/** Writes archives and bills of materials into `folder`. The daemon must have the images. */
export async function releaseImages(names: readonly string[], folder: string, facts: Facts): Promise<ReleasedImage[]> {
  const temporary = join(folder, '.temporary')
  mkdirSync(join(folder, 'images'), { recursive: true })
  mkdirSync(join(folder, 'sbom'), { recursive: true })
  mkdirSync(temporary)
  try {
    const needsTools = names.some(hasTools)
    const saved = await save([...new Set([...names, ...(needsTools ? ['tools'] : [])])], temporary)
    const replaced = needsTools ? await dindFiles(saved('tools'), temporary, facts) : undefined
    const written = new Map<string, Layer>()
    const released: ReleasedImage[] = []
    for (const name of names) {
      const replacements = hasTools(name) ? replaced : undefined
      released.push(await releaseImage(name, saved(name), { folder, temporary, facts, written, replacements }))
    }
    return released
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** Saves images of the daemon into one archive, and returns their reader. */
async function save(names: readonly string[], temporary: string): Promise<(name: string) => SavedImage> {
  const references = JSON.parse(readFileSync(join(root, 'images/names.json'), 'utf8')) as Record<string, { local: string }>
  const referenceOf = (name: string): string => {
    const found = references[name]
    if (found === undefined) throw new Error(`images/names.json has no image "${name}"`)
    return found.local
  }
  const path = join(temporary, 'saved.tar')
  execFileSync('docker', ['save', '--output', path, ...names.map(referenceOf)], { stdio: ['ignore', 'ignore', 'inherit'] })
  const images = await readSavedImages(path)
  return (name) => {
    const found = images.find(({ reference }) => reference === referenceOf(name))
    if (found === undefined) throw new Error(`the Docker daemon did not save ${referenceOf(name)}`)
    return found
  }
}

interface Place {
  readonly folder: string
  readonly temporary: string
  readonly facts: Facts
  /** Layers that several images have are compressed once. */
  readonly written: Map<string, Layer>
  readonly replacements: Replacements | undefined
}

async function releaseImage(name: string, saved: SavedImage, place: Place): Promise<ReleasedImage> {
  const { folder, temporary, facts, written, replacements } = place
  const inventory = openInventory()
  const blobs = openBlobs(join(temporary, 'blobs'), facts.level)
  const image = await writeImage(saved, blobs, {
    ...optionsOf(name, facts),
    written,
    onLayer: (entries) => inventory.add(entries),
    ...(replacements !== undefined && { replacements }),
  })
  const archive = `images/${name}-${facts.version}-${image.architecture}.oci.tar`
  await pipeline(archiveImage(image, blobs), createWriteStream(join(folder, archive)))
  const { digest } = image.manifest
  const purl = `pkg:oci/${name}@${encodeURIComponent(digest)}?tag=${facts.version}`
  const subject = { type: 'container', name: saved.reference, version: facts.version, purl, createdAt: facts.createdAt } as const
  writeFileSync(join(folder, `sbom/${name}-${facts.version}.cdx.json`), toCycloneDx(subject, inventory.components()))
  const { reference, architecture, imageId } = image
  return { name, reference, architecture, digest, imageId, archive }
}

/** Returns true for images of the Docker daemon. */
function hasTools(name: string): boolean {
  return name === 'dind' || name === 'dind-rootless'
}

/** The image of the Docker daemon contains the archive of the tools image, which is rewritten, too. */
async function dindFiles(tools: SavedImage, temporary: string, facts: Facts): Promise<Replacements> {
  const blobs = openBlobs(join(temporary, 'tools'), facts.level)
  const image: ArchivedImage = await writeImage(tools, blobs, { ...optionsOf('tools', facts), isPlain: true })
  const archive = await buffer(archiveImage(image, blobs))
  rmSync(blobs.folder, { recursive: true })
  return new Map<string, () => Buffer | string>([
    ['usr/share/windlass/tools.tar', () => archive],
    ['usr/share/windlass/tools.id', () => `${image.imageId}\n`],
  ])
}

/** Returns time and labels of an image. */
export function optionsOf(name: string, { version, revision, createdAt }: Facts): ImageOptions {
  return {
    createdAt,
    labels: {
      'org.opencontainers.image.title': `windlass/${name}`,
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.revision': revision,
      'org.opencontainers.image.licenses': 'Apache-2.0',
    },
  }
}
