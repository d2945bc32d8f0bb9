/** `artifacts-archiver`: the artifacts of a job that no GitLab server takes, as an archive in the container of the helper. */
import { createWriteStream, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { selectFiles, type Wanted } from '../archive/select-files.ts'
import { compressionLevel, zipStream } from '../archive/zip.ts'
import type { Environment } from '../helper/transfer.ts'

export interface ArchiveOptions extends Wanted {
  /** Path of the archive. */
  readonly file: string
  readonly folder: string
  readonly env: Environment
  readonly say: (line: string) => void
}

/** Archives the files. Does not write an archive if no file matches. */
export async function archiveArtifacts({ file, folder, env, say, ...wanted }: ArchiveOptions): Promise<void> {
  const { paths, notes } = await selectFiles(folder, wanted)
  for (const note of notes) say(note)
  if (paths.length === 0) {
    say('ERROR: No files to archive')
    return
  }
  mkdirSync(dirname(file), { recursive: true })
  await pipeline(zipStream(folder, paths, compressionLevel(env['ARTIFACT_COMPRESSION_LEVEL'])), createWriteStream(file))
}
