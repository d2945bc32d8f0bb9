/** Who may promote into an environment: everybody with the right, unless the environment names teams. */
import { fault, type Fault } from '@windlass/kit'
import type { App } from '../../app.ts'
import { isAllowed, type Actor } from '../../identity/actor.ts'
import { listTeamsOf } from '../../store/access/teams.ts'
import type { Query } from '../../store/store.ts'
import { ENVIRONMENTS, findDefined, listDefined } from '../products/definitions.ts'

/** Throws `forbidden` unless the caller may promote into every environment of the steps. */
export async function requirePromoter(
  { accountId }: App,
  query: Query,
  actor: Actor,
  steps: readonly { readonly environment: string }[],
): Promise<void> {
  if (isAllowed(actor, 'manage-gitops')) return
  const own = await teamsOf(query, actor)
  for (const { environment: name } of steps) {
    const environment = await findDefined(query, { accountId, kind: ENVIRONMENTS, name })
    const refusal = environment && refusalOf(environment, own)
    if (refusal !== undefined) throw refusal
  }
}

/** Returns the environments into which the caller may not promote, by name, with what `requirePromoter` throws. */
export async function listRefusals({ accountId }: App, query: Query, actor: Actor): Promise<Map<string, Fault>> {
  if (isAllowed(actor, 'manage-gitops')) return new Map()
  const own = await teamsOf(query, actor)
  const environments = await listDefined(query, accountId, ENVIRONMENTS)
  return new Map(
    environments.flatMap((environment): [string, Fault][] => {
      const refusal = refusalOf(environment, own)
      return refusal === undefined ? [] : [[environment.name, refusal]]
    }),
  )
}

async function teamsOf(query: Query, actor: Actor): Promise<ReadonlySet<string>> {
  const teams = actor.kind === 'key' && actor.owner !== undefined ? await listTeamsOf(query, actor.owner.id) : []
  return new Set(teams.map((team) => team.name))
}

interface Promotable {
  readonly name: string
  readonly promoters?: readonly string[] | undefined
}

function refusalOf({ name, promoters }: Promotable, own: ReadonlySet<string>): Fault | undefined {
  if (promoters === undefined || promoters.some((team) => own.has(team))) return undefined
  return fault('forbidden', {
    message: `Only members of ${promoters.map((team) => `"${team}"`).join(', ')} may promote into the environment "${name}".`,
    hint: 'Ask an admin to add you to one of these teams.',
  })
}
