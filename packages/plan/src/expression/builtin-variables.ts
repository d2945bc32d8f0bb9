/** The built-in `CF_*` variables of a build. */
import { TRIGGERS, type Trigger } from '../lists.ts'

/** Facts that are known when a build is created. An absent fact sets no variable. Times in epoch milliseconds. */
export interface BuildFacts {
  readonly buildId: string
  readonly buildUrl?: string | undefined
  /** Base URL of the server. */
  readonly serverUrl?: string | undefined
  readonly createdAt: number
  /** User or system that started the build. */
  readonly initiator?: string | undefined
  readonly trigger: Trigger
  /** `project/pipeline`. */
  readonly pipeline?: string | undefined
  readonly account?: string | undefined
  readonly git?: GitFacts | undefined
}

export interface GitFacts {
  readonly repoOwner?: string | undefined
  readonly repoName?: string | undefined
  /** Branch or tag. */
  readonly branch?: string | undefined
  readonly baseBranch?: string | undefined
  /** Full commit hash. */
  readonly revision?: string | undefined
  readonly commitMessage?: string | undefined
  readonly commitAuthor?: string | undefined
  readonly commitUrl?: string | undefined
  readonly pullRequest?: PullRequestFacts | undefined
  readonly release?: ReleaseFacts | undefined
}

export interface PullRequestFacts {
  /** Action name of the Git provider: opened, synchronize, ... */
  readonly action?: string | undefined
  readonly id?: string | undefined
  readonly number?: string | undefined
  /** Target branch, and the branch that the pull request comes from. */
  readonly target?: string | undefined
  readonly headBranch?: string | undefined
  readonly headCommit?: string | undefined
  readonly labels?: string | undefined
  readonly title?: string | undefined
  readonly comment?: string | undefined
  readonly commentAuthor?: string | undefined
  readonly merged?: boolean | undefined
  readonly mergedCommit?: string | undefined
}

export interface ReleaseFacts {
  readonly name?: string | undefined
  readonly tag?: string | undefined
  readonly id?: string | undefined
  readonly isPrerelease?: boolean | undefined
}

/** Mount path of the shared volume in every step. */
export const VOLUME_PATH = '/codefresh/volume'

/** Descriptions of all built-in variables, also used for the reference page. Variables without a value are not set. */
export const BUILTIN_VARIABLES = {
  CI: 'Always `true`.',
  CF_ACCOUNT: 'Name of the account.',
  CF_API_KEY: 'Token that steps use to call the API of this server.',
  CF_BASE_BRANCH: 'Branch that a tag was made from.',
  CF_BRANCH: 'Branch or tag of the build.',
  CF_BRANCH_TAG_NORMALIZED: 'CF_BRANCH as an image tag: each run of invalid characters becomes `_`.',
  CF_BRANCH_TAG_NORMALIZED_LOWER_CASE: 'CF_BRANCH_TAG_NORMALIZED in lower case.',
  CF_BUILD_ID: 'Id of the build.',
  CF_BUILD_INITIATOR: 'User or system that started the build.',
  CF_BUILD_TIMESTAMP: 'Creation time of the build in epoch milliseconds.',
  CF_BUILD_TRIGGER: '`build` for builds started manually, through the API or by other builds; `webhook` for Git events.',
  CF_BUILD_URL: 'Address of the build in the UI.',
  CF_COMMIT_AUTHOR: 'Author of the commit.',
  CF_COMMIT_MESSAGE: 'Commit message with quotes escaped by a backslash.',
  CF_COMMIT_MESSAGE_ESCAPED: 'Commit message with all special characters escaped by a backslash.',
  CF_COMMIT_URL: 'Address of the commit.',
  CF_CURRENT_ATTEMPT: 'Number of the current try of the step, starting at 1.',
  CF_MAX_ATTEMPTS: 'Maximum number of tries of the step.',
  CF_OIDC_REQUEST_TOKEN: 'Token with which a step requests an ID token at CF_OIDC_REQUEST_URL, in the header Authorization.',
  CF_OIDC_REQUEST_URL:
    'Address that returns an ID token of the build; not set if the engine reaches the server at a loopback address.',
  CF_PIPELINE_NAME: '`project/pipeline`.',
  CF_KUBECONFIG_PATH: 'Path of a kubeconfig with the clusters that steps can reach; not set if there are none.',
  CF_PRERELEASE_FLAG: '`true` if the release is marked as a prerelease.',
  CF_PULL_REQUEST_ACTION: 'Pull request action as named by the Git provider.',
  CF_PULL_REQUEST_COMMENT: 'Text of the comment, for comment events.',
  CF_PULL_REQUEST_COMMENT_AUTHOR: 'Author of the comment.',
  CF_PULL_REQUEST_HEAD_BRANCH: 'Source branch of the pull request.',
  CF_PULL_REQUEST_HEAD_COMMIT_SHA: 'Last commit of the source branch.',
  CF_PULL_REQUEST_ID: 'Id of the pull request.',
  CF_PULL_REQUEST_LABELS: 'Labels of the pull request, separated by commas.',
  CF_PULL_REQUEST_MERGED: '`true` if the pull request was merged.',
  CF_PULL_REQUEST_MERGED_COMMIT_SHA: 'Merge commit of the pull request.',
  CF_PULL_REQUEST_NUMBER: 'Number of the pull request.',
  CF_PULL_REQUEST_TARGET: 'Target branch of the pull request.',
  CF_PULL_REQUEST_TITLE: 'Title of the pull request with quotes escaped by a backslash.',
  CF_PULL_REQUEST_TITLE_ESCAPED: 'Title of the pull request with all special characters escaped by a backslash.',
  CF_RELEASE_ID: 'Id of the release.',
  CF_RELEASE_NAME: 'Name of the release.',
  CF_RELEASE_TAG: 'Tag of the release.',
  CF_REPO_NAME: 'Name of the repository.',
  CF_REPO_OWNER: 'Owner of the repository.',
  CF_REVISION: 'Full hash of the commit.',
  CF_SHORT_REVISION: 'First 7 characters of the hash.',
  CF_STEP_NAME: 'Name of the running step.',
  CF_URL: 'Base address of the server.',
  WINDLASS_URL: 'Base address of the server as seen by the engine; not set if that is a loopback address.',
  CF_VOLUME_NAME: 'Name of the Docker volume that all steps share.',
  CF_VOLUME_PATH: 'Mount path of the shared volume: `/codefresh/volume`.',
} as const satisfies Record<string, string>

/** A user variable that turns the automatic clone of a build off, as in Codefresh. */
export const SKIP_MAIN_CLONE = 'CF_SKIP_MAIN_CLONE'

/** Tokens, paths and identities. User-defined values of these names are ignored, except in the `environment` of a step. */
const PROTECTED = new Set([
  'CF_API_KEY',
  'CF_BUILD_ID',
  'CF_KUBECONFIG_PATH',
  'CF_OIDC_REQUEST_TOKEN',
  'CF_OIDC_REQUEST_URL',
  'CF_VOLUME_NAME',
  'CF_VOLUME_PATH',
])

/** Returns true for a built-in variable that users cannot override for the whole build. */
export function isProtectedVariable(name: string): boolean {
  return PROTECTED.has(name)
}

/** Returns true for a built-in variable about a repository or one of its events. A build that no Git trigger starts may not have it. */
export function isGitVariable(name: string): boolean {
  const isAbout = /^CF_(?:REPO|BRANCH|BASE_BRANCH|REVISION|SHORT_REVISION|COMMIT|PULL_REQUEST|RELEASE|PRERELEASE)(?:_|$)/
  return Object.hasOwn(BUILTIN_VARIABLES, name) && isAbout.test(name)
}

/** Returns the variables of level `system` for a build. None of them is secret; the engine adds the tokens and the volume name. */
export function builtinVariables(facts: BuildFacts): Record<string, string> {
  return defined({
    CI: 'true',
    CF_BUILD_ID: facts.buildId,
    CF_BUILD_URL: facts.buildUrl,
    CF_BUILD_TIMESTAMP: String(facts.createdAt),
    CF_BUILD_INITIATOR: facts.initiator,
    CF_BUILD_TRIGGER: TRIGGERS[facts.trigger.kind].variable,
    CF_PIPELINE_NAME: facts.pipeline,
    CF_ACCOUNT: facts.account,
    CF_URL: facts.serverUrl,
    CF_VOLUME_PATH: VOLUME_PATH,
    ...gitVariables(facts.git ?? {}),
  })
}

/** Returns the Git variables, which a step that clones the triggering repository sets too. */
export function gitVariables(git: GitFacts): Record<string, string> {
  const tag = git.branch === undefined ? undefined : toDockerTag(git.branch)
  return defined({
    CF_REPO_OWNER: git.repoOwner,
    CF_REPO_NAME: git.repoName,
    CF_BRANCH: git.branch,
    CF_BASE_BRANCH: git.baseBranch,
    CF_BRANCH_TAG_NORMALIZED: tag,
    CF_BRANCH_TAG_NORMALIZED_LOWER_CASE: tag?.toLowerCase(),
    CF_REVISION: git.revision,
    CF_SHORT_REVISION: git.revision?.slice(0, 7),
    CF_COMMIT_AUTHOR: git.commitAuthor,
    CF_COMMIT_URL: git.commitUrl,
    CF_COMMIT_MESSAGE: escapeQuotes(git.commitMessage),
    CF_COMMIT_MESSAGE_ESCAPED: git.commitMessage === undefined ? undefined : escapeAll(git.commitMessage),
    ...(git.pullRequest !== undefined && pullRequestVariables(git.pullRequest)),
    ...(git.release !== undefined && releaseVariables(git.release)),
  })
}

function pullRequestVariables(pull: PullRequestFacts): Record<string, string | undefined> {
  return {
    CF_PULL_REQUEST_ACTION: pull.action,
    CF_PULL_REQUEST_ID: pull.id,
    CF_PULL_REQUEST_NUMBER: pull.number,
    CF_PULL_REQUEST_TARGET: pull.target,
    CF_PULL_REQUEST_HEAD_BRANCH: pull.headBranch,
    CF_PULL_REQUEST_HEAD_COMMIT_SHA: pull.headCommit,
    CF_PULL_REQUEST_LABELS: pull.labels,
    CF_PULL_REQUEST_TITLE: escapeQuotes(pull.title),
    CF_PULL_REQUEST_TITLE_ESCAPED: pull.title === undefined ? undefined : escapeAll(pull.title),
    CF_PULL_REQUEST_COMMENT: pull.comment,
    CF_PULL_REQUEST_COMMENT_AUTHOR: pull.commentAuthor,
    CF_PULL_REQUEST_MERGED: pull.merged?.toString(),
    CF_PULL_REQUEST_MERGED_COMMIT_SHA: pull.mergedCommit,
  }
}

function releaseVariables({ name, tag, id, isPrerelease }: ReleaseFacts): Record<string, string | undefined> {
  return {
    CF_RELEASE_NAME: name,
    CF_RELEASE_TAG: tag,
    CF_RELEASE_ID: id,
    CF_PRERELEASE_FLAG: isPrerelease?.toString(),
  }
}

function escapeQuotes(text: string | undefined): string | undefined {
  return text?.replace(/['"]/g, '\\$&')
}

/** Converts a text to a Docker tag: each run of other characters becomes one `_`, leading `.` and `-` are removed, cut to 128 characters. */
export function toDockerTag(text: string): string {
  return text
    .replace(/[^A-Za-z0-9_.-]+/g, '_')
    .replace(/^[.-]+/, '')
    .slice(0, 128)
}

/** Escapes every character that is special in a shell or a quoted string with a backslash; line breaks become `
`. */
function escapeAll(text: string): string {
  return text.replace(/[^A-Za-z0-9_ \n\r\t\u0080-\uffff]/g, '\\$&').replace(/\r?\n/g, '\\n')
}

function defined(values: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}
