/** Uses a local folder instead of a clone: `run --local --source DIR`. */
import { createReadStream } from 'node:fs'
import { lstat, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { readHostGit } from '@windlass/kit/host-git'
import { repositoryName, VOLUME_PATH, type ResolvedGitClone } from '@windlass/plan'
import { pack, type Pack } from 'tar-stream'
import type { StepRun } from '../attempt/context.ts'
import type { LocalSource } from '../attempt/input.ts'
import { runTool } from '../containers/tool-container.ts'
import { StepFailure, type StepOutcome } from '../attempt/step-outcome.ts'
import { variablesOf } from './clone-variables.ts'

/** Maximum size of a work tree. Bytes. */
const MAX_BYTES = 4 * 1024 ** 3

/** Removes the files of an earlier run but keeps those that git ignores (installed packages), as a clone does. */
const CLEAN = `
[ -d "$1" ] || exit 0
cd "$1"
if [ -d .git ]; then
  git -c safe.directory='*' -c core.fsmonitor=false ls-files -z --cached --others --exclude-standard | xargs -0 rm -f -- 2>/dev/null
  rm -rf .git
else
  rm -rf -- "$1"
fi
exit 0`

/** Copies the work tree to the shared volume, with uncommitted changes and `.git`, without ignored files. */
export async function useWorkTree(step: StepRun<ResolvedGitClone>, source: LocalSource): Promise<StepOutcome> {
  const { action, context, output, signal } = step
  const files = await listFiles(source.path)
  await runTool(step, { script: CLEAN, arguments: [action.directory], environment: { HOME: '/tmp' }, secrets: {} })
  const folder = action.directory.slice(VOLUME_PATH.length + 1)
  const tar = pack()
  const filled = fill(tar, { root: source.path, files, folder })
  filled.catch((error: Error) => tar.destroy(error))
  await Promise.all([filled, context.workspace.unpack(VOLUME_PATH, Readable.from(tar, { objectMode: false }), signal)])
  await output.say(`Used the work tree ${source.path} (${files.length} files) instead of ${action.repo}.`)
  const head = await readHead(source.path)
  const members = { revision: head?.revision ?? '', repo: repositoryName(action.repo) ?? '', workingDirectory: action.directory }
  return { status: 'success', members, exports: head === undefined ? [] : variablesOf(action.repo, head) }
}

/** Returns paths relative to the root. Without git, includes every file. */
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
    // A deleted file that git still tracks, a socket, or a nested repository.
    if (stat === undefined || !(stat.isFile() || stat.isSymbolicLink())) continue
    const header = { name: `${folder}/${path}`, mode: stat.mode & 0o777, mtime: stat.mtime }
    if (stat.isSymbolicLink()) {
      tar.entry({ ...header, type: 'symlink', linkname: await readlink(join(root, path)) })
      continue
    }
    total += stat.size
    if (total > MAX_BYTES)
      throw new StepFailure('clone-failed', `The work tree ${root} has more than ${MAX_BYTES / 1024 ** 3} GiB.`, {
        hint: 'Exclude large files with .gitignore.',
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
  // A file that grows during the read must not corrupt the archive.
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

function readGit(root: string, args: readonly string[]): Promise<string | undefined> {
  return readHostGit(root, args, { maxBuffer: 256 * 1024 * 1024, anyOwner: true })
}
