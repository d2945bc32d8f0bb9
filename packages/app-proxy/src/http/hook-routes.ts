/** Routes for the webhooks of repositories at a forge: with them a forge behind the firewall reports its events to the control plane. */
import { FORGE_HOOKS, HOOKS_OF_PAGE, MAX_HOOK_PAGES, type ForgeHook } from '@windlass/forges'
import { fault } from '@windlass/kit'
import { HttpUrl } from '@windlass/protocol'
import { z } from 'zod'
import type { ForgeSession } from '../forge/session.ts'
import type { OpenSession } from './browse-routes.ts'
import { ByName, RepoName } from './fields.ts'
import { route, type Route } from './route.ts'

const OfRepo = z.strictObject({ repo: RepoName })
const ByHook = ByName.extend({ id: z.string().regex(/^[\w{}-]{1,100}$/, 'must be the id of a webhook') })
const HookAddress = OfRepo.extend({ url: HttpUrl })
const NewHook = HookAddress.extend({
  secret: z
    .string()
    .min(16)
    .max(200)
    .regex(/^[\x21-\x7e]+$/, 'must contain only printable ASCII characters'),
})

/** The rights at the forge count: only its owners of the repository may change webhooks. */
export function hookRoutes(open: OpenSession): Route[] {
  return [
    route('GET', '/git-integrations/{name}/webhooks', {
      right: 'see-gitops',
      params: ByName,
      query: OfRepo,
      handle: async (call) => ({ items: await listHooks(await open(call), call.query.repo) }),
    }),
    route('POST', '/git-integrations/{name}/webhooks', {
      right: 'change-gitops',
      isWrite: true,
      params: ByName,
      body: NewHook,
      async handle(call) {
        const { repo, ...hook } = call.body
        const session = await open(call)
        await session.change(FORGE_HOOKS[session.integration.provider].create(repo, hook))
        return undefined
      },
    }),
    route('PUT', '/git-integrations/{name}/webhooks/{id}', {
      right: 'change-gitops',
      isWrite: true,
      params: ByHook,
      body: HookAddress,
      async handle(call) {
        const { repo, url } = call.body
        const session = await open(call)
        const change = FORGE_HOOKS[session.integration.provider].refresh(repo, { id: call.params.id, url })
        if (change !== undefined) await session.change(change)
        return undefined
      },
    }),
    route('DELETE', '/git-integrations/{name}/webhooks/{id}', {
      right: 'change-gitops',
      isWrite: true,
      params: ByHook,
      query: OfRepo,
      async handle(call) {
        const session = await open(call)
        await session.change(FORGE_HOOKS[session.integration.provider].remove(call.query.repo, call.params.id))
        return undefined
      },
    }),
  ]
}

async function listHooks(session: ForgeSession, repo: string): Promise<ForgeHook[]> {
  const { integration } = session
  const found: ForgeHook[] = []
  for (let number = 1; number <= MAX_HOOK_PAGES; number += 1) {
    const { path, read } = FORGE_HOOKS[integration.provider].page(repo, number)
    const hooks = read((await session.page(session.at(path))).body)
    if (hooks === undefined)
      throw fault('forge-refused', {
        message: `The answer of ${new URL(integration.url).hostname} is not a list of webhooks.`,
        hint: 'Check the URL of the integration.',
      })
    found.push(...hooks)
    if (hooks.length < HOOKS_OF_PAGE) break
  }
  return found
}
