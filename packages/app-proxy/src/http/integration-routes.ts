/** Routes of Git integrations, and of the Git tokens of users. */
import { FORGE_APIS } from '@windlass/forges'
import { defined, fault, isFault, type Clock } from '@windlass/kit'
import { GitTokenInput, Id } from '@windlass/protocol'
import type { Caller } from '../access/caller.ts'
import type { ForgeCaller } from '../forge/call-forge.ts'
import type { ForgeHosts } from '../forge/hosts.ts'
import { findForgeUser, openForgeSession } from '../forge/session.ts'
import { RUNTIME_USER, type GitToken, type GitTokens } from '../store/git-tokens.ts'
import { IntegrationInput, unknownIntegration, type Integration, type Integrations } from '../store/integrations.ts'
import { ByName } from './fields.ts'
import { route, type Route } from './route.ts'

export interface IntegrationParts {
  readonly integrations: Integrations
  readonly tokens: GitTokens
  readonly forges: ForgeCaller
  readonly hosts: ForgeHosts
  readonly clock: Clock
}

interface Registering {
  readonly name: string
  readonly body: GitTokenInput
  readonly caller: Caller
  readonly signal: AbortSignal
}

export function integrationRoutes({ integrations, tokens, forges, hosts, clock }: IntegrationParts): Route[] {
  async function show(integration: Integration, caller: Caller, users: ReadonlyMap<string, readonly string[]>): Promise<object> {
    const { name, provider, url, sharingPolicy } = integration
    const place = new URL(url)
    const hasOne = users.get(name)?.includes(caller.userId) === true
    const own = hasOne ? await tokens.find(integration, caller.userId) : undefined
    return {
      name,
      provider,
      url,
      apiUrl: FORGE_APIS[provider].baseOf({
        origin: place.origin,
        host: place.hostname,
        path: place.pathname.replace(/^\/+|\/+$/g, ''),
      }),
      sharingPolicy,
      registeredUsers: (users.get(name) ?? []).filter((user) => user !== RUNTIME_USER),
      hasRuntimeToken: users.get(name)?.includes(RUNTIME_USER) === true,
      ...(own !== undefined && { registration: toRegistration(own) }),
    }
  }

  /** Stores a token for a user, or for the runtime, after its forge has said whose it is. */
  async function register({ name, body, caller, signal }: Registering, userId: string): Promise<object> {
    const integration = await requireIntegration(integrations, name, caller)
    const user = await findForgeUser(openForgeSession({ caller: forges, integration, login: body, signal }))
    const token: GitToken = {
      url: integration.url,
      token: body.token,
      ...defined({ username: body.username, name: user.name, email: user.email }),
      login: user.login,
      registeredAt: clock.now(),
    }
    await tokens.put(integration.name, userId, token)
    // While the forge was asked, an admin may have removed the integration with the tokens of its users.
    await requireIntegration(integrations, integration.name, caller).catch(async (error: unknown) => {
      if (isFault(error, 'not-found')) await tokens.remove(integration.name, userId)
      throw error
    })
    return toRegistration(token)
  }

  return [
    route('GET', '/git-integrations', {
      right: 'see-gitops',
      handle: async ({ caller }) => {
        const seen = (await integrations.list()).filter((integration) => mayUse(integration, caller))
        const users = await tokens.users()
        return { items: await Promise.all(seen.map((integration) => show(integration, caller, users))) }
      },
    }),
    route('GET', '/git-integrations/{name}', {
      right: 'see-gitops',
      params: ByName,
      handle: async ({ params, caller }) =>
        show(await requireIntegration(integrations, params.name, caller), caller, await tokens.users()),
    }),
    route('PUT', '/git-integrations/{name}', {
      right: 'manage-gitops',
      isWrite: true,
      params: ByName,
      body: IntegrationInput,
      async handle({ params: { name }, body, caller }) {
        hosts.requireForge(new URL(body.url))
        await integrations.put({ name, ...body })
        return show({ name, ...body }, caller, await tokens.users())
      },
    }),
    route('DELETE', '/git-integrations/{name}', {
      right: 'manage-gitops',
      isWrite: true,
      params: ByName,
      async handle({ params: { name } }) {
        const wasThere = await integrations.remove(name)
        // An earlier call may have ended between the two, and its repetition still has to remove the tokens.
        const removed = await tokens.removeAll(name)
        if (!wasThere && removed === 0) throw unknownIntegration(name)
        return undefined
      },
    }),
    route('PUT', '/git-integrations/{name}/token', {
      right: 'see-gitops',
      isWrite: true,
      params: ByName,
      body: GitTokenInput,
      handle: async ({ params, body, caller, signal }) => register({ name: params.name, body, caller, signal }, caller.userId),
    }),
    route('PUT', '/git-integrations/{name}/runtime-token', {
      right: 'manage-gitops',
      isWrite: true,
      params: ByName,
      body: GitTokenInput,
      handle: async ({ params, body, caller, signal }) => register({ name: params.name, body, caller, signal }, RUNTIME_USER),
    }),
    route('DELETE', '/git-integrations/{name}/runtime-token', {
      right: 'manage-gitops',
      isWrite: true,
      params: ByName,
      async handle({ params: { name } }) {
        if (!(await tokens.remove(name, RUNTIME_USER)))
          throw fault('not-found', { message: `The GitOps runtime has no Git token of its own for the integration "${name}".` })
        return undefined
      },
    }),
    route('DELETE', '/git-integrations/{name}/token', {
      right: 'see-gitops',
      isWrite: true,
      params: ByName,
      async handle({ params: { name }, caller }) {
        if (!(await tokens.remove(name, caller.userId))) throw fault('git-token-missing')
        return undefined
      },
    }),
    route('DELETE', '/git-integrations/{name}/tokens/{user}', {
      right: 'manage-gitops',
      isWrite: true,
      params: ByName.extend({ user: Id }),
      async handle({ params: { name, user } }) {
        if (!(await tokens.remove(name, user))) throw fault('not-found', { message: `The user ${user} has no Git token here.` })
        return undefined
      },
    }),
  ]
}

/** What its user gets of a token. */
function toRegistration({ login, name, email, registeredAt }: GitToken): object {
  return { login, ...defined({ name, email }), registeredAt }
}

/** Returns true if the integration is shared with the caller. */
export function mayUse({ sharingPolicy }: Integration, { rights }: Caller): boolean {
  return sharingPolicy === 'ALL_USERS_IN_ACCOUNT' || rights.has('manage-gitops')
}

/** Returns an integration that the caller may use. Throws `not-found`, also for one that is shared with admins only. */
export async function requireIntegration(integrations: Integrations, name: string, caller: Caller): Promise<Integration> {
  const integration = await integrations.get(name)
  if (!mayUse(integration, caller))
    throw fault('not-found', { message: `The Git integration "${name}" does not exist, or is shared with admins only.` })
  return integration
}
