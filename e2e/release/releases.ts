/** A release that a test makes from this clone, and its command on a machine that has Node 20 and nothing else. */
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { defined } from '@windlass/kit/defined'
import { z } from 'zod'
import { removeLocalRuns } from '../support/local-runs.ts'
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

export interface Finished {
  readonly code: number
  readonly text: string
}

export interface BareMachine {
  readonly folder: string
  /** Runs npm or a program of an installed package, without any variable but PATH and HOME. */
  run(program: string, words: readonly string[]): Promise<Finished>
  [Symbol.asyncDispose](): Promise<void>
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

/** Opens an empty folder as the home of a user with Node 20. */
export async function openBareMachine(): Promise<BareMachine> {
  const node = /NODE20=(\S+)/.exec(await runProgram(join(root, 'scripts/release/node20'), []))?.[1]
  if (node === undefined) throw new Error('scripts/release/node20 printed no path.')
  const npm = await runProgram('sh', ['-c', 'command -v npm'])
  const folder = await mkdtemp(join(tmpdir(), 'windlass-bare-'))
  const work = join(folder, 'work')
  await mkdir(work)
  const PATH = [join(folder, 'global/bin'), dirname(node), dirname(npm), '/usr/bin', '/bin'].join(delimiter)
  const env = { PATH, HOME: folder, ...defined({ DOCKER_HOST: process.env['DOCKER_HOST'] }) }
  return {
    folder: work,
    run: (program, words) =>
      new Promise((resolve) => {
        execFile(program, words, { env, cwd: work }, (error, stdout, stderr) =>
          resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, text: stdout + stderr }),
        )
      }),
    async [Symbol.asyncDispose]() {
      await removeLocalRuns(work)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
