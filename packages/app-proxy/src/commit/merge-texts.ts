/** Merges two versions of a file with git, line by line. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '@windlass/kit'
import { REPOSITORY_PREFIX } from './git.ts'
import { localEnvironment, type GitSettings } from './git-environment.ts'
import { storageFull } from './git-faults.ts'
import { runGroup } from './process-group.ts'

const TIMEOUT_MS = 30_000
const MAX_BYTES = 16_777_216
/** Ends of `git merge-file` from here on are errors; below, the number of conflicts. */
const FIRST_ERROR = 128

export interface MergedTexts {
  /** From which both came. */
  readonly base: string
  readonly own: string
  readonly other: string
}

/** Returns the text with the changes of both. Undefined if both change the same lines. Throws `storage-full`. */
export async function mergeTexts(
  { base, own, other }: MergedTexts,
  settings: Pick<GitSettings, 'folder' | 'path' | 'signal'>,
): Promise<string | undefined> {
  if (base === other || own === other) return own
  if (base === own) return other
  const folder = await mkdtemp(join(settings.folder, REPOSITORY_PREFIX)).catch(asFull)
  try {
    const files = Object.entries({ own, base, other })
    await Promise.all(files.map(([name, text]) => writeFile(join(folder, name), text))).catch(asFull)
    const { code, limit, output, errors } = await runGroup('git', ['merge-file', '--stdout', 'own', 'base', 'other'], {
      folder,
      env: localEnvironment(folder, settings),
      maxBytes: MAX_BYTES,
      timeoutMs: TIMEOUT_MS,
      signal: settings.signal,
    })
    if (code === 0) return output.toString()
    if (limit === undefined && code !== undefined && code < FIRST_ERROR) return undefined
    throw new Error(`git merge-file ended with ${limit ?? code}: ${errors.slice(0, 1_000)}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function asFull(error: unknown): never {
  throw hasCode(error, 'ENOSPC', 'EDQUOT') ? storageFull(error) : error
}
