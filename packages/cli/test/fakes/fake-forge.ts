/** The webhook APIs of GitHub, GitLab and Bitbucket Cloud, which nobody can run here, as their public documentation describes them. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readAll } from 'node:stream/consumers'

export interface FakeHook {
  readonly id: string
  url: string
  secret: string | undefined
  active: boolean
  /** Names of events, sorted. */
  events: string[]
}

export interface FakeForge extends AsyncDisposable {
  readonly url: string
  /** The webhooks of the only repository, `acme/app`. */
  readonly hooks: FakeHook[]
  /** Value of the header that carries the token. */
  authorization: string
}

type Body = Readonly<Record<string, unknown>>

interface Api {
  /** Path of the webhooks of `acme/app`. */
  readonly path: string
  show(hook: FakeHook): object
  list(hooks: readonly object[]): unknown
  /** Applies the body of a creation or change, in the way of the forge. */
  change(hook: FakeHook, body: Body): void
}

const record = (value: unknown): Body => (typeof value === 'object' && value !== null ? (value as Body) : {})
const string = (value: unknown): string => (typeof value === 'string' ? value : '')
const strings = (value: unknown): string[] => (Array.isArray(value) ? value.map(String).toSorted() : [])

const GITLAB_FLAG = /_events$/

export const FAKE_APIS = {
  github: {
    path: '/api/v3/repos/acme/app/hooks',
    show: ({ id, url, active, events }) => ({ id: Number(id), name: 'web', active, events, config: { url, secret: '********' } }),
    list: (hooks) => hooks,
    change(hook, body) {
      // A `config` replaces the whole configuration, also the secret.
      if (body['config'] !== undefined) {
        const config = record(body['config'])
        hook.url = string(config['url'])
        hook.secret = config['secret'] === undefined ? undefined : string(config['secret'])
      }
      hook.events = strings(body['events'])
      hook.active = body['active'] !== false
    },
  },
  gitlab: {
    path: '/api/v4/projects/acme%2Fapp/hooks',
    show: ({ id, url, events }) => ({ id: Number(id), url, ...Object.fromEntries(events.map((name) => [name, true])) }),
    list: (hooks) => hooks,
    change(hook, body) {
      // The token is reset if the address changes.
      if (hook.url !== body['url']) hook.secret = undefined
      hook.url = string(body['url'])
      if (body['token'] !== undefined) hook.secret = string(body['token'])
      hook.events = Object.keys(body)
        .filter((key) => GITLAB_FLAG.test(key))
        .toSorted()
      hook.active = true
    },
  },
  bitbucket: {
    path: '/2.0/repositories/acme/app/hooks',
    show: ({ id, url, active, events }) => ({ uuid: `{${id}}`, url, active, events, secret_set: true }),
    list: (hooks) => ({ values: hooks, pagelen: hooks.length }),
    change(hook, body) {
      hook.url = string(body['url'])
      if (body['secret'] !== undefined) hook.secret = string(body['secret'])
      hook.events = strings(body['events'])
      hook.active = body['active'] === true
    },
  },
} as const satisfies Readonly<Record<string, Api>>

/** Starts a forge with one repository. */
export async function openFakeForge(kind: keyof typeof FAKE_APIS): Promise<FakeForge> {
  const api: Api = FAKE_APIS[kind]
  const hooks: FakeHook[] = []
  let nextId = 1
  const answer = async (request: IncomingMessage): Promise<{ status: number; body?: unknown }> => {
    const text = await readAll(request)
    if (request.headers.authorization !== forge.authorization) return { status: 401, body: { message: 'Bad credentials' } }
    const [path = '', query = ''] = (request.url ?? '').split('?')
    if (!path.startsWith(api.path)) return { status: 404, body: { message: 'Not Found' } }
    const id = decodeURIComponent(path.slice(api.path.length + 1)).replace(/[{}]/g, '')
    const found = hooks.find((hook) => hook.id === id)
    const isFirstPage = new URLSearchParams(query).get('page') === '1'
    if (request.method === 'GET') return { status: 200, body: api.list(isFirstPage ? hooks.map((hook) => api.show(hook)) : []) }
    if (request.method === 'POST') {
      const hook: FakeHook = { id: String(nextId++), url: '', secret: undefined, active: false, events: [] }
      api.change(hook, record(JSON.parse(text)))
      hooks.push(hook)
      return { status: 201, body: api.show(hook) }
    }
    if (found === undefined) return { status: 404, body: { message: 'Not Found' } }
    if (request.method === 'DELETE') {
      hooks.splice(hooks.indexOf(found), 1)
      return { status: 204 }
    }
    api.change(found, record(JSON.parse(text)))
    return { status: 200, body: api.show(found) }
  }
  const server = createServer((request, response) => {
    void answer(request).then(({ status, body }) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(body === undefined ? undefined : JSON.stringify(body))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const forge: FakeForge = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hooks,
    authorization: '',
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return forge
}
