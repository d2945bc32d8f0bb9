/** GitOps runtimes, their tokens and tunnels. */
import { GitopsToken, GitopsTokenCreated, page, Tunnel } from '@windlass/protocol'
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
