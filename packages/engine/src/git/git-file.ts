/** Fetches one path of a git repository: a pipeline document, or external resources for the volume. */
import { readFileSync } from 'node:fs'
import { defined } from '@windlass/kit'
import { substitute, VOLUME_PATH, type ExternalResource, type ResolvedGitClone, type Scope } from '@windlass/plan'
import type { StepPart } from '../attempt/context.ts'
import { cloneFailure } from './git-clone.ts'
import { openGitTarget } from './open-git-target.ts'
import { GIT_CONFIG, GIT_REMOTE } from './git-remote.ts'
import { runTool } from '../containers/tool-container.ts'
import { StepFailure } from '../attempt/step-outcome.ts'

const SCRIPT = `${GIT_REMOTE}\n${readFileSync(new URL('git-file.sh', import.meta.url), 'utf8')}`

export interface GitFile {
  readonly repo: string
  readonly revision: string | undefined
  /** Name of the git context. Default: the default context. */
  readonly git: string | undefined
  readonly path: string
}

/** Returns the text of a file. Throws `StepFailure` (`clone-failed`, `integration-missing`, `disk-full`). */
export async function readGitFile(part: StepPart, file: GitFile): Promise<string> {
  const { result } = await fetchPath(part, file, { MODE: 'print' })
  return result.toString('utf8')
}

/** Copies the external resources of the plan to the shared volume. Throws like `readGitFile`. */
export async function copyResources(part: StepPart, scope: Scope): Promise<void> {
  const fill = (text: string): string => substitute(text, scope).text
  for (const resource of part.context.input.plan.externalResources ?? []) {
    const { repo, revision, git, source, destination, isFolder } = resource
    await part.output.say(`Fetching ${fill(source)} of ${fill(repo)} to ${fill(destination)}.`)
    await copyResource(part, {
      repo: fill(repo),
      revision: fill(revision),
      ...(git !== undefined && { git: fill(git) }),
      source: fill(source),
      destination: fill(destination),
      isFolder,
    })
  }
}

/** Copies a file or the contents of a folder to the shared volume. */
async function copyResource(
  part: StepPart,
  { repo, revision, git, source, destination, isFolder }: ExternalResource,
): Promise<void> {
  const folder = destination.startsWith('/') ? destination : `${VOLUME_PATH}/${destination}`
  const isInside = folder === VOLUME_PATH || folder.startsWith(`${VOLUME_PATH}/`)
  if (!isInside || folder.split('/').includes('..'))
    throw new StepFailure('invalid-step', `External resources can only be copied below ${VOLUME_PATH}, not to ${destination}.`)
  await fetchPath(part, { repo, revision, git, path: source }, { MODE: 'copy', DESTINATION: folder, FOLDER: String(isFolder) })
}

async function fetchPath(
  part: StepPart,
  { repo, revision, git, path }: GitFile,
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly result: Buffer }> {
  const { context } = part
  const action: ResolvedGitClone = {
    kind: 'git-clone',
    repo,
    ...defined({ revision, git }),
    directory: VOLUME_PATH,
    excludeBlobs: true,
    skipTagsOnUpdate: true,
    useProxy: false,
  }
  const target = await openGitTarget(part, action)
  const end = await runTool(part, {
    script: SCRIPT,
    environment: { REPO: target.url, REVISION: revision?.trim() ?? '', FILE: path, ...environment },
    secrets: { '.gitconfig': GIT_CONFIG, ...target.secrets },
    mounts:
      target.file !== undefined && context.hostFiles && !target.file.startsWith(VOLUME_PATH)
        ? [{ type: 'bind', source: target.file, target: target.file, readOnly: true }]
        : [],
  })
  const where = `${target.url} at ${revision ?? 'its default branch'}`
  if (end.exitCode === 14)
    throw new StepFailure('clone-failed', `There is no ${path} in ${where}.`, { hint: 'Check the path and the revision.' })
  if (end.exitCode === 15) throw new StepFailure('clone-failed', `${path} in ${where} is larger than 1 MiB.`)
  if (end.exitCode === 16)
    throw new StepFailure('invalid-step', `The path ${environment['DESTINATION'] ?? ''} contains a symbolic link.`)
  if (end.exitCode !== 0) throw cloneFailure(end, action, target)
  return end
}
