/** Compares the routes of the client with those of a real server, in both directions. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Transport } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { firstAdmin } from '../../../e2e/support/first-admin.ts'
import type { Route as ServerRoute } from '../../server/src/http/route.ts'
import { allRoutes } from '../../server/src/http/routes.ts'
import { openAuthenticator } from '../../server/src/identity/authenticate.ts'
import { startServer, type RunningServer } from '../../server/src/index.ts'
import { AGENT_ROUTES } from './agent.ts'
import { APP_PROXY_ROUTES, ERRAND_ROUTES, CALL_END_ROUTES, STATUS_ROUTES } from './app-proxy.ts'
import { ENGINE_ROUTES } from './engine.ts'
import { GITLAB_ROUTES } from './gitlab.ts'
import { openClient, ROUTES, type Route } from './index.ts'
import { MONITOR_ROUTES } from './monitor.ts'
import { REPORTER_ROUTES } from './reporter.ts'

/** Routes of the server that the client does not have, and why. */
const OTHERS: readonly { readonly path: RegExp; readonly why: string }[] = [
  { path: /^\/(api|nomios)\//, why: 'the API of Codefresh, which its own clients call' },
  { path: /^\/2\.0\/api\/graphql$/, why: 'called by public clients' },
  { path: /^\/(healthz|readyz)$/, why: 'probes of Kubernetes' },
  { path: /^\/metrics$/, why: 'read by Prometheus' },
  { path: /^\/badges\//, why: 'images of pages of others' },
  { path: /^\/\.well-known\//, why: 'read by services that accept ID tokens of steps' },
  { path: /^\/v1\/sessions\/oidc(\/callback)?$/, why: 'pages that browsers open' },
  { path: /^\/v1\/webhooks\/\{name\}\/deliveries$/, why: 'called by forges' },
]

const routes: Route[] = [
  ...Object.values(ROUTES),
  AGENT_ROUTES,
  APP_PROXY_ROUTES,
  ENGINE_ROUTES,
  ERRAND_ROUTES,
  GITLAB_ROUTES,
  MONITOR_ROUTES,
  REPORTER_ROUTES,
  CALL_END_ROUTES,
  STATUS_ROUTES,
].flatMap((group) => Object.values<Route>(group))
const dataDir = mkdtempSync(join(tmpdir(), 'windlass-client-'))
let server: RunningServer
let known: Map<string, ServerRoute>

const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'>): string => `${method} ${path}`

beforeAll(async () => {
  server = await startServer({ dataDir, host: '127.0.0.1', port: 0, minFreeShare: 0 })
  const { store, vault } = server.app
  known = new Map(allRoutes(server.app, openAuthenticator(store.query, vault)).map((route) => [nameOf(route), route]))
})
afterAll(async () => {
  await server.close()
  rmSync(dataDir, { recursive: true, force: true })
})

test('has each route of the server, except those on the list', () => {
  const names = new Set(routes.map(nameOf))
  const missing = [...known.values()].filter(
    (route) => !names.has(nameOf(route)) && !OTHERS.some(({ path }) => path.test(route.path)),
  )
  expect(missing.map(nameOf)).toEqual([])
})

test('has no route on the list, and none that the list could do without', () => {
  expect(routes.filter((route) => OTHERS.some(({ path }) => path.test(route.path)))).toEqual([])
  for (const { path } of OTHERS) expect([...known.values()].some((route) => path.test(route.path))).toBe(true)
})

test.each(routes.map((route) => [nameOf(route), route] as const))(
  '%s is a route of the server with the same shapes',
  (name, route) => {
    const spec = known.get(name)?.spec
    if (spec === undefined) throw new Error(`The server has no route ${name}.`)
    expect(toSchema(route.query, 'input')).toEqual(toSchema(spec.query, 'input'))
    expect(route.body === 'bytes').toBe(spec.rawBody !== undefined)
    if (route.body !== 'bytes') expect(toSchema(route.body, 'input')).toEqual(toSchema(spec.body, 'input'))
    for (const [param, schema] of Object.entries(route.params?.shape ?? {}))
      expect(toSchema(schema, 'input')).toEqual(toSchema(fieldOf(spec.params, param), 'input'))
    for (const [status, reply] of Object.entries(spec.replies)) {
      // Only for calls with If-None-Match, which the client does not send.
      if (status === '304') continue
      if (typeof reply === 'string')
        expect({ text: ['text', 'bytes', 'events'], nothing: ['nothing'] }[reply]).toContain(route.answer)
      else expect(toSchema(route.answer, 'output')).toEqual(toSchema(reply, 'output'))
    }
  },
)

function toSchema(schema: unknown, io: 'input' | 'output'): unknown {
  return schema instanceof z.ZodType ? z.toJSONSchema(schema, { io, unrepresentable: 'any' }) : schema
}

function fieldOf(schema: unknown, name: string): unknown {
  return schema instanceof z.ZodObject ? schema.shape[name] : undefined
}

/** The transport of a page, without anything of Node. */
const fetchTransport: Transport = async ({ url, method, headers, body, signal }) => {
  const request: RequestInit = { method, headers, body: (body as string | undefined) ?? null, signal: signal ?? null }
  const response = await fetch(url, request)
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: response.body as unknown as AsyncIterable<Uint8Array>,
    text: () => response.text(),
  }
}

test('works over fetch: creates a build and follows it to its end', async () => {
  const anonymous = openClient({ url: server.url, transport: fetchTransport })
  const { token } = await anonymous.server.bootstrap(await firstAdmin(dataDir))
  const client = anonymous.withToken(token)
  const { id } = await client.builds.create({ document: 'steps: []' })
  const events: string[] = []
  for await (const { event } of client.builds.follow(id, { query: { after: 0 } })) events.push(event)
  expect(events.at(-1)).toBe('end')
  expect(await client.builds.get(id)).toMatchObject({ status: 'error' })
})
