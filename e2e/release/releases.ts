/** A release that a test makes from this clone. */
import { generateKeyPairSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { runProgram } from '../support/process.ts'

const root = join(import.meta.dirname, '../..')

const Images = z.object({
  version: z.string(),
  revision: z.string(),
  createdAt: z.string(),
  images: z.array(
    z.object({
      name: z.string(),
      reference: z.string(),
      architecture: z.string(),
      digest: z.string(),
      imageId: z.string(),
      archive: z.string(),
    }),
  ),
})

export interface Release {
  readonly folder: string
  readonly manifest: z.infer<typeof Images>
  image(name: string): z.infer<typeof Images>['images'][number]
}

/** Level of gzip for layers. Nothing here depends on their size, and compressing them would take most of the processor time. */
export const LEVEL = 0

/** Writes a new Ed25519 key in PEM and returns its path. */
export async function makeKey(folder: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ed25519')
  const path = join(folder, 'release.key')
  await writeFile(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  return path
}

/** Makes a release of the images that the charts name. */
export async function makeRelease(folder: string, key: string): Promise<Release> {
  const script = join(root, 'scripts/release/main.ts')
  await runProgram(process.execPath, [
    script,
    '--key',
    key,
    '--allow-dirty',
    '--out',
    folder,
    '--level',
    String(LEVEL),
    'windlass',
    'dind',
  ])
  const manifest = Images.parse(JSON.parse(await readFile(join(folder, 'images.json'), 'utf8')))
  return {
    folder,
    manifest,
    image(name) {
      const found = manifest.images.find((image) => image.name === name)
      if (found === undefined) throw new Error(`The release has no image ${name}.`)
      return found
    },
  }
}
