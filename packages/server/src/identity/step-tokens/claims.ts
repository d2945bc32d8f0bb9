/**
 * The claims of the ID tokens of steps, with the names of Codefresh. All of them are facts that the server has recorded: what a document or a step says about
 * itself is not among them.
 */
import { defined } from '@windlass/kit'
import type { GitFactsInput } from '@windlass/protocol'
import type { BuildRow } from '../../store/schema/schema.ts'

interface Facts {
  readonly build: Pick<
    BuildRow,
    | 'id'
    | 'account_id'
    | 'number'
    | 'pipeline_id'
    | 'pipeline'
    | 'project'
    | 'branch'
    | 'revision'
    | 'trigger'
    | 'trigger_name'
    | 'initiator'
    | 'parent_id'
    | 'attempt'
  >
  readonly accountName: string
  /** The event that started the build, or that its user named. */
  readonly git: GitFactsInput | undefined
}

export interface StepClaims {
  readonly sub: string
  readonly [claim: string]: string
}

/** Kinds of triggers whose initiator is a user or a step of this server. Others come from a forge, a registry or another build. */
const OF_USERS: ReadonlySet<string> = new Set(['manual', 'restart', 'build'])

/** Returns the claims of a build. Claims without a value are absent. */
export function claimsOf({ build, accountName, git }: Facts): StepClaims {
  const isWebhook = build.trigger === 'webhook'
  const repo = git?.repoOwner === undefined || git.repoName === undefined ? undefined : `${git.repoOwner}/${git.repoName}`
  const isTag = git?.isTag === true || git?.release !== undefined
  const facts = defined({
    initiator: OF_USERS.has(build.trigger) ? build.initiator : undefined,
    scm_repo_url: repo === undefined ? undefined : repoUrlOf(git, repo),
    scm_user_name: isWebhook ? build.initiator : undefined,
    scm_ref: repo === undefined || isTag ? undefined : (build.branch ?? undefined),
    // A tag can have the name of a protected branch.
    scm_tag: repo !== undefined && isTag ? (build.branch ?? undefined) : undefined,
    scm_pull_request_target_branch: git?.pullRequest === undefined ? undefined : (git.pullRequest.target ?? ''),
  })
  const chain = [
    ['account', build.account_id],
    ...(build.pipeline_id === null ? [] : [['pipeline', build.pipeline_id]]),
    ...(facts.initiator === undefined ? [] : [['initiator', escape(facts.initiator)]]),
    ...(repo === undefined ? [] : [['scm_repo_url', facts.scm_repo_url ?? escape(repo)]]),
    ...(facts.scm_user_name === undefined ? [] : [['scm_user_name', escape(facts.scm_user_name)]]),
    ...(facts.scm_ref === undefined ? [] : [['scm_ref', escape(facts.scm_ref)]]),
    ...(facts.scm_tag === undefined ? [] : [['scm_tag', escape(facts.scm_tag)]]),
    ...(facts.scm_pull_request_target_branch === undefined
      ? []
      : [['scm_pull_request_target_branch', escape(facts.scm_pull_request_target_branch)]]),
  ]
  return {
    sub: chain.flat().join(':'),
    account_id: build.account_id,
    account_name: accountName,
    workflow_id: build.id,
    build_number: String(build.number),
    attempt: String(build.attempt),
    trigger: build.trigger,
    ...defined({
      pipeline_id: build.pipeline_id ?? undefined,
      pipeline_name: build.pipeline ?? undefined,
      project_name: build.project ?? undefined,
      trigger_name: build.trigger_name ?? undefined,
      // The branch of a pull request may be in a fork and have any name.
      branch: git?.pullRequest === undefined && !isTag ? (build.branch ?? undefined) : undefined,
      revision: build.revision ?? undefined,
      parent_build_id: build.parent_id ?? undefined,
      scm_repo: repo,
    }),
    ...facts,
  }
}

/** A value with a colon must not look like two parts of the subject. */
function escape(text: string): string {
  return text.replaceAll('%', '%25').replaceAll(':', '%3A')
}

/** Returns the address of a repository, which starts the address of its commit; undefined if that is not known. */
function repoUrlOf(git: GitFactsInput | undefined, repo: string): string | undefined {
  const url = URL.parse(git?.commitUrl ?? '')
  const at = url === null ? -1 : url.pathname.toLowerCase().indexOf(`/${repo.toLowerCase()}/`)
  return url === null || at < 0 ? undefined : `${url.origin}${url.pathname.slice(0, at)}/${repo}`
}
