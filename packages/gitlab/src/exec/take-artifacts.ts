/** Copies the artifacts of a job out of its helper. The files belong to the user of the command, whatever user the job ran as. */
import { createWriteStream, existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Docker } from '@windlass/engine/docker'
import { fault } from '@windlass/kit'
import { extract } from 'tar-stream'
import { extractZip } from '../archive/zip.ts'
import { artifactFile } from '../job/artifact-stages.ts'
import { ARTIFACTS_FOLDER } from './exec-plan.ts'

export interface TakeOptions {
  readonly docker: Docker
  /** Container of the helper. It does not have to run. */
  readonly helper: string
  /** Number of archives that the job can have. */
  readonly count: number
  /** Folder for the files. Files in it are replaced. */
  readonly folder: string
  /** Folder of the working tree. */
  readonly root: string
}

/** Largest artifacts that are copied. Bytes. */
const MAX_BYTES = 4 * 1024 ** 3

/** Throws `request-invalid` for a folder behind a link of the repository, and for a repository: who wrote the job would choose which files are replaced. */
export function requireOwnFolder(root: string, folder: string): void {
  const path = resolve(folder)
  const names = path.startsWith(root + sep) ? path.slice(root.length + 1).split(sep) : []
  const isLink = names.some((_, n) => {
    const stat = lstatSync(join(root, ...names.slice(0, n + 1)), { throwIfNoEntry: false })
    return stat?.isSymbolicLink() === true
  })
  if (!isLink && !existsSync(join(path, '.git'))) return
  throw fault('request-invalid', {
    message: `The folder ${folder} for artifacts is ${isLink ? 'behind a link of the repository' : 'a repository'}.`,
    hint: 'Name another folder with --artifacts.',
  })
}

/** Copies the artifacts. Returns false if the job has none. */
export async function takeArtifacts({ docker, helper, count, folder, root }: TakeOptions): Promise<boolean> {
  const temporary = mkdtempSync(join(tmpdir(), 'windlass-artifacts-'))
  let hasSome = false
  try {
    for (let index = 0; index < count; index += 1) {
      const archive = await docker.getArchive(helper, artifactFile(ARTIFACTS_FOLDER, index))
      if (archive === undefined) continue
      const zip = join(temporary, `${index}.zip`)
      await saveFile(archive, zip)
      // Again: the folder may have changed while the job ran.
      requireOwnFolder(root, folder)
      mkdirSync(folder, { recursive: true })
      await extractZip(zip, folder, { maxBytes: MAX_BYTES, isRefused: isOfGit })
      hasSome = true
    }
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
  return hasSome
}

/** A file below `.git` can name programs that git runs. */
function isOfGit(name: string): boolean {
  return name.split('/').some((part) => part.toLowerCase() === '.git')
}

/** Saves the one file of a tar archive. */
async function saveFile(archive: NodeJS.ReadableStream, path: string): Promise<void> {
  const entries = extract()
  const copied = pipeline(archive, entries)
  copied.catch(() => undefined)
  for await (const entry of entries) {
    if (entry.header.type === 'file') await pipeline(entry, createWriteStream(path))
    else entry.resume()
  }
  await copied
}
