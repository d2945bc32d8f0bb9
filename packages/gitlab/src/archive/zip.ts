/** Zip archives with the modes of files, symbolic links and folders, as the archives of GitLab have them. */
import { once } from 'node:events'
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import yauzl, { type Entry, type ZipFile as OpenZip } from 'yauzl'
import { ZipFile } from 'yazl'

const LINK = 0o120_000
const TYPE = 0o170_000

/** Level of the compression by the word of `ARTIFACT_COMPRESSION_LEVEL` and `CACHE_COMPRESSION_LEVEL`. */
const LEVELS: Readonly<Record<string, number>> = { fastest: 1, fast: 3, default: 6, slow: 8, slowest: 9 }

/** Returns the level that a word names; 6 for others. */
export function compressionLevel(word: string | undefined): number {
  return LEVELS[word ?? ''] ?? 6
}

/** Returns the bytes of an archive, which are made while they are read. `paths` are relative to the folder. */
export function zipStream(folder: string, paths: readonly string[], level: number): Readable {
  const zip = new ZipFile()
  for (const path of paths) {
    const stat = lstatSync(join(folder, path))
    const options = { mtime: stat.mtime, mode: stat.mode }
    if (stat.isDirectory()) zip.addEmptyDirectory(path, options)
    else if (stat.isSymbolicLink()) zip.addBuffer(Buffer.from(readlinkSync(join(folder, path))), path, options)
    // A stream instead of the path: a file that grows while it is read would break the archive.
    else
      zip.addReadStreamLazy(path, { ...options, compressionLevel: level }, (give) =>
        give(null, createReadStream(join(folder, path), stat.size === 0 ? {} : { end: stat.size - 1 })),
      )
  }
  zip.end()
  // The types of the package name an older interface of Node.
  return zip.outputStream as Readable
}

export interface ExtractOptions {
  /** Largest content of all files together. Bytes. */
  readonly maxBytes?: number
  /** Returns true for a name that must not be extracted: the archive is refused. */
  readonly isRefused?: (name: string) => boolean
}

/** Extracts an archive. Throws if an entry leads out of the folder, also by a link that an earlier entry made. */
export async function extractZip(
  file: string,
  folder: string,
  { maxBytes = Infinity, isRefused = () => false }: ExtractOptions = {},
): Promise<void> {
  const zip = await open(file)
  const root = realpathSync(folder)
  let bytes = 0
  try {
    /** Modes and times of folders come last: a folder may not be writable, and each new file changes its time. */
    const folders: { readonly path: string; readonly entry: Entry }[] = []
    for await (const entry of entriesOf(zip)) {
      if (isRefused(entry.fileName)) throw new Error(`the archive has a file that is not extracted: ${entry.fileName}`)
      // A file with more bytes than its entry says is refused while it is read.
      bytes += entry.uncompressedSize
      if (bytes > maxBytes) throw new Error(`the archive has more than ${maxBytes} bytes`)
      const path = placeOf(root, entry.fileName)
      const mode = entry.externalFileAttributes >>> 16
      if (entry.fileName.endsWith('/')) {
        makeInside(root, path)
        folders.push({ path, entry })
        continue
      }
      makeInside(root, dirname(path))
      rmSync(path, { force: true, recursive: true })
      await ((mode & TYPE) === LINK ? extractLink(zip, entry, path) : extractFile(zip, entry, path))
    }
    for (const { path, entry } of folders.toReversed()) {
      // A later entry may have put a link in its place, or in that of a folder above it.
      if (!existsSync(path) || realpathSync(path) !== path) continue
      chmodSync(path, (entry.externalFileAttributes >>> 16) & 0o777 || 0o755)
      utimesSync(path, new Date(), entry.getLastModDate())
    }
  } finally {
    zip.close()
  }
}

function open(file: string): Promise<OpenZip> {
  const { promise, resolve: done, reject } = Promise.withResolvers<OpenZip>()
  yauzl.open(file, { lazyEntries: true, autoClose: false }, (error, zip) => (error === null ? done(zip) : reject(error)))
  return promise
}

async function* entriesOf(zip: OpenZip): AsyncGenerator<Entry> {
  for (let n = 0; n < zip.entryCount; n += 1) {
    const next = once(zip, 'entry') as Promise<[Entry]>
    zip.readEntry()
    const [entry] = await next
    yield entry
  }
}

function streamOf(zip: OpenZip, entry: Entry): Promise<Readable> {
  const { promise, resolve: done, reject } = Promise.withResolvers<Readable>()
  zip.openReadStream(entry, (error, stream) => (error === null ? done(stream) : reject(error)))
  return promise
}

async function extractFile(zip: OpenZip, entry: Entry, path: string): Promise<void> {
  const mode = (entry.externalFileAttributes >>> 16) & 0o777
  await pipeline(await streamOf(zip, entry), createWriteStream(path, { flags: 'wx', mode: 0o600 }))
  chmodSync(path, mode === 0 ? 0o644 : mode)
  utimesSync(path, new Date(), entry.getLastModDate())
}

async function extractLink(zip: OpenZip, entry: Entry, path: string): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of await streamOf(zip, entry)) chunks.push(chunk as Buffer)
  symlinkSync(Buffer.concat(chunks), path)
  lutimesSync(path, new Date(), entry.getLastModDate())
}

function placeOf(root: string, name: string): string {
  const path = resolve(root, name)
  if (path !== root && !path.startsWith(root + sep)) throw new Error(`the archive has a file outside of its folder: ${name}`)
  return path
}

/** Creates a folder. Throws before that if a folder above it is a link to another place. */
function makeInside(root: string, folder: string): void {
  let parent = folder
  while (!existsSync(parent)) parent = dirname(parent)
  requireInside(root, parent)
  mkdirSync(folder, { recursive: true })
}

/** Throws if a folder is a link to another place. */
function requireInside(root: string, folder: string): void {
  const real = realpathSync(folder)
  if (real !== root && !real.startsWith(root + sep))
    throw new Error(`the archive has a file behind a link that leads out of its folder: ${folder}`)
}
