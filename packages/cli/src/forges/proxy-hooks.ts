/** A forge behind the firewall, through the app-proxy of a Runner: the token of the user is registered there, and the webhooks of repositories are managed with it. */
import type { ApiClient } from '@windlass/client'
import { gitProxyCalls, type GitProxyCalls } from '@windlass/client/git-proxy'
import { BROWSED_FORGES } from '@windlass/forges'
import { isLoopback } from '@windlass/kit'
import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import type { Settings } from '../config.ts'
import type { ConnectedForgeName } from '../role-names.ts'
import { appProxyNameOf } from '../runner/app-proxy/address.ts'
import { proxyAddressOf } from '../runner/app-proxy/runtime-address.ts'
import { openRetryingClient, openSession, orUndefined } from '../session/session.ts'
import type { ForgeAccess, HookApi } from './hooks.ts'

export interface OpenAppProxy {
  /** Name on the server. */
  readonly name: string
  readonly calls: GitProxyCalls
}

/** Opens the app-proxy of a runtime environment with the key of the user. Throws `not-found` for one without an app-proxy, and `https-required`. */
export async function openAppProxy(client: ApiClient, runtime: string, settings: Settings): Promise<OpenAppProxy> {
  const { name, spec } = await client.runtimes.get(runtime)
  const url = proxyAddressOf(spec)
  if (url === undefined)
    throw fault('not-found', {
      message: `The runtime environment ${name} has no app-proxy.`,
      hint: `Install one with \`windlass install app-proxy --host HOST --runtime-environment ${name}\`.`,
    })
  if (!url.startsWith('https://') && !isLoopback(url))
    throw fault('https-required', {
      message: `The address of the app-proxy of ${name} is ${url}, which is not HTTPS, so neither the key nor the Git token was sent.`,
      hint: 'Correct `appProxy.externalIP` in the specification of the runtime environment.',
    })
  const { token, caFile } = openSession(settings)
  return { name: appProxyNameOf(name), calls: gitProxyCalls(openRetryingClient({ url, token, caFile })) }
}

interface Connection {
  /** Name of the Git integration. */
  readonly integration: string
  readonly forge: ConnectedForgeName
  readonly access: ForgeAccess
}

/**
 * Creates the integration of a forge if the app-proxy has none, and registers the token: for calls of the user, and for commit statuses. Throws `conflict` if the integration
 * is one of another forge.
 */
export async function connectThrough({ calls }: OpenAppProxy, { integration, forge, access }: Connection): Promise<HookApi> {
  if (!BROWSED_FORGES.some((name) => name === forge))
    throw fault('usage', {
      message: `An app-proxy does not reach forges of the kind ${forge}.`,
      hint: `It reaches ${BROWSED_FORGES.join(', ')}. Connect others without --app-proxy.`,
    })
  const existing = await orUndefined(calls.integration(integration))
  if (existing === undefined) await calls.putIntegration(integration, { provider: forge, url: access.url })
  else if (existing.provider !== forge || existing.url.replace(/\/+$/, '') !== access.url)
    throw fault('conflict', {
      message: `The Git integration "${integration}" of the app-proxy is one of ${existing.provider} at ${existing.url}.`,
      hint: 'Name another one with --integration.',
    })
  const { token, username } = access
  const login = { token, ...defined({ username }) }
  await calls.putToken(integration, login)
  await calls.putRuntimeToken(integration, login)
  return {
    list: async (repo) => (await calls.hooks(integration, { query: { repo } })).items,
    create: (repo, hook) => calls.createHook(integration, { repo, ...hook }),
    refresh: (repo, { id, url }) => calls.refreshHook(integration, id, { repo, url }),
    remove: (repo, { id }) => calls.deleteHook(integration, id, { query: { repo } }),
  }
}
