/**
 * Repositories for public clients. Windlass does not register repositories: builds and triggers name them. A client that adds one is told whether the
 * forge has it, and nothing is stored.
 */
import { fault } from '@windlass/kit'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { askOne, openAccess } from '../../../forges/ask.ts'
import { findContext, listContexts } from '../../../store/account/contexts.ts'
import type { ContextRow } from '../../../store/schema/schema.ts'
import { listWebhooks } from '../../../store/triggers/webhooks.ts'
import { isForgeWebhook, type ForgeWebhook } from '../../../triggers/rules/accepts.ts'
import { ok, route, type Route } from '../../route.ts'

/** The calls use the token of the context, so a viewer may not make them. */
const asks = { allow: 'use-contexts', scope: 'context:read' } as const
const Part = z.string().min(1).max(200)
/** Name of a Git context. Default: the default one. */
const OfContext = z.object({ context: z.string().max(300).optional() })
const MAX_WEBHOOKS = 1_000

const PublicRepo = z.object({
  name: z.string(),
  owner: z.object({ login: z.string() }),
  provider: z.string(),
  serviceName: z.string(),
})

const ServiceBody = z.object({
  serviceDetails: z.object({
    name: z.string().max(500),
    scm: z.object({ name: Part, owner: z.object({ name: Part }) }),
  }),
})

interface Repo {
  readonly owner: string
  readonly repo: string
}

export function publicRepoRoutes(app: App): Route[] {
  return [
    route('GET', '/api/repos/{owner}/{repo}', {
      summary: 'Show a repository of the forge of a Git context',
      ...asks,
      params: z.object({ owner: Part, repo: Part }),
      query: OfContext,
      replies: { 200: PublicRepo },
      handle: async ({ params, query }) => ok(toPublic(params, await requireRepo(app, params, query.context))),
    }),
    route('GET', '/api/services/{name}', {
      summary: 'Find an added repository: Windlass has none',
      allow: 'see-contexts',
      scope: 'context:read',
      params: z.object({ name: z.string().max(500) }),
      query: OfContext,
      replies: {},
      async handle({ params: { name } }) {
        throw fault('not-found', { message: `The service "${name}" does not exist.` })
      },
    }),
    route('POST', '/api/services', {
      summary: 'Check that the forge has a repository; nothing is stored, because builds and triggers need no added repositories',
      ...asks,
      query: OfContext,
      body: ServiceBody,
      unaudited: 'It stores nothing.',
      replies: { 200: PublicRepo },
      async handle({ query, body }) {
        const { name: repo, owner } = body.serviceDetails.scm
        const named = { owner: owner.name, repo }
        return ok(toPublic(named, await requireRepo(app, named, query.context)))
      },
    }),
  ]
}

function toPublic({ owner, repo }: Repo, context: string): z.output<typeof PublicRepo> {
  return { name: repo, owner: { login: owner }, provider: context, serviceName: `${owner}/${repo}` }
}

/** Returns the name of the context whose forge has the repository. Throws `not-found`, or the problem of the forge. */
async function requireRepo(app: App, { owner, repo }: Repo, name: string | undefined): Promise<string> {
  const context = await requireGitContext(app, name)
  const all = await listWebhooks(app.store.query, { accountId: app.accountId, after: undefined, limit: MAX_WEBHOOKS })
  const webhook = all.filter(isForgeWebhook).find((one) => one.context === context.name)
  if (webhook === undefined)
    throw fault('not-found', {
      message: `No webhook uses the Git context "${context.name}", so the server does not know its forge.`,
      hint: `Connect it with \`windlass connect git ${context.name}\`.`,
    })
  await requireAnswer(app, webhook, { owner, repo }, context.name)
  return context.name
}

async function requireGitContext(app: App, name: string | undefined): Promise<ContextRow> {
  const { query } = app.store
  if (name !== undefined) {
    const context = requireFound(await findContext(query, app.accountId, name), `context "${name}"`)
    if (context.type === 'git') return context
    throw fault('request-invalid', { message: `The context "${name}" has the type ${context.type}, not git.` })
  }
  const all = (await listContexts(query, app.accountId)).filter(({ type }) => type === 'git')
  const chosen = all.find((one) => one.is_default === 1) ?? (all.length === 1 ? all[0] : undefined)
  if (chosen !== undefined) return chosen
  throw fault('not-found', { message: 'The account has no default Git context.', hint: 'Name a context with --context.' })
}

async function requireAnswer(app: App, { forge }: ForgeWebhook, { owner, repo }: Repo, context: string): Promise<void> {
  const access = await openAccess(app, { forge, context })
  const asked =
    access.problem === undefined
      ? await askOne(app, access.value, { path: access.value.api.branches(`${owner}/${repo}`).path, read: () => true })
      : access
  if (asked.problem === undefined) return
  throw fault(asked.mayRetry ? 'forge-unreachable' : 'not-found', {
    message: `The repository ${owner}/${repo} cannot be read with the Git context "${context}": ${asked.problem}`,
  })
}
