/** Finds the `.gitlab-ci.yml` of `gitlab exec`, and the working tree that it belongs to. */
import { realpathSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { findWorkTree, readCommit, type Commit, type Remote } from '@windlass/gitlab'
import { fault } from '@windlass/kit/faults'
import { hasCode } from '@windlass/kit/system-error'
import { parseRemote } from '@windlass/local/machine'

const USUAL_FILE = '.gitlab-ci.yml'

export interface CiSource {
  /** Folder of the working tree; without git, that of the file. */
  readonly root: string
  /** Path of the file, relative to the root. */
  readonly configPath: string
  readonly commit: Commit | undefined
  readonly remote: Remote | undefined
}

/** Finds the file that is named, or that of the repository of the current folder. Throws `file-not-found` if its folder does not exist. */
export async function findCiSource(named: string | undefined): Promise<CiSource> {
  const folder = realFolder(named === undefined ? '.' : dirname(resolve(named)))
  const root = (await findWorkTree(folder)) ?? folder
  const configPath = named === undefined ? USUAL_FILE : relative(root, join(folder, basename(named)))
  const commit = await readCommit(root)
  const remote = commit?.remoteUrl === undefined ? undefined : parseRemote(commit.remoteUrl)
  return { root, configPath, commit, remote }
}

/** Git names folders without links. */
function realFolder(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR')) throw error
    throw fault('file-not-found', { message: `The folder ${path} does not exist.` }, error)
  }
}
