/** The automatic step `main_clone` of a build. */
import { defined } from '@windlass/kit'
import { isMainCloneSkipped, possibleMainClone } from '@windlass/pipeline'
import type { MainClone, VariableLayer } from '@windlass/plan'
import type { AccountSettings, GitFactsInput, PipelineSettings } from '@windlass/protocol'

type Setting = Pick<PipelineSettings, 'mainClone'>
type Default = Pick<AccountSettings, 'automaticClone'>

export interface MainCloneFacts {
  /** The event that started the build. */
  readonly git: GitFactsInput | undefined
  readonly branch: string | undefined
  readonly revision: string | undefined
  readonly layers: readonly VariableLayer[]
}

/**
 * Returns the automatic clone of a build: of the repository of its event, otherwise of that of the pipeline. Undefined if it is turned off, or if
 * neither is known. Variables do not select the repository, because the step of another pipeline may set them.
 */
export function chooseMainClone({ mainClone }: Setting, account: Default, facts: MainCloneFacts): MainClone | undefined {
  const possible = possibleMainClone(mainClone, account.automaticClone)
  const repo = repositoryOf(facts.git) ?? mainClone.repo
  return possible === undefined || repo === undefined ? undefined : repeatMainClone({ ...possible, repo }, facts)
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
