/** The automatic step `main_clone` of a build. */
import { defined, fault } from '@windlass/kit'
import { isMainCloneSkipped, possibleMainClone } from '@windlass/pipeline'
import type { MainClone, Plan, VariableLayer } from '@windlass/plan'
import type { AccountSettings, GitFactsInput, PipelineSettings } from '@windlass/protocol'
import { COMMAND_SCOPE } from '../../identity/scopes.ts'

type Setting = Pick<PipelineSettings, 'mainClone'>
type Default = Pick<AccountSettings, 'automaticClone'>

export interface MainCloneFacts {
  /** The event that started the build. */
  readonly git: GitFactsInput | undefined
  /** True if the caller may not choose the repository with `git`. */
  readonly keepsRepository?: boolean | undefined
  readonly branch: string | undefined
  readonly revision: string | undefined
  readonly layers: readonly VariableLayer[]
}

/**
 * Returns the automatic clone of a build: of the repository of its event, otherwise of that of the pipeline. Undefined if it is turned off, or if
 * neither is known. Variables do not select the repository, because the step of another pipeline may set them. Neither do events of callers that may
 * not run commands, because the repository contains the code that runs with the secrets of the pipeline.
 */
export function chooseMainClone({ mainClone }: Setting, account: Default, facts: MainCloneFacts): MainClone | undefined {
  const possible = possibleMainClone(mainClone, account.automaticClone)
  const repo = (facts.keepsRepository === true ? undefined : repositoryOf(facts.git)) ?? mainClone.repo
  return possible === undefined || repo === undefined ? undefined : repeatMainClone({ ...possible, repo }, facts)
}

/** Throws `scope-missing` if only an event that may not choose the repository names one for the automatic clone. */
export function requireRepositoryScope(
  plan: Plan | undefined,
  { mainClone }: Setting,
  { account, git, keepsRepository, layers }: Omit<MainCloneFacts, 'branch' | 'revision'> & { readonly account: Default },
): void {
  const repo = repositoryOf(git)
  if (keepsRepository !== true || repo === undefined || mainClone.repo !== undefined) return
  if (possibleMainClone(mainClone, account.automaticClone) === undefined || isMainCloneSkipped(layers)) return
  // The automatic clone is not added beside a step of this name.
  if (plan === undefined || plan.steps.some(({ name }) => name === 'main_clone')) return
  throw fault('scope-missing', {
    message: `The key cannot choose the repository of the automatic clone ("${repo}"), because it does not have the scope ${COMMAND_SCOPE}.`,
    hint: 'Set `spec.mainClone.repo` in the pipeline, or use a key with the scope.',
  })
}

/** Returns the automatic clone of an earlier build for one at another commit. Undefined if a variable of the new build turns it off. */
export function repeatMainClone(
  { repo, git }: MainClone,
  { branch, revision, layers }: Omit<MainCloneFacts, 'git'>,
): MainClone | undefined {
  if (isMainCloneSkipped(layers)) return undefined
  // References, so that a document is compiled once for all commits.
  const at = revision ? '${{CF_REVISION}}' : branch ? '${{CF_BRANCH}}' : undefined
  return { repo, ...defined({ git, revision: at }) }
}

const OWNER = /^[^\s/:$-][^\s/:$]*(?:\/[^\s/:$]+)*$/
const NAME = /^[^\s/:$-][^\s/:$]*$/

/** Returns `owner/name` of an event. Undefined without one, and for texts that are a URL, a path or a reference. */
function repositoryOf(git: GitFactsInput | undefined): string | undefined {
  const { repoOwner = '', repoName = '' } = git ?? {}
  const isPlain = OWNER.test(repoOwner) && NAME.test(repoName) && ![...repoOwner.split('/'), repoName].includes('..')
  return isPlain ? `${repoOwner}/${repoName}` : undefined
}
