/** The `CF_*` variables of a build (pipeline language 4.2), from facts about it. */

/** What is known of a build when it is created. Absent facts give no variable. Times in epoch milliseconds. */
export interface BuildFacts {
  readonly buildId: string
  readonly buildUrl?: string | undefined
  /** Base URL of the server. */
  readonly serverUrl?: string | undefined
  readonly createdAt: number
  /** Who started it. */
  readonly initiator?: string | undefined
  readonly trigger: 'build' | 'webhook'
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
  /** The provider's own word: opened, synchronize, ... */
  readonly action?: string | undefined
  readonly id?: string | undefined
  readonly number?: string | undefined
  /** Branch that it is to be merged into, and the one that it comes from. */
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

/** Where the shared volume of a build is mounted in every step. */
export const VOLUME_PATH = '/codefresh/volume'

/** Every built-in variable and what it holds; the reference page is made from this table. Those without a value are not set. */
export const BUILTIN_VARIABLES = {
  CI: 'Always `true`.',
  CF_ACCOUNT: 'Name of the account.',
  CF_API_KEY: 'A token with which steps can call the API of this server.',
  CF_BASE_BRANCH: 'Branch that a tag was made from.',
  CF_BRANCH: 'Branch or tag of the build.',
  CF_BRANCH_TAG_NORMALIZED: 'CF_BRANCH as an image tag: runs of other characters become `_`.',
  CF_BRANCH_TAG_NORMALIZED_LOWER_CASE: 'The same in lower case.',
  CF_BUILD_ID: 'Id of the build.',
  CF_BUILD_INITIATOR: 'Who started the build.',
  CF_BUILD_TIMESTAMP: 'When the build was created, in epoch milliseconds.',
  CF_BUILD_TRIGGER: '`build` for builds started by hand, API or other builds; `webhook` for git events.',
  CF_BUILD_URL: 'Address of the build in the UI.',
  CF_COMMIT_AUTHOR: 'Author of the commit.',
  CF_COMMIT_MESSAGE: 'Commit message; quotes have a backslash in front.',
  CF_COMMIT_MESSAGE_ESCAPED: 'Commit message with a backslash before every special character.',
  CF_COMMIT_URL: 'Address of the commit.',
  CF_CURRENT_ATTEMPT: 'Number of the try of this step, from 1.',
  CF_MAX_ATTEMPTS: 'How many tries this step has in all.',
  CF_PIPELINE_NAME: '`project/pipeline`.',
  CF_KUBECONFIG_PATH: 'A kubeconfig with the clusters that steps can reach, when there are any.',
  CF_PRERELEASE_FLAG: '`true` for a release that is marked as a prerelease.',
  CF_PULL_REQUEST_ACTION: "What happened to the pull request, in the provider's own word.",
  CF_PULL_REQUEST_COMMENT: 'The comment, on comment events.',
  CF_PULL_REQUEST_COMMENT_AUTHOR: 'Who wrote the comment.',
  CF_PULL_REQUEST_HEAD_BRANCH: 'Branch that the pull request comes from.',
  CF_PULL_REQUEST_HEAD_COMMIT_SHA: 'Last commit of that branch.',
  CF_PULL_REQUEST_ID: 'Id of the pull request.',
  CF_PULL_REQUEST_LABELS: 'Its labels, separated by commas.',
  CF_PULL_REQUEST_MERGED: '`true` when it was merged.',
  CF_PULL_REQUEST_MERGED_COMMIT_SHA: 'Commit of the merge.',
  CF_PULL_REQUEST_NUMBER: 'Number of the pull request.',
  CF_PULL_REQUEST_TARGET: 'Branch that it is to be merged into.',
  CF_PULL_REQUEST_TITLE: 'Its title; quotes have a backslash in front.',
  CF_PULL_REQUEST_TITLE_ESCAPED: 'Its title with a backslash before every special character.',
  CF_RELEASE_ID: 'Id of the release.',
  CF_RELEASE_NAME: 'Name of the release.',
  CF_RELEASE_TAG: 'Tag of the release.',
  CF_REPO_NAME: 'Name of the repository.',
  CF_REPO_OWNER: 'Owner of the repository.',
  CF_REVISION: 'Full hash of the commit.',
  CF_SHORT_REVISION: 'First 7 characters of the hash.',
  CF_STEP_NAME: 'Name of the running step.',
  CF_URL: 'Base address of the server.',
  CF_VOLUME_NAME: 'Docker volume that all steps share.',
  CF_VOLUME_PATH: 'Where it is mounted: `/codefresh/volume`.',
} as const satisfies Record<string, string>

/** Tokens, paths and identities: what users define under these names is ignored outside a step's own environment. */
const PROTECTED = new Set([
  'CF_API_KEY',
  'CF_BUILD_ID',
  'CF_KUBECONFIG_PATH',
  'CF_OIDC_REQUEST_TOKEN',
  'CF_OIDC_REQUEST_URL',
  'CF_VOLUME_NAME',
  'CF_VOLUME_PATH',
])

/** True for a built-in variable whose value users cannot replace for the whole build. */
export function isProtectedVariable(name: string): boolean {
  return PROTECTED.has(name)
}

/** The variables of level `system` for a build. Nothing in them is secret; the engine adds tokens and the volume's name itself. */
export function builtinVariables(facts: BuildFacts): Record<string, string> {
  return defined({
    CI: 'true',
    CF_BUILD_ID: facts.buildId,
    CF_BUILD_URL: facts.buildUrl,
    CF_BUILD_TIMESTAMP: String(facts.createdAt),
    CF_BUILD_INITIATOR: facts.initiator,
    CF_BUILD_TRIGGER: facts.trigger,
    CF_PIPELINE_NAME: facts.pipeline,
    CF_ACCOUNT: facts.account,
    CF_URL: facts.serverUrl,
    CF_VOLUME_PATH: VOLUME_PATH,
    ...gitVariables(facts.git ?? {}),
  })
}

/** The git variables alone; also what a step that clones the triggering repository sets. */
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

/** A text as Docker tag: runs of other characters become one `_`, no `.` or `-` in front, at most 128 characters. */
export function toDockerTag(text: string): string {
  return text
    .replace(/[^A-Za-z0-9_.-]+/g, '_')
    .replace(/^[.-]+/, '')
    .slice(0, 128)
}

/** A backslash before everything that a shell or a quoted text may take for its own; line breaks as `\n`. */
function escapeAll(text: string): string {
  return text.replace(/[^A-Za-z0-9_ \n\r\t\u0080-\uffff]/g, '\\$&').replace(/\r?\n/g, '\\n')
}

function defined(values: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}
