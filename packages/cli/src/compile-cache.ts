import { lstatSync, mkdirSync, realpathSync } from 'node:fs'
import module from 'node:module'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

/** Keeps the compiled code of the modules that are imported from now on, which halves the time of a start. */
export function keepCompiledCode(env: Environment): void {
  // Node 20, on which the npm package runs, has no compile cache. NODE_COMPILE_CACHE has already enabled one in another folder.
  const folder = module.enableCompileCache === undefined ? undefined : openCompileCache(env)
  if (folder !== undefined) module.enableCompileCache(folder)
}

/**
 * Returns the folder for compiled code, which it creates. Node runs what is in the folder without checking who wrote it, so nobody else may be able to
 * write there or replace a folder above it. Undefined if that is not certain.
 */
export function openCompileCache(env: Environment): string | undefined {
  const uid = process.getuid?.()
  if (uid === undefined) return undefined
  const given = env['XDG_CACHE_HOME'] ?? ''
  try {
    const base = given === '' ? join(homedir(), '.cache') : given
    const folder = join(base, 'windlass', 'compiled')
    const existing = realpathSync(firstExisting(folder))
    if (!isOurs(existing, uid)) return undefined
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return isOurs(realpathSync(folder), uid) ? folder : undefined
  } catch {
    return undefined
  }
}

function firstExisting(path: string): string {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined && path !== dirname(path) ? firstExisting(dirname(path)) : path
}

/** Returns true if only this user or root can write to the folder and to those above it, or in a folder above it only to their own entries. */
function isOurs(folder: string, uid: number): boolean {
  for (let path = folder, isLast = true; ; path = dirname(path), isLast = false) {
    const { uid: owner, mode } = lstatSync(path)
    const isShared = (mode & 0o022) !== 0
    const isSticky = (mode & 0o1000) !== 0
    if ((owner !== uid && owner !== 0) || (isShared && (isLast || !isSticky))) return false
    if (path === dirname(path)) return true
  }
}
