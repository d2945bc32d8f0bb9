/** Pushes small images to a registry with its API, which takes no Docker daemon. */
import { createHash, randomBytes } from 'node:crypto'
import type { Registry } from './registry.ts'

export interface Pushed {
  readonly name: string
  readonly tag: string
  readonly labels?: Readonly<Record<string, string>>
  /** Login of the registry, as `Basic …`. */
  readonly authorization?: string
  readonly architecture?: string
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
const INDEX = 'application/vnd.oci.image.index.v1+json'
/** Bytes of the layer of each image. */
export const LAYER_BYTES = 2_048

const digestOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

interface Content {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

/** Pushes an image of one layer. Returns its descriptor. */
export async function pushImage({ url }: Pick<Registry, 'url'>, image: Pushed): Promise<Content> {
  const { name, labels = {}, architecture = 'amd64' } = image
  const layer = await pushBlob(url, image, randomBytes(LAYER_BYTES), 'application/vnd.oci.image.layer.v1.tar')
  const config = { created: '2027-01-10T08:00:00Z', os: 'linux', architecture, config: { Labels: labels } }
  const about = await pushBlob(url, image, Buffer.from(JSON.stringify(config)), 'application/vnd.oci.image.config.v1+json')
  const manifest = { schemaVersion: 2, mediaType: MANIFEST, config: about, layers: [layer] }
  return pushManifest(`${url}/v2/${name}/manifests`, image, manifest)
}

/** Pushes an index of images of several platforms, with an attestation as buildx adds it. Returns its descriptor. */
export async function pushIndex(
  registry: Pick<Registry, 'url'>,
  image: Pushed,
  architectures: readonly string[],
): Promise<Content> {
  const manifests: object[] = []
  for (const architecture of architectures) {
    const one = await pushImage(registry, { ...image, architecture, tag: architecture })
    manifests.push({ ...one, platform: { os: 'linux', architecture } })
  }
  const attestation = await pushImage(registry, { ...image, tag: 'attestation' })
  manifests.push({ ...attestation, platform: { os: 'unknown', architecture: 'unknown' } })
  const index = { schemaVersion: 2, mediaType: INDEX, manifests }
  return pushManifest(`${registry.url}/v2/${image.name}/manifests`, image, index)
}

function headersOf({ authorization }: Pushed, type: string): Record<string, string> {
  return { 'content-type': type, ...(authorization !== undefined && { authorization }) }
}

async function pushBlob(url: string, image: Pushed, bytes: Buffer, mediaType: string): Promise<Content> {
  const headers = headersOf(image, 'application/octet-stream')
  const begun = await fetch(`${url}/v2/${image.name}/blobs/uploads/`, { method: 'POST', headers })
  const place = new URL(begun.headers.get('location') ?? '', url)
  const digest = digestOf(bytes)
  place.searchParams.set('digest', digest)
  await requireCreated(await fetch(place, { method: 'PUT', headers, body: new Uint8Array(bytes) }))
  return { mediaType, digest, size: bytes.length }
}

async function pushManifest(place: string, image: Pushed, manifest: { readonly mediaType: string }): Promise<Content> {
  const bytes = Buffer.from(JSON.stringify(manifest))
  const { mediaType } = manifest
  const headers = headersOf(image, mediaType)
  await requireCreated(await fetch(`${place}/${image.tag}`, { method: 'PUT', headers, body: new Uint8Array(bytes) }))
  return { mediaType, digest: digestOf(bytes), size: bytes.length }
}

async function requireCreated(answer: Response): Promise<void> {
  if (answer.status !== 201) throw new Error(`the registry answered ${answer.status}: ${await answer.text()}`)
}
