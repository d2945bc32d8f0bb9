/** A folder of this machine in the place of a clone: `run --local --source DIR`. */
import { execFile } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { lstat, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { repositoryName, VOLUME_PATH, type ResolvedGitClone } from '@windlass/plan'
import { pack, type Pack } from 'tar-stream'
import { StepFailure, type StepOutcome, type StepRun } from '../attempt/context.ts'
import type { LocalSource } from '../attempt/input.ts'
import { variablesOf } from './git-clone.ts'
import { runTool } from './tool-container.ts'

/** A folder that is larger is not a work tree that anybody wants in a volume. */
const MAX_BYTES = 4 * 1024 ** 3
const run = promisify(execFile)

/** Removes what an earlier run brought, but leaves what git ignores there (installed packages), as a clone does. */
const CLEAN = `
[ -d "$1" ] || exit 0
cd "$1"
if [ -d .git ]; then
  git -c safe.directory='*' ls-files -z --cached --others --exclude-standard | xargs -0 rm -f -- 2>/dev/null
  rm -rf .git
else
  rm -rf -- "$1"
fi
exit 0`

/** Puts the work tree into the shared volume, as it is: changes that are not committed, and `.git`, included; ignored files not. */
export async function useWorkTree(step: StepRun<ResolvedGitClone>, source: LocalSource): Promise<StepOutcome> {
  const { action, context, output, signal } = step
  const files = await listFiles(source.path)
  await runTool(step, { script: CLEAN, arguments: [action.directory], environment: { HOME: '/tmp' }, secrets: {} })
  const folder = action.directory.slice(VOLUME_PATH.length + 1)
  const tar = pack()
  const filled = fill(tar, { root: source.path, files, folder })
  filled.catch((error: Error) => tar.destroy(error))
  await Promise.all([filled, context.workspace.unpack(VOLUME_PATH, Readable.from(tar, { objectMode: false }), signal)])
  await output.say(`Used the work tree ${source.path} (${files.length} files) in the place of ${action.repo}.`)
  const head = await readHead(source.path)
  const members = { revision: head?.revision ?? '', repo: repositoryName(action.repo) ?? '', workingDirectory: action.directory }
  return { status: 'success', members, exports: head === undefined ? [] : variablesOf(action.repo, head) }
}

/** Paths relative to the root. Without git every file counts. */
async function listFiles(root: string): Promise<string[]> {
  const git = await readGit(root, ['ls-files', '-z', '--cached', '--others', '--exclude-standard'])
  if (git === undefined) return walk(root, '')
  return [...git.split('\0').filter((path) => path !== ''), ...(await walk(root, '.git'))]
}

async function walk(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true, recursive: true }).catch(() => [])
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
}

async function fill(
  tar: Pack,
  { root, files, folder }: { root: string; files: readonly string[]; folder: string },
): Promise<void> {
  let total = 0
  for (const path of files) {
    const stat = await lstat(join(root, path)).catch(() => undefined)
    // A file that git knows and that was deleted, a socket, a folder that is a repository of its own.
    if (stat === undefined || !(stat.isFile() || stat.isSymbolicLink())) continue
    const header = { name: `${folder}/${path}`, mode: stat.mode & 0o777, mtime: stat.mtime }
    if (stat.isSymbolicLink()) {
      tar.entry({ ...header, type: 'symlink', linkname: await readlink(join(root, path)) })
      continue
    }
    total += stat.size
    if (total > MAX_BYTES)
      throw new StepFailure('clone-failed', `The work tree ${root} has more than ${MAX_BYTES / 1024 ** 3} GiB.`, {
        hint: 'List what need not come along in .gitignore.',
      })
    await addFile(tar, { path: join(root, path), header: { ...header, size: stat.size } })
  }
  tar.finalize()
}

function addFile(
  tar: Pack,
  { path, header }: { path: string; header: { name: string; mode: number; mtime: Date; size: number } },
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const entry = tar.entry(header, (error) => (error ? reject(error) : resolve()))
  if (header.size === 0) entry.end(Buffer.alloc(0))
  // A file that grows meanwhile must not break the archive.
  else
    createReadStream(path, { end: header.size - 1 })
      .on('error', reject)
      .pipe(entry)
  return promise
}

async function readHead(root: string): Promise<{ name: string; revision: string; author: string; message: string } | undefined> {
  const log = await readGit(root, ['log', '-1', '--format=%H%x00%an%x00%B'])
  if (log === undefined) return undefined
  const [revision = '', author = '', message = ''] = log.split('\0')
  const name = (await readGit(root, ['symbolic-ref', '--quiet', '--short', 'HEAD']))?.trim() ?? ''
  return { name, revision, author, message }
}

/** Output of a git command; undefined when it fails or there is no git. */
async function readGit(root: string, args: readonly string[]): Promise<string | undefined> {
  try {
    const { stdout } = await run('git', ['-c', 'safe.directory=*', '-C', root, ...args], { maxBuffer: 256 * 1024 * 1024 })
    return stdout
  } catch {
    return undefined
  }
}
