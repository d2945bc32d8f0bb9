/** Pipelines in two projects, accounts with a role only in some places, and calls of every route. */
import type { ApiClient } from '@windlass/client'
import { fault, nodeTransport } from '@windlass/kit'
import { ROLES, type Build, type Right, type Role, type UserInput } from '@windlass/protocol'
import { z } from 'zod'
import type { Route } from '../../src/http/route.ts'
import { allRoutes } from '../../src/http/routes.ts'
import { isRight } from '../../src/identity/actor.ts'
import { openAuthenticator } from '../../src/identity/authenticate.ts'
import { HELLO, type HttpScene } from './http-scene.ts'

export type PipelineName = 'shop/app' | 'shop/second' | 'other/app'
export type Builds = Readonly<Partial<Record<PipelineName, Build>>>

export interface Accounts {
  readonly users: Readonly<Record<Role, ApiClient>>
  readonly tokens: Readonly<Record<Role, string>>
}

/** Returns the routes that name a right. */
export function routesWithRights({ server: { app } }: HttpScene): { readonly route: Route; readonly right: Right }[] {
  return routesOf(app).flatMap((route) => (isRight(route.spec.allow) ? [{ route, right: route.spec.allow }] : []))
}

export function routesOf(app: HttpScene['server']['app']): Route[] {
  return allRoutes(app, openAuthenticator(app.store.query, app.vault))
}

/** Creates the pipelines with triggers and a build each. */
export async function openPipelines(scene: HttpScene, names: readonly PipelineName[]): Promise<Builds> {
  await putPipelines(scene.admin, names)
  const builds: Partial<Record<PipelineName, Build>> = {}
  for (const name of names) builds[name] = await scene.submit({ pipeline: name, document: undefined })
  return builds
}

/** Creates those of the pipelines and triggers that do not exist. */
export async function putPipelines(admin: ApiClient, names: readonly PipelineName[]): Promise<void> {
  const [pipelines, git, cron, events] = await Promise.all([
    admin.pipelines.list(),
    admin.triggers.list(),
    admin.cronTriggers.list(),
    admin.eventTriggers.list(),
  ])
  const isMissing = ({ items }: { readonly items: readonly { readonly pipeline: string }[] }, pipeline: string): boolean =>
    !items.some((one) => one.pipeline === pipeline)
  for (const name of names) {
    if (!pipelines.items.some((one) => one.name === name)) await admin.pipelines.create({ name, document: HELLO })
    const of = { pipeline: name, name: 'own' }
    if (isMissing(git, name)) await admin.triggers.create({ ...of, repo: 'acme/app', events: ['push'] })
    if (isMissing(cron, name)) await admin.cronTriggers.create({ ...of, message: 'yearly', expression: '@yearly' })
    if (isMissing(events, name)) await admin.eventTriggers.create({ ...of, type: 'registry', image: 'acme/base' })
  }
}

/** Creates a service account `shop-ROLE` with a full key for each role. It has no role for the installation. */
export async function addAccounts(
  { admin, nobody }: HttpScene,
  rolesOf: (role: Role) => Pick<z.input<typeof UserInput>, 'projects' | 'pipelines'>,
): Promise<Accounts> {
  const users: Partial<Record<Role, ApiClient>> = {}
  const tokens: Partial<Record<Role, string>> = {}
  for (const role of ROLES) {
    const name = `shop-${role}`
    await admin.users.create({ name, kind: 'service-account', role: 'none', ...rolesOf(role) })
    const { token } = await admin.keys.create({ name: `${role}-key`, role: 'admin', owner: name })
    tokens[role] = token
    users[role] = nobody.withToken(token)
  }
  return { users, tokens } as Accounts
}

const Problem = z.object({ code: z.string(), detail: z.string() })
/** Thousands of calls use its few connections. */
const transport = nodeTransport()
/** Message for a resource that the caller must not know. */
export const HIDDEN = fault('not-found').message

/** Returns `hidden`, `forbidden`, or `let in`, whatever the result of the call. */
export async function ask(scene: HttpScene, { method, path }: Pick<Route, 'method' | 'path'>, token: string): Promise<string> {
  const gone = new AbortController()
  const answer = await transport({
    method,
    url: scene.server.url + path,
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.any([gone.signal, AbortSignal.timeout(60_000)]),
  })
  if (answer.status < 400) {
    // A follower of a running build does not end by itself.
    gone.abort()
    return 'let in'
  }
  const { code, detail } = Problem.parse(JSON.parse(await answer.text()))
  if (code === 'not-found' && detail === HIDDEN) return 'hidden'
  return code === 'forbidden' ? code : 'let in'
}

/** Fills in the names of a pipeline, its project and its build. Other names do not exist. */
export function pathAt({ path, spec }: Route, pipeline: PipelineName, builds: Builds): string {
  const id = builds[pipeline]?.id ?? ''
  const project = pipeline.slice(0, pipeline.indexOf('/'))
  const trigger = encodeURIComponent(`${pipeline}#own`)
  const names: Readonly<Record<string, string>> = {
    project,
    pipeline: encodeURIComponent(pipeline),
    trigger,
    'cron-trigger': trigger,
    'event-trigger': trigger,
  }
  const name = path.startsWith('/v1/users') ? 'no-such-user' : (names[spec.project ?? ''] ?? 'no-such-name')
  const own = spec.project === 'image' ? 'no-such-image' : spec.project === 'project' ? project : id
  return path
    .replace('{entity}/{id}', `build/${id}`)
    .replace('{id}', own)
    .replace('{project}', project)
    .replace('{pipeline}', encodeURIComponent(pipeline))
    .replace('{name}', name)
    .replaceAll(/\{\w+\}/g, 'f'.repeat(24))
}

const TRIGGERS: readonly Route['spec']['project'][] = ['trigger', 'cron-trigger', 'event-trigger']

/** Returns true if a call of the route needs triggers, or may delete what later calls need. */
export function needsTriggers({ method, spec }: Route): boolean {
  return method === 'DELETE' || TRIGGERS.includes(spec.project)
}
