/** Names of caches. A key comes from the job, and must not lead out of the place of its project. Rules of the runners of GitLab. */
import { createHash } from 'node:crypto'
import { posix } from 'node:path'

export interface CacheKey {
  /** Undefined if nothing usable is left of the key. */
  readonly key: string | undefined
  /** What the log of the job says about a key that was changed or cannot be used. */
  readonly notice?: string
}

export interface KeyOptions {
  /** Name of the job and ref, from which the key is made if there is none. */
  readonly jobName: string
  readonly ref: string
  /** `FF_HASH_CACHE_KEYS`: names are hashes, so no character of a key matters. */
  readonly isHashed?: boolean
}

/** Returns the key of a cache, with its variables expanded before. */
export function cacheKey(given: string, { jobName, ref, isHashed = false }: KeyOptions): CacheKey {
  const wanted = given === '' ? `${jobName}/${ref}` : given
  if (isHashed) return { key: createHash('sha256').update(wanted).digest('hex') }
  const key = sanitized(wanted)
  if (key === undefined) return { key, notice: `the cache key "${wanted}" cannot be used, and the cache is skipped` }
  return key === wanted ? { key } : { key, notice: `the cache key "${wanted}" was changed to "${key}"` }
}

function sanitized(text: string): string | undefined {
  const plain = text.replaceAll(/%2f/gi, '/').replaceAll(/%2e/gi, '.').replaceAll('\\', '/')
  let path = plain
  // What is removed from the end can uncover a part that has to go as well.
  for (let before: string | undefined; before !== path;) {
    before = path
    // The root keeps `..` inside.
    path = posix.normalize(`/${path}`).slice(1).trimEnd().replace(/\/+$/, '')
  }
  return path === '' || path === '.' || path === '..' ? undefined : path
}

export interface ObjectPlace {
  /** `Path` of the configuration. */
  readonly prefix: string
  /** First characters of the token of the runner; undefined for a cache that runners share. */
  readonly runner: string | undefined
  readonly projectId: number
}

/** Returns the name of the object of a cache: `[prefix/][runner/TOKEN/]project/ID/KEY`. */
export function objectName({ prefix, runner, projectId }: ObjectPlace, key: string): string {
  const parts = [prefix.replaceAll(/^\/+|\/+$/g, ''), runner === undefined ? '' : `runner/${runner}`, `project/${projectId}`, key]
  return parts.filter((part) => part !== '').join('/')
}
