/** Runs git-clone steps, or uses a local work tree instead of a clone. */
import { readFileSync } from 'node:fs'
import { repositoryName, VOLUME_PATH, type ResolvedGitClone } from '@windlass/plan'
import type { StepRun } from '../attempt/context.ts'
import type { GitTarget } from './git-access.ts'
import { openGitTarget } from './open-git-target.ts'
import { GIT_CONFIG, GIT_REMOTE } from './git-remote.ts'
import { useWorkTree } from './work-tree.ts'
import { runTool, type ToolEnd } from '../containers/tool-container.ts'
import { StepFailure, type StepOutcome } from '../attempt/step-outcome.ts'
import { variablesOf } from './clone-variables.ts'

const SCRIPT = `${GIT_REMOTE}\n${readFileSync(new URL('git-clone.sh', import.meta.url), 'utf8')}`

export async function runGitClone(run: StepRun<ResolvedGitClone>): Promise<StepOutcome> {
  const { action, context, step } = run
  if (!action.directory.startsWith(`${VOLUME_PATH}/`))
    throw new StepFailure('invalid-step', `A repository can only be cloned below ${VOLUME_PATH}, not to ${action.directory}.`)
  const isMain = isMainClone(run)
  if (context.source !== undefined && isMain) return useWorkTree(run, context.source)
  const target = await openGitTarget(run, action)
  const { exitCode, result, tail } = await runTool(run, {
    script: SCRIPT,
    environment: {
      REPO: target.url,
      DIRECTORY: action.directory,
      REVISION: action.revision?.trim() ?? '',
      DEPTH: action.depth === undefined ? '' : String(action.depth),
      EXCLUDE_BLOBS: String(action.excludeBlobs),
      SKIP_TAGS: String(action.skipTagsOnUpdate),
      ...(action.useProxy && proxyVariables(step.environment)),
    },
    secrets: { '.gitconfig': GIT_CONFIG, ...target.secrets },
    mounts:
      target.file !== undefined && context.hostFiles && !target.file.startsWith(VOLUME_PATH)
        ? [{ type: 'bind', source: target.file, target: target.file, readOnly: true }]
        : [],
  })
  if (exitCode !== 0) throw cloneFailure({ exitCode, tail }, action, target)
  const [name = '', revision = '', author = '', message = ''] = result
    .toString('utf8')
    .split('\0')
    .map((text) => text.replace(/^\n/, ''))
  const members = { revision, repo: repositoryName(action.repo) ?? '', workingDirectory: action.directory }
  return {
    status: 'success',
    exitCode,
    members,
    exports: isMain ? variablesOf(target.url, { name, revision, author, message }) : [],
  }
}

/** Returns true for the step that clones the repository of the build: `main_clone`, else the first clone of the plan. */
function isMainClone({ context, step }: StepRun<ResolvedGitClone>): boolean {
  const clones = context.input.plan.steps.filter(({ action }) => action.kind === 'git-clone')
  const main = clones.find(({ name }) => name === 'main_clone') ?? clones[0]
  const triggering = step.environment['CF_REPO_NAME']
  return (
    main?.name === step.name &&
    (triggering === undefined || triggering === repositoryName(step.action.kind === 'git-clone' ? step.action.repo : ''))
  )
}

function proxyVariables(environment: Readonly<Record<string, string>>): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']) {
    const value = environment[name] ?? environment[name.toLowerCase()]
    // curl reads the proxy for plain http only from the lower-case name.
    if (value !== undefined) found[name.toLowerCase()] = value
  }
  return found
}

/**
 * A message of git or cp about the disk that they write to. Both write only to the shared volume and to their container, which are on the disk of the
 * build. Git prefixes messages of the server with "remote:", and the disk of the server is not ours.
 */
const DISK_FULL = /^(?!remote:).*(: No space left on device|Out of diskspace)\.?\r?$/m

/** Returns the failure of a git command for the exit code of our scripts and the end of their output. */
export function cloneFailure(
  { exitCode, tail }: Pick<ToolEnd, 'exitCode' | 'tail'>,
  action: ResolvedGitClone,
  target: GitTarget,
): StepFailure {
  const used = target.integration === undefined ? 'without an integration' : `with the integration "${target.integration}"`
  const what = `${target.url} (${used})`
  // A transfer that the full disk interrupts can look like a network failure.
  if ((exitCode === 1 || exitCode === 13) && DISK_FULL.test(tail))
    return new StepFailure('disk-full', `The disk of the build has no space left for ${what}.`)
  switch (exitCode) {
    case 10:
      return new StepFailure('clone-failed', `The git server denied access to ${what}.`, {
        hint: 'Check the credentials of the git context; for ssh its sshPrivateKey and sshKnownHosts.',
      })
    case 11:
      return new StepFailure('clone-failed', `There is no repository ${what}, or these credentials have no access to it.`, {
        hint: 'Check `repo` and `git`.',
      })
    case 12:
      return new StepFailure('clone-failed', `There is no branch, tag or commit "${action.revision ?? ''}" in ${what}.`, {
        hint: 'Check `revision`; push it first.',
      })
    case 16:
      return new StepFailure('invalid-step', `The path ${action.directory} contains a symbolic link.`, {
        hint: 'Remove the link in an earlier step, or clone to another folder.',
      })
    case 13:
      return new StepFailure('clone-failed', `${what} cannot be reached; three attempts failed.`, {
        hint: 'Check that the git server is reachable from the network of the build.',
      })
    default:
      return new StepFailure('clone-failed', `Cloning ${what} failed with exit code ${exitCode}.`, {
        hint: 'See the git output in the log above.',
      })
  }
}
