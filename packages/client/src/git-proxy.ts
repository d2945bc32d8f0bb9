/** The calls of users to an app-proxy about their forge, with the key of the user, at the address of the app-proxy (`appProxy.externalIP` of a runtime environment). */
import {
  GitHook,
  GitHookInput,
  GitHookQuery,
  GitHookRefresh,
  GitIntegration,
  GitIntegrationInput,
  GitRegistration,
  GitTokenInput,
  page,
  tolerant,
  type Client,
} from '@windlass/protocol'
import { bindCalls, type Calls } from './calls.ts'
import { route } from './route.ts'

const BASE = '/api/git-integrations/{name}'

export const GIT_PROXY_ROUTES = {
  integration: route('GET', BASE, { answer: GitIntegration }),
  putIntegration: route('PUT', BASE, { body: GitIntegrationInput, answer: GitIntegration }),
  /** Registers the Git token of the caller. */
  putToken: route('PUT', `${BASE}/token`, { body: GitTokenInput, answer: GitRegistration }),
  /** Registers the Git token with which the app-proxy sets commit statuses. */
  putRuntimeToken: route('PUT', `${BASE}/runtime-token`, { body: GitTokenInput, answer: GitRegistration }),
  hooks: route('GET', `${BASE}/webhooks`, { query: GitHookQuery, answer: page(GitHook) }),
  createHook: route('POST', `${BASE}/webhooks`, { body: GitHookInput, answer: 'nothing' }),
  refreshHook: route('PUT', `${BASE}/webhooks/{id}`, { body: GitHookRefresh, answer: 'nothing' }),
  deleteHook: route('DELETE', `${BASE}/webhooks/{id}`, { query: GitHookQuery, answer: 'nothing' }),
}

export type GitProxyCalls = Calls<typeof GIT_PROXY_ROUTES>

/** Returns the calls of the app-proxy whose address the client has. */
export function gitProxyCalls(client: Client): GitProxyCalls {
  return bindCalls(client, GIT_PROXY_ROUTES, tolerant)
}
