/**
 * Catalogs of step types in Git repositories, which are foreign. A few kilobytes of Git objects can describe millions of files, so nothing is checked out: the
 * files are listed within limits, and only YAML files within limits are written to disk.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { hideLogin } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { MAX_BYTES, MAX_ENTRIES, MAX_TOTAL_BYTES } from '@windlass/local/yaml-files'
import type { Settings } from '../../config.ts'
import { printable } from '../../format/printable.ts'

const run = promisify(execFile)
const CLONE_TIMEOUT_MS = 300_000
/** Limit for each git command that reads the clone. Milliseconds. */
const READ_TIMEOUT_MS = 60_000
/** Largest list of files. The path of a file can be long. Bytes. */
const MAX_LIST_BYTES = 16 * 1_048_576
/** Largest clone: the last version of all files, compressed. Bytes. */
const MAX_CLONE_BYTES = 256 * 1_048_576
const CLONE_CHECK_MS = 200
/** Bytes of a line that `git cat-file --batch` writes before each file, at most. */
const HEADER_BYTES = 128

/** Settings that take precedence over those of the user and of the repository. They run no hooks and no programs as transports. */
const SAFE = ['core.symlinks=false', 'core.hooksPath=/dev/null', 'core.fsmonitor=false', 'protocol.ext.allow=never'].flatMap(
  (setting) => ['-c', setting],
)

export interface Catalog {
  readonly folder: string
  /** YAML files that are too large for a manifest, relative to the folder. */
  readonly tooLarge: readonly string[]
  [Symbol.asyncDispose](): Promise<void>
}

export interface CatalogSource {
  /** Or a folder. */
  readonly url: string
  readonly environment: Settings['environment']
  readonly signal: AbortSignal
}

/** Opens a folder, or reads a repository to a temporary one. Throws `usage` with the message of git, or if the repository exceeds a limit. */
export async function openCatalog({ url, environment, signal }: CatalogSource): Promise<Catalog> {
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(url) || /^[^/\s]+@[^/\s]+:/.test(url)
  if (!isUrl) return { folder: url, tooLarge: [], [Symbol.asyncDispose]: async () => undefined }
  const folder = await mkdtemp(join(tmpdir(), 'windlass-catalog-'))
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    const tooLarge = await fetchCatalog(folder, { url, environment, signal })
    return { folder: join(folder, 'files'), tooLarge, [Symbol.asyncDispose]: remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Writes the YAML files of a repository below `files` of an empty folder. Returns the paths of those that are too large. Throws as `openCatalog` does. */
export async function fetchCatalog(
  folder: string,
  { url, environment, signal, maxCloneBytes }: CatalogSource & { readonly maxCloneBytes?: number },
): Promise<string[]> {
  const repository = join(folder, 'repository')
  const env = process.stdin.isTTY ? environment : { ...environment, GIT_TERMINAL_PROMPT: '0' }
  try {
    await clone(repository, { url, environment: env, signal, maxBytes: maxCloneBytes ?? MAX_CLONE_BYTES })
    const within: Reading = { repository, env, signal }
    const files = await listFiles(within)
    const yaml = files.filter(({ path }) => isYamlPath(path))
    const small = yaml.filter(({ size }) => size <= MAX_BYTES)
    const total = small.reduce((sum, { size }) => sum + size, 0)
    if (total > MAX_TOTAL_BYTES) throw tooLargeCatalog(`YAML files of more than ${MAX_TOTAL_BYTES / 1_048_576} MiB`)
    await writeFiles(join(folder, 'files'), small, await readBlobs(small, { ...within, total }))
    return yaml.filter(({ size }) => size > MAX_BYTES).map(({ path }) => path)
  } catch (error) {
    if (isFault(error)) throw error
    throw fault('usage', {
      message: `The catalog cannot be cloned: ${reasonOf(error)}`,
      hint: 'Check the URL and your access to it.',
    })
  }
}

/** Clones the last version without its history and files. Ends git if the clone becomes too large. */
async function clone(
  repository: string,
  { url, environment, signal, maxBytes }: CatalogSource & { readonly maxBytes: number },
): Promise<void> {
  const words = [
    'clone',
    '--quiet',
    '--bare',
    '--depth',
    '1',
    '--no-tags',
    '--single-branch',
    '--template=',
    '--',
    url,
    repository,
  ]
  const limit = new AbortController()
  const check = async (): Promise<void> => {
    if ((await bytesIn(join(repository, 'objects', 'pack'))) > maxBytes) limit.abort()
  }
  const timer = setInterval(() => void check(), CLONE_CHECK_MS)
  try {
    const ended = AbortSignal.any([signal, limit.signal])
    await run('git', [...SAFE, ...words], { timeout: CLONE_TIMEOUT_MS, env: environment, signal: ended })
    await check()
    limit.signal.throwIfAborted()
  } catch (error) {
    if (limit.signal.aborted) throw tooLargeCatalog(`more than ${maxBytes} bytes`)
    throw error
  } finally {
    clearInterval(timer)
  }
}

async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => [])
  const sizes = names.map((name) =>
    stat(join(folder, name)).then(
      ({ size }) => size,
      () => 0,
    ),
  )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

interface Reading {
  readonly repository: string
  readonly env: Settings['environment']
  readonly signal: AbortSignal
}

interface ListedFile {
  readonly path: string
  readonly object: string
  /** Bytes. */
  readonly size: number
}

/** Lists the files of the last version, without links and submodules. Ends git at the first file beyond the limit, because a tree can contain any number. */
async function listFiles({ repository, env, signal }: Reading): Promise<ListedFile[]> {
  const words = [...SAFE, '-C', repository, 'ls-tree', '-r', '-l', '-z', 'HEAD']
  const git = spawn('git', words, { env, signal, timeout: READ_TIMEOUT_MS, stdio: ['ignore', 'pipe', 'pipe'] })
  const closed = new Promise<number | null>((resolve, reject) => {
    git.once('error', reject)
    git.once('close', resolve)
  })
  closed.catch(() => undefined)
  let message = ''
  git.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    if (message.length < MAX_BYTES) message += chunk
  })
  const files: ListedFile[] = []
  let [rest, seen, bytes] = ['', 0, 0]
  try {
    for await (const chunk of git.stdout.setEncoding('utf8')) {
      const lines = (rest + String(chunk)).split('\0')
      rest = lines.pop() ?? ''
      bytes += String(chunk).length
      seen += lines.length
      if (seen > MAX_ENTRIES) throw tooLargeCatalog(`more than ${MAX_ENTRIES} files`)
      if (bytes > MAX_LIST_BYTES) throw tooLargeCatalog(`paths of more than ${MAX_LIST_BYTES} bytes`)
      files.push(...lines.flatMap((line) => parseListed(line) ?? []))
    }
    if ((await closed) !== 0) throw Object.assign(new Error('git ls-tree failed'), { stderr: message })
    return files
  } finally {
    git.kill('SIGKILL')
  }
}

/** Parses `100644 blob ID SIZE<tab>PATH`. Returns undefined for what is not a file. */
function parseListed(line: string): ListedFile | undefined {
  const [, object, size, path] = /^100\d{3} blob ([0-9a-f]{40,64}) +(\d+)\t([^]+)$/.exec(line) ?? []
  return object === undefined || size === undefined || path === undefined ? undefined : { object, size: Number(size), path }
}

/** Returns true for a YAML file outside of skipped folders. A path that leaves the folder is possible in a repository that was not written by git. */
function isYamlPath(path: string): boolean {
  const names = path.split('/')
  const isSafe = names.every((name) => !['', '.', '..', 'node_modules'].includes(name) && name.toLowerCase() !== '.git')
  return isSafe && /\.ya?ml$/.test(path) && !/[\\\0]/.test(path)
}

/** Reads files in their order. */
async function readBlobs(
  files: readonly ListedFile[],
  { repository, env, signal, total }: Reading & { readonly total: number },
): Promise<Buffer[]> {
  if (files.length === 0) return []
  const reading = run('git', [...SAFE, '-C', repository, 'cat-file', '--batch'], {
    env,
    signal,
    timeout: READ_TIMEOUT_MS,
    encoding: 'buffer',
    maxBuffer: total + files.length * HEADER_BYTES,
  })
  reading.child.stdin?.on('error', () => undefined)
  reading.child.stdin?.end(files.map(({ object }) => `${object}\n`).join(''))
  const { stdout } = await reading
  let at = 0
  return files.map(({ size }) => {
    const start = stdout.indexOf('\n', at) + 1
    at = start + size + 1
    return stdout.subarray(start, start + size)
  })
}

async function writeFiles(folder: string, files: readonly ListedFile[], contents: readonly Buffer[]): Promise<void> {
  await mkdir(folder)
  for (const [index, { path }] of files.entries()) {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, contents[index] ?? '')
  }
}

function tooLargeCatalog(what: string): Error {
  return fault('usage', {
    message: `The repository of the catalog has ${what}.`,
    hint: 'Clone it, and import the folder that contains the step types.',
  })
}

/** Returns what went wrong with git. Its command line may contain a password, so it is not shown. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ('code' in error && error.code === 'ENOENT' && 'path' in error && error.path === 'git') return 'git is not installed.'
  if ('killed' in error && error.killed === true) return `git did not end within ${CLONE_TIMEOUT_MS / 60_000} minutes.`
  if (!('stderr' in error)) return printable(hideLogin(error.message))
  const lines = String(error.stderr).trim().split('\n')
  return printable(hideLogin(lines.at(-1) || 'git failed without a message.'))
}
