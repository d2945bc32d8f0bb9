import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { hasCode } from '@windlass/kit'

/** Writes a file with mode 0600 atomically and syncs it to disk. Keeps an existing file unless `replace` is set. */
export function writePrivateFile(file: string, text: string, options: { readonly replace?: boolean } = {}): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  try {
    writeDraft(draft, text)
  } catch (error) {
    // Do not leave a part of a secret behind.
    rmSync(draft, { force: true })
    throw error
  }
  if (options.replace === true) {
    renameSync(draft, file)
    return syncFolder(dirname(file))
  }
  try {
    linkSync(draft, file)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  } finally {
    rmSync(draft)
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

/** Syncs the folder, so that the new name survives a power cut. */
function syncFolder(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
