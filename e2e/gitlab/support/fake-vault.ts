/** A Vault as its clients see it: the login with an ID token, versioned secrets, and tokens that are given back. It cannot run here itself. */
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { parseJson } from '@windlass/kit'
import { record } from './fake-jobs.ts'

export interface FakeVault extends AsyncDisposable {
  readonly url: string
  /** Tokens that were issued and not given back. */
  readonly live: ReadonlySet<string>
  /** Requests that were answered, as `METHOD path namespace`. */
  readonly requests: readonly string[]
  /** Statuses for the next requests. */
  readonly next: number[]
  /** True while requests are read and not answered. */
  isSilent: boolean
}

export interface FakeVaultOptions {
  readonly host: string
  /** The ID token that may log in at `auth/gitlab`. */
  readonly jwt: string
  /** Fields by paths below `/v1/`. */
  readonly secrets: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** Starts the server. */
export async function startFakeVault({ host, jwt, secrets }: FakeVaultOptions): Promise<FakeVault> {
  const live = new Set<string>()
  const requests: string[] = []
  const next: number[] = []
  let issued = 0

  function answer(request: { method: string; path: string; token: string; body: unknown }): readonly [number, object] {
    const { method, path, token, body } = request
    const failing = next.shift()
    if (failing !== undefined) return [failing, { errors: ['internal error'] }]
    if (method === 'POST' && path === 'auth/gitlab/login') {
      const { jwt: given, role } = record(body)
      if (given !== jwt || role !== 'ci') return [403, { errors: ['permission denied'] }]
      issued += 1
      live.add(`s.token-${issued}`)
      return [200, { auth: { client_token: `s.token-${issued}` } }]
    }
    if (!live.has(token)) return [403, { errors: ['permission denied'] }]
    if (method === 'POST' && path === 'auth/token/revoke-self') {
      live.delete(token)
      return [204, {}]
    }
    const data = secrets[path]
    if (method !== 'GET' || data === undefined) return [404, { errors: [] }]
    return [200, { data: path.includes('/data/') ? { data, metadata: { version: 1 } } : data }]
  }

  const server = createServer(async (incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming
    const path = url.replace(/^\/v1\//, '')
    requests.push(`${method} ${path} ${String(headers['x-vault-namespace'] ?? '')}`)
    const body = parseJson(await text(incoming))
    if (vault.isSilent) return
    const [status, answered] = answer({ method, path, token: String(headers['x-vault-token'] ?? ''), body })
    outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answered))
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const vault: FakeVault = {
    url: `http://${host}:${port}`,
    live,
    requests,
    next,
    isSilent: false,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return vault
}
