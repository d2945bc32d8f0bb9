/** Uses a local folder instead of a clone: `run --local --source DIR`. */
import { Readable } from 'node:stream'
import { readHostGit } from '@windlass/kit/host-git'
import { repositoryName, VOLUME_PATH, type ResolvedGitClone } from '@windlass/plan'
import { pack } from 'tar-stream'
import type { StepRun } from '../attempt/context.ts'
import type { LocalSource } from '../attempt/input.ts'
import { runTool } from '../containers/tool-container.ts'
import { StepFailure, type StepOutcome } from '../attempt/step-outcome.ts'
import { variablesOf } from './clone-variables.ts'
import { listWorkTree, packWorkTree } from './pack-work-tree.ts'

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
  const files = await listWorkTree(source.path)
  await runTool(step, { script: CLEAN, arguments: [action.directory], environment: { HOME: '/tmp' }, secrets: {} })
  const folder = action.directory.slice(VOLUME_PATH.length + 1)
  const tar = pack()
  const tooLarge = (gib: number): StepFailure =>
    new StepFailure('clone-failed', `The work tree ${source.path} has more than ${gib} GiB.`, {
      hint: 'Exclude large files with .gitignore.',
    })
  const filled = packWorkTree(tar, { root: source.path, files, folder, tooLarge })
  filled.catch((error: Error) => tar.destroy(error))
  await Promise.all([filled, context.workspace.unpack(VOLUME_PATH, Readable.from(tar, { objectMode: false }), signal)])
  await output.say(`Used the work tree ${source.path} (${files.length} files) instead of ${action.repo}.`)
  const head = await readHead(source.path)
  const members = { revision: head?.revision ?? '', repo: repositoryName(action.repo) ?? '', workingDirectory: action.directory }
  return { status: 'success', members, exports: head === undefined ? [] : variablesOf(action.repo, head) }
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
