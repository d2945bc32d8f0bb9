/** Repositories that the runtime itself opens for releases, with its own Git token. It is registered by an admin, and never used for calls of users. */
import type { Repository } from '@windlass/forges'
import { fault } from '@windlass/kit'
import { problemOfRepositoryUrl, splitRepositoryUrl } from '@windlass/protocol'
import type { UserForge } from '../commit/user-commits.ts'
import { openForgeSession, type ForgeSession } from '../forge/session.ts'
import { RUNTIME_USER, type GitToken } from '../store/git-tokens.ts'
import type { Integration } from '../store/integrations.ts'
import { findRepository } from '../gitops/find-repository.ts'
import type { UserRepositoriesOptions } from '../gitops/user-repositories.ts'

export interface RuntimeRepository extends UserForge {
  /** `owner/name`. */
  readonly repo: string
  readonly facts: Repository
}

export interface RuntimeForges {
  /** Opens an integration by its name. Throws `not-found` and `git-token-missing`. */
  openIntegration(name: string, signal: AbortSignal): Promise<ForgeSession>
  /** Opens a repository by its URL. Throws `not-found` without an integration for its host, `git-token-missing`, and `request-invalid` for a URL that is not HTTPS. */
  open(url: string, signal: AbortSignal): Promise<RuntimeRepository>
}

const CONNECT_AGAIN = 'An admin connects the forge again: windlass connect git NAME --app-proxy RUNTIME'

export function openRuntimeForges({ integrations, tokens, forges }: UserRepositoriesOptions): RuntimeForges {
  async function requireToken(integration: Integration, hint: string): Promise<GitToken> {
    const token = await tokens.find(integration, RUNTIME_USER)
    if (token !== undefined) return token
    throw fault('git-token-missing', {
      message: `The app-proxy has no Git token of its own for the integration "${integration.name}".`,
      hint,
    })
  }

  return {
    async openIntegration(name, signal) {
      const integration = await integrations.get(name)
      return openForgeSession({ caller: forges, integration, login: await requireToken(integration, CONNECT_AGAIN), signal })
    },
    async open(url, signal) {
      const problem = problemOfRepositoryUrl(url)
      if (problem !== undefined)
        throw fault('request-invalid', { message: `The repository ${url} cannot be changed. ${problem}.` })
      const { clone } = splitRepositoryUrl(url)
      const found = findRepository(await integrations.list(), clone)
      if (found === undefined)
        throw fault('not-found', {
          message: `The GitOps runtime has no Git integration for ${clone}.`,
          hint: 'An admin adds one: windlass gitops integration add RUNTIME NAME --provider PROVIDER --url URL',
        })
      const { integration, repo } = found
      const hint = `An admin registers one: windlass gitops integration register RUNTIME ${integration.name} --token-file FILE --runtime-token`
      const token = await requireToken(integration, hint)
      const session = openForgeSession({ caller: forges, integration, login: token, signal })
      const confirm = async (): Promise<void> => signal.throwIfAborted()
      return { session, token, confirm, signal, repo, facts: await session.one(session.browser.repository(repo)) }
    },
  }
}
