/** Repositories that callers name by their URL, opened with the Git token of the caller. */
import type { Repository } from '@windlass/forges'
import { fault } from '@windlass/kit'
import { splitRepositoryUrl } from '@windlass/protocol'
import { isBranchName } from '../commit/paths.ts'
import type { UserForge } from '../commit/user-commits.ts'
import type { ForgeCaller } from '../forge/call-forge.ts'
import { openForgeSession } from '../forge/session.ts'
import { mayUse } from '../http/integration-routes.ts'
import type { Call } from '../http/route.ts'
import type { GitTokens } from '../store/git-tokens.ts'
import type { Integrations } from '../store/integrations.ts'
import { findRepository } from './find-repository.ts'

/** What the operations need of a call. */
export type GitopsCall = Pick<Call<unknown, unknown, unknown>, 'caller' | 'key' | 'confirm' | 'signal'>

export interface UserRepository extends UserForge {
  /** `owner/name`. */
  readonly repo: string
  /** What the forge says of it. */
  readonly facts: Repository
}

export interface UserRepositories {
  /**
   * Opens a repository and asks its forge for it. Returns undefined if the caller may use no integration for its host. Throws `git-token-missing`, and `not-found` if the
   * Git token does not see the repository.
   */
  find(call: GitopsCall, clone: string): Promise<UserRepository | undefined>
  /** Like `find`. Throws `not-found` without an integration. */
  get(call: GitopsCall, clone: string): Promise<UserRepository>
}

export interface UserRepositoriesOptions {
  readonly integrations: Integrations
  readonly tokens: GitTokens
  readonly forges: ForgeCaller
}

export function openUserRepositories({ integrations, tokens, forges }: UserRepositoriesOptions): UserRepositories {
  async function find({ caller, confirm, signal }: GitopsCall, clone: string): Promise<UserRepository | undefined> {
    const usable = (await integrations.list()).filter((integration) => mayUse(integration, caller))
    const found = findRepository(usable, clone)
    if (found === undefined) return undefined
    const { integration, repo } = found
    const token = await tokens.get(integration, caller.userId)
    const session = openForgeSession({ caller: forges, integration, login: token, signal })
    return { session, token, confirm, signal, repo, facts: await session.one(session.browser.repository(repo)) }
  }

  return {
    find,
    async get(call, clone) {
      const found = await find(call, clone)
      if (found !== undefined) return found
      throw fault('not-found', {
        message: `The GitOps runtime has no Git integration for ${clone} that you may use.`,
        hint: 'An admin adds one: windlass gitops integration add RUNTIME NAME --provider PROVIDER --url URL',
      })
    },
  }
}

/** Returns the branch of a repository URL, which is the default one unless it names another. Throws `request-invalid`. */
export function branchOf(url: string, { facts, repo }: Pick<UserRepository, 'facts' | 'repo'>): string {
  const branch = splitRepositoryUrl(url).branch ?? facts.defaultBranch
  if (branch !== undefined && isBranchName(branch)) return branch
  throw fault('request-invalid', {
    message: `"${repo}" has no default branch.`,
    hint: 'Push a first commit, such as a README, or name a branch with ?ref=BRANCH.',
  })
}
