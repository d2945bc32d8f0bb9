/** What the caller may do, so that clients can grey out buttons. Each answer is that of the route that the button calls. */
import { field, refuseArguments, type Fields } from '@windlass/graphql'
import { fault, isFault } from '@windlass/kit'
import { parseJson } from '@windlass/kit/json'
import { z } from 'zod'
import { listRefusals } from '../../gitops/releases/promoters.ts'
import type { RouteName } from './call-route.ts'
import type { PlatformCall } from './platform-call.ts'

/** The route of each action. The app-proxy of a runtime deletes objects, with the rights of the route here. */
const ACTIONS = {
  gitopsApplications: {
    VIEW: 'GET /v1/applications/{id}',
    VIEW_POD_LOGS: 'GET /v1/applications/{id}/logs',
    REFRESH: 'POST /v1/applications/{id}/refresh',
    SYNC: 'POST /v1/applications/{id}/sync',
    TERMINATE_SYNC: 'POST /v1/applications/{id}/terminate',
    APP_ROLLBACK: 'POST /v1/applications/{id}/rollback',
    DELETE_RESOURCE: 'POST /v1/applications/{id}/sync',
  },
  products: {
    VIEW: 'GET /v1/products/{name}',
    TRIGGER_PROMOTION: 'POST /v1/products/{name}/releases',
    RETRY_RELEASE: 'POST /v1/releases/{id}/retry',
    TERMINATE: 'POST /v1/releases/{id}/terminate',
  },
  environments: { VIEW: 'GET /v1/environments/{name}', PROMOTE_TO: 'POST /v1/products/{name}/releases' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, RouteName>>>>

const EntityType = z.enum(['gitopsApplications', 'products', 'environments'])
type EntityType = z.output<typeof EntityType>

const Entity = z.string().min(1).max(16_384)
const ONLY_CALLER = 'the server decides by the teams of the caller'

/** Returns why the caller may not do something; undefined if the caller may. */
type FindRefusal = (action: string, entity: string) => string | undefined

/** Reads what all entities of a type share, so that each question costs nothing. */
async function openRefusals({ app, actor, requireRoute }: PlatformCall, type: EntityType): Promise<FindRefusal> {
  const ofRoutes = new Map<string, string | undefined>()
  for (const [action, name] of Object.entries(ACTIONS[type])) ofRoutes.set(action, await refusalOf(requireRoute(name)))
  const ofEnvironments = type === 'environments' ? await listRefusals(app, app.store.query, actor) : undefined
  return (action, entity) => {
    if (!ofRoutes.has(action))
      throw fault('request-invalid', { message: `Entities of the type ${type} do not have the action ${action}.` })
    const ofRoute = ofRoutes.get(action)
    return ofRoute === undefined && action === 'PROMOTE_TO' ? ofEnvironments?.get(nameOf(entity))?.message : ofRoute
  }
}

async function refusalOf(check: Promise<void>): Promise<string | undefined> {
  try {
    await check
    return undefined
  } catch (error) {
    if (isFault(error, 'forbidden', 'scope-missing')) return error.message
    throw error
  }
}

const Named = z.object({ name: z.string().optional(), metadata: z.object({ name: z.string() }).optional() })

/** An entity is its name, or JSON with a name. */
function nameOf(entity: string): string {
  const found = Named.safeParse(parseJson(entity)).data
  return found?.metadata?.name ?? found?.name ?? entity
}

/** Throws `forbidden` for another account. */
function requireOwn({ app }: PlatformCall, accountId: string): void {
  if (accountId !== app.accountId) throw fault('forbidden', { message: 'The account is not that of the caller.' })
}

const Common = { accountId: z.string(), teams: z.array(z.string()).max(100).nullish(), entityType: EntityType }

export const rightQueries: Fields<PlatformCall> = {
  abacValidate: field(
    z.object({ input: z.object({ ...Common, action: z.string(), entity: Entity.nullish() }) }),
    async ({ input: { accountId, teams, entityType: type, action, entity } }, call: PlatformCall) => {
      requireOwn(call, accountId)
      refuseArguments({ teams: teams?.length === 0 ? undefined : teams }, ONLY_CALLER)
      const message = (await openRefusals(call, type))(action, entity ?? '')
      return { isValid: message === undefined, message }
    },
  ),
  abacValidateAllActions: field(
    z.object({ input: z.object({ ...Common, entities: z.array(Entity).max(100) }) }),
    async ({ input: { accountId, teams, entityType: type, entities } }, call: PlatformCall) => {
      requireOwn(call, accountId)
      refuseArguments({ teams: teams?.length === 0 ? undefined : teams }, ONLY_CALLER)
      const find = await openRefusals(call, type)
      const actions = Object.keys(ACTIONS[type])
      return entities.map((entity) => ({
        entity,
        validationResult: actions.map((action) => ({ action, enabled: find(action, entity) === undefined })),
      }))
    },
  ),
}
