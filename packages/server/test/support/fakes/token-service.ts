/** A fake of the token address of a forge that accepts each refresh token once, and a Git context with its first tokens. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { ContextInput, type Context } from '@windlass/protocol'
import type { App } from '../../../src/app.ts'
import { putContext } from '../../../src/contexts/contexts.ts'

/** What a call gets: new tokens, new tokens in an answer that is lost, no answer, a refusal, or the given answer. */
export type Outcome = 'tokens' | 'lost' | 'no-answer' | 'refused' | { readonly status: number; readonly body: string }

export interface TokenService extends AsyncDisposable {
  readonly url: string
  /** Forms of the calls. */
  readonly calls: Record<string, string>[]
  /** Outcome of a call; default `tokens`. It is awaited before the answer. */
  onCall: () => Outcome | Promise<Outcome>
  /** True for a forge that accepts a refresh token until its successor is used. */
  hasGrace: boolean
}

/** Lifetime of the tokens, seconds. */
export const LIFETIME_S = 3600
export const APP = { oauthForge: 'gitea', oauthApp: 'app-id', oauthSecret: 'app-secret', oauthExpiresIn: String(LIFETIME_S) }

export async function openTokenService(): Promise<TokenService> {
  let issued = 1
  let earlier: string | undefined
  const server = createServer((request, response) => {
    void text(request).then(async (body) => {
      const form = Object.fromEntries(new URLSearchParams(body))
      service.calls.push(form)
      const outcome = await service.onCall()
      if (typeof outcome === 'object') return void response.writeHead(outcome.status).end(outcome.body)
      const isKnown = form['refresh_token'] === `refresh-${issued}` || (service.hasGrace && form['refresh_token'] === earlier)
      if (outcome === 'no-answer') return void request.socket.destroy()
      if (outcome === 'refused' || !isKnown || request.url !== '/login/oauth/access_token')
        return void response.writeHead(400).end(JSON.stringify({ error: 'invalid_grant', error_description: 'no' }))
      earlier = form['refresh_token']
      issued += 1
      if (outcome === 'lost') return void request.socket.destroy()
      const tokens = { access_token: `access-${issued}`, refresh_token: `refresh-${issued}`, expires_in: LIFETIME_S }
      response.writeHead(200).end(JSON.stringify({ token_type: 'bearer', ...tokens }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const service: TokenService = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    onCall: () => 'tokens',
    hasGrace: false,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return service
}

/** Creates or replaces the Git context `work`, as `connect git` does after a sign-in. */
export async function putLogin(app: App, { url }: Pick<TokenService, 'url'>, more: object = {}): Promise<Context> {
  const data = { url, username: 'windlass', password: 'access-1', oauthRefreshToken: 'refresh-1', ...APP, ...more }
  return (await putContext(app, { input: ContextInput.parse({ name: 'work', type: 'git', data }), mustBeNew: false })).context
}
