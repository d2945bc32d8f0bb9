/** A fake of the API of a forge, and the scene of a webhook with a Git context that uses it. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { ContextInput, type WebhookCreated, type WebhookInput } from '@windlass/protocol'
import type { App } from '../../../src/app.ts'
import { putContext } from '../../../src/contexts/contexts.ts'
import { addWebhook } from '../forge-scene.ts'

/** Lets the server call the fake. */
export const LOOPBACK = { outboundNetworks: ['127.0.0.0/8'] }
export const FORGE_TOKEN = 'the token of the forge'

export interface ForgeCall {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** JSON; undefined without a body. */
  readonly body: unknown
}

export interface ForgeAnswer {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

export interface FakeForge extends AsyncDisposable {
  readonly url: string
  readonly calls: ForgeCall[]
  /** Answers of the next calls, before those of `serve`. */
  answers: ForgeAnswer[]
  /** Default: 201 without a body. */
  serve: (call: ForgeCall) => ForgeAnswer | Promise<ForgeAnswer>
}

export async function openFakeForge(): Promise<FakeForge> {
  const server = createServer((request, response) => {
    void text(request).then(async (body) => {
      const { method = '', url: path = '', headers } = request
      const call = { method, path, headers, body: body === '' ? undefined : (JSON.parse(body) as unknown) }
      forge.calls.push(call)
      const answer = forge.answers.shift() ?? (await forge.serve(call))
      response.writeHead(answer.status, answer.headers).end(JSON.stringify(answer.body ?? {}))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const forge: FakeForge = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    answers: [],
    serve: () => ({ status: 201 }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return forge
}

/** Creates a Git context for the forge, and a webhook that belongs to it. */
export async function connectForge(
  app: App,
  { url }: Pick<FakeForge, 'url'>,
  input: Partial<WebhookInput> = {},
): Promise<WebhookCreated> {
  const data = { url, password: FORGE_TOKEN }
  await putContext(app, { input: ContextInput.parse({ name: 'work', type: 'git', data }), mustBeNew: true })
  return addWebhook(app, { forge: 'gitea', context: 'work', ...input })
}
