/** `cache-archiver` and `cache-extractor`: a cache is an archive in the pod, and an object in a store that the runner has signed addresses for. */
import { createReadStream, createWriteStream, existsSync, lstatSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '@windlass/kit'
import { selectFiles, type Wanted } from '../archive/select-files.ts'
import { compressionLevel, extractZip, zipStream } from '../archive/zip.ts'
import { AbsentCache } from './absent-cache.ts'
import { bodyText, openTries, quotedText, RefusedTransfer, statusOf, transfer, type Environment } from '../helper/transfer.ts'

interface CacheOptions {
  /** Archive in the pod. */
  readonly file: string
  /** Milliseconds. */
  readonly timeoutMs: number
  readonly folder: string
  readonly env: Environment
  readonly clock: Clock
  readonly say: (line: string) => void
}

export interface SaveOptions extends CacheOptions, Wanted {
  /** Signed address for the upload; undefined: the cache stays in the pod. */
  readonly url: string | undefined
  /** `Name: value`. */
  readonly headers: readonly string[]
  /** Bytes; 0 has no limit. */
  readonly maxBytes: number
}

/** Archives the files and uploads the archive. Throws if the store does not take it. */
export async function saveCache(options: SaveOptions): Promise<void> {
  const { file, folder, say, env, maxBytes, url } = options
  const { paths, notes } = await selectFiles(folder, options)
  for (const note of notes) say(note)
  if (paths.length === 0) {
    say('No files to cache')
    return
  }
  if (isCurrent(file, folder, paths)) {
    say('Archive is up to date!')
    return
  }
  mkdirSync(dirname(file), { recursive: true })
  const part = `${file}.part`
  await pipeline(zipStream(folder, paths, compressionLevel(env['CACHE_COMPRESSION_LEVEL'])), createWriteStream(part))
  renameSync(part, file)
  if (url === undefined) {
    say('No URL provided, cache will not be uploaded to shared cache server. Cache will be stored only locally.')
    return
  }
  const { size } = statSync(file)
  if (maxBytes > 0 && size > maxBytes) {
    say(`Cache archive size (${size}) exceeds maximum (${maxBytes}), will not be uploaded.`)
    return
  }
  await upload(options, url, size)
}

/** True if no file has changed after the archive was made. */
function isCurrent(file: string, folder: string, paths: readonly string[]): boolean {
  const made = statSync(file, { throwIfNoEntry: false })?.mtimeMs
  if (made === undefined) return false
  return paths.every((path) => (lstatSync(join(folder, path), { throwIfNoEntry: false })?.mtimeMs ?? Infinity) <= made)
}

async function upload({ file, headers, timeoutMs, env, clock, say }: SaveOptions, url: string, size: number): Promise<void> {
  const { origin, pathname } = new URL(url)
  say(`Uploading cache.zip to ${origin}${pathname}`)
  const own = headers.map((header) => {
    const at = header.indexOf(':')
    return [header.slice(0, at).trim(), header.slice(at + 1).trim()] as const
  })
  const tries = openTries({ what: 'Uploading cache.zip', clock, say })
  for (;;) {
    const answer = await transfer(
      {
        method: 'PUT',
        url,
        headers: { 'Content-Type': 'application/octet-stream', ...Object.fromEntries(own), 'Content-Length': String(size) },
        body: () => createReadStream(file),
        timeoutMs,
      },
      env,
    )
    const text = await bodyText(answer)
    const { statusCode: status = 0 } = answer
    if (status >= 200 && status < 300) return
    await tries.failed(refused(answer, text))
  }
}

function refused(answer: IncomingMessage, text: string): RefusedTransfer {
  return new RefusedTransfer(answer, `the store answered ${statusOf(answer)}: ${quotedText(text)}`)
}

export interface RestoreOptions extends CacheOptions {
  /** Signed addresses; undefined: only the archive in the pod is used. */
  readonly url: string | undefined
}

/** Downloads the archive if the store has one, and extracts it. Throws `AbsentCache` if there is none. */
export async function restoreCache({ file, folder, url, timeoutMs, env, say }: RestoreOptions): Promise<void> {
  if (url === undefined)
    say(
      'No URL provided, cache will not be downloaded from shared cache server. Instead a local version of cache will be extracted.',
    )
  else await download({ file, url, timeoutMs, env, say })
  if (!existsSync(file)) throw new AbsentCache('the cache does not exist yet')
  await extractZip(file, folder)
}

async function download(
  options: Pick<RestoreOptions, 'file' | 'timeoutMs' | 'env' | 'say'> & { readonly url: string },
): Promise<void> {
  const { file, url, timeoutMs, env, say } = options
  const answer = await transfer({ method: 'GET', url, timeoutMs }, env)
  const { statusCode: status = 0 } = answer
  if (status === 404) {
    answer.resume()
    throw new AbsentCache('the store does not have this cache')
  }
  if (status !== 200) throw refused(answer, await bodyText(answer))
  const { origin, pathname } = new URL(url)
  say(`Downloading cache from ${origin}${pathname}`)
  mkdirSync(dirname(file), { recursive: true })
  const part = `${file}.part`
  try {
    await pipeline(answer, createWriteStream(part))
    renameSync(part, file)
  } finally {
    rmSync(part, { force: true })
  }
}
