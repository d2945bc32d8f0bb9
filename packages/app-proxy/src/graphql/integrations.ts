/** Fields about Git integrations and the Git tokens of users. */
import { field, refuseArguments, toShownProvider, type Fields } from '@windlass/graphql'
import { defined, fault, isFault } from '@windlass/kit'
import { GIT_PROVIDERS, GitIntegration, GitRegistration, SHARING_POLICIES } from '@windlass/protocol'
import { z } from 'zod'
import type { RuntimeCall } from './runtime-call.ts'

const DEFAULT_NAME = 'default'
const NoArguments = z.object({})
const Name = z
  .string()
  .nullish()
  .transform((name) => (name === null || name === undefined || name === '' ? DEFAULT_NAME : name))

function toShown({ name, provider, apiUrl, sharingPolicy, registeredUsers }: GitIntegration): object {
  return {
    name,
    provider: toShownProvider(provider),
    apiUrl,
    sharingPolicy,
    registeredUsers,
    users: registeredUsers.map((userId) => ({ userId, isValid: true })),
  }
}

const get = ({ callRoute }: RuntimeCall, name: string): Promise<GitIntegration> =>
  callRoute('GET /git-integrations/{name}', { params: { name }, answer: GitIntegration })

export const integrationQueries: Fields<RuntimeCall> = {
  versionInfo: field(NoArguments, async (_, { callRoute }: RuntimeCall) => {
    const Version = z.object({ version: z.string(), platformHost: z.string() })
    const { version, platformHost } = await callRoute('GET /version', { answer: Version })
    return { version, platformHost, platformVersion: version }
  }),
  gitIntegration: field(z.object({ name: Name }), async ({ name }, call: RuntimeCall) => {
    try {
      return toShown(await get(call, name))
    } catch (error) {
      if (isFault(error, 'not-found')) return null
      throw error
    }
  }),
  gitIntegrations: field(NoArguments, async (_, { callRoute }: RuntimeCall) => {
    const { items } = await callRoute('GET /git-integrations', { answer: z.object({ items: z.array(GitIntegration) }) })
    return items.map(toShown)
  }),
}

/** Ends of the URLs of APIs, after the URL of the forge. */
const API_PATHS: Readonly<Record<string, string>> = {
  GITHUB: '/api/v3',
  GITLAB: '/api/v4',
  GITEA: '/api/v1',
  BITBUCKET_SERVER: '/rest/api/1.0',
}
const CLOUDS: Readonly<Record<string, string>> = { GITHUB: 'https://github.com', GITLAB: 'https://gitlab.com' }

/** Returns the URL of a forge by the URL of its API. Public clients name either. Throws `request-invalid` if there is none. */
export function forgeUrlOf(provider: string, apiUrl: string | null | undefined): string {
  if (apiUrl === null || apiUrl === undefined || apiUrl === '') {
    const cloud = CLOUDS[provider]
    if (cloud !== undefined) return cloud
    throw fault('request-invalid', { message: `The provider ${provider} needs the argument apiUrl.` })
  }
  const url = apiUrl.replace(/\/+$/, '')
  if (provider === 'GITHUB' && url === 'https://api.github.com') return 'https://github.com'
  const path = API_PATHS[provider] ?? ''
  return path !== '' && url.endsWith(path) ? url.slice(0, -path.length) : url
}

interface Put {
  readonly provider: string
  readonly url: string
  readonly sharingPolicy: string
}

const put = ({ callRoute }: RuntimeCall, name: string, body: Put): Promise<GitIntegration> =>
  callRoute('PUT /git-integrations/{name}', { params: { name }, body, answer: GitIntegration })

const Args = { name: Name, apiUrl: z.string().max(2_000).nullish(), sharingPolicy: z.enum(SHARING_POLICIES) }

export const integrationMutations: Fields<RuntimeCall> = {
  addGitIntegration: field(
    z.object({ args: z.object({ ...Args, provider: z.enum(GIT_PROVIDERS) }) }),
    async ({ args: { name, provider, apiUrl, sharingPolicy } }, call: RuntimeCall) => {
      const found = await get(call, name).catch((error: unknown) => {
        if (isFault(error, 'not-found')) return undefined
        throw error
      })
      if (found !== undefined)
        throw fault('conflict', {
          message: `The Git integration "${name}" exists already.`,
          hint: 'Edit it, or use another name.',
        })
      const forge = provider.toLowerCase().replaceAll('_', '-')
      return toShown(await put(call, name, { provider: forge, url: forgeUrlOf(provider, apiUrl), sharingPolicy }))
    },
  ),
  editGitIntegration: field(
    z.object({ args: z.object(Args) }),
    async ({ args: { name, apiUrl, sharingPolicy } }, call: RuntimeCall) => {
      const { provider, url } = await get(call, name)
      const isKept = apiUrl === null || apiUrl === undefined || apiUrl === ''
      const forge = provider.toUpperCase().replaceAll('-', '_')
      return toShown(await put(call, name, { provider, url: isKept ? url : forgeUrlOf(forge, apiUrl), sharingPolicy }))
    },
  ),
  removeGitIntegration: field(z.object({ name: z.string() }), async ({ name }, { callRoute }: RuntimeCall) => {
    await callRoute('DELETE /git-integrations/{name}', { params: { name }, answer: z.undefined() })
    return null
  }),
  registerToGitIntegration: field(
    z.object({
      args: z.object({
        name: Name,
        token: z.string(),
        refreshToken: z.string().nullish(),
        username: z.string().nullish(),
        tokenType: z.enum(['RUNTIME_TOKEN', 'USER_TOKEN']).nullish(),
      }),
    }),
    async ({ args: { name, token, refreshToken, username, tokenType } }, call: RuntimeCall) => {
      refuseArguments({ refreshToken: refreshToken === '' ? undefined : refreshToken }, 'tokens that expire are not renewed')
      const part = tokenType === 'RUNTIME_TOKEN' ? 'runtime-token' : 'token'
      const body = { token, ...defined({ username: username === null || username === '' ? undefined : username }) }
      await call.callRoute(`PUT /git-integrations/{name}/${part}`, { params: { name }, body, answer: GitRegistration })
      return toShown(await get(call, name))
    },
  ),
  deregisterFromGitIntegration: field(z.object({ name: Name }), async ({ name }, call: RuntimeCall) => {
    await call.callRoute('DELETE /git-integrations/{name}/token', { params: { name }, answer: z.undefined() })
    return toShown(await get(call, name))
  }),
}
