/** GitOps runtimes, their tokens, tunnels, shared repository and applications. */
import {
  Application,
  ApplicationDetails,
  ApplicationQuery,
  GitopsSettings,
  GitopsSettingsInput,
  GitopsToken,
  GitopsTokenCreated,
  page,
  Tunnel,
} from '@windlass/protocol'
import { route } from '../route.ts'

export const tunnels = {
  /** Lists the tunnels of all runtimes by name. */
  list: route('GET', '/v1/tunnels', { answer: page(Tunnel) }),
  get: route('GET', '/v1/tunnels/{runtime}', { answer: Tunnel }),
  /** Ends the connection of a runtime. Its client connects again a minute later. */
  disconnect: route('POST', '/v1/tunnels/{runtime}/disconnect', { answer: Tunnel }),
}

export const gitopsRuntimes = {
  /** Deletes a runtime with its tokens, and ends its connection. */
  delete: route('DELETE', '/v1/gitops-runtimes/{runtime}', { answer: 'nothing' }),
  tokens: route('GET', '/v1/gitops-runtimes/{runtime}/tokens', { answer: page(GitopsToken) }),
  /** Creates a token, and the runtime if it does not exist. */
  createToken: route('POST', '/v1/gitops-runtimes/{runtime}/tokens', { answer: GitopsTokenCreated, isKeyed: true }),
  /** Deletes a token. A connection that uses it ends. */
  deleteToken: route('DELETE', '/v1/gitops-runtimes/{runtime}/tokens/{id}', { answer: 'nothing' }),
}

export const gitopsSettings = {
  /** Returns the shared configuration repository of the account; no repository if none was chosen. */
  get: route('GET', '/v1/gitops-settings', { answer: GitopsSettings }),
  /** Chooses it. App-proxies call this after they have checked the repository. */
  put: route('PUT', '/v1/gitops-settings', { body: GitopsSettingsInput, answer: GitopsSettings }),
  /** Forgets it. The files of the repository stay. */
  reset: route('DELETE', '/v1/gitops-settings', { answer: 'nothing' }),
}

export const applications = {
  list: route('GET', '/v1/applications', { query: ApplicationQuery, answer: page(Application) }),
  /** Shows an application by its id, or by RUNTIME/NAMESPACE/NAME. */
  get: route('GET', '/v1/applications/{id}', { answer: ApplicationDetails }),
}
