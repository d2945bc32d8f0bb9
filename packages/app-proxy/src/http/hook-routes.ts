/** Routes for the webhooks of repositories at a forge: with them a forge behind the firewall reports its events to the control plane. */
import { FORGE_HOOKS } from '@windlass/forges'
import { HttpUrl } from '@windlass/protocol'
import { z } from 'zod'
import { listHooks } from '../forge/list-hooks.ts'
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
