import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { hasCode } from './system-error.ts'

/** End of the name of a draft, which a process that is killed during a write leaves beside the file: `<file>.<random>.part`. */
export const DRAFT_SUFFIX = '.part'

/**
 * Writes a file with mode 0600 atomically and syncs it to disk. The folder must exist. Keeps an existing file unless `replace` is set. Throws
 * system errors; no draft remains then.
 */
export function writePrivateFile(file: string, text: string, options: { readonly replace?: boolean } = {}): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}${DRAFT_SUFFIX}`
  try {
    writeDraft(draft, text)
    if (options.replace === true) renameSync(draft, file)
    else linkUnlessExists(draft, file)
  } finally {
    // Do not leave a part of a secret behind.
    rmSync(draft, { force: true })
  }
  syncFolder(dirname(file))
}

function writeDraft(draft: string, text: string): void {
  const handle = openSync(draft, 'wx', 0o600)
  try {
    // Writes the whole text or throws; `writeSync` may write only a part.
    writeFileSync(handle, text)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function linkUnlessExists(draft: string, file: string): void {
  try {
    linkSync(draft, file)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

/** Syncs the folder, so that the new name survives a power cut. Some file systems cannot sync folders. */
function syncFolder(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } catch (error) {
    if (!hasCode(error, 'EINVAL', 'ENOTSUP')) throw error
  } finally {
    closeSync(handle)
  }
}
