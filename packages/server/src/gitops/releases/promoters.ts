/** Who may promote into an environment: everybody with the right, unless the environment names teams. */
import { fault } from '@windlass/kit'
import type { App } from '../../app.ts'
import { isAllowed, type Actor } from '../../identity/actor.ts'
import { listTeamsOf } from '../../store/access/teams.ts'
import type { Query } from '../../store/store.ts'
import { ENVIRONMENTS, findDefined } from '../products/definitions.ts'

/** Throws `forbidden` unless the caller may promote into every environment of the steps. */
export async function requirePromoter(
  { accountId }: App,
  query: Query,
  actor: Actor,
  steps: readonly { readonly environment: string }[],
): Promise<void> {
  if (isAllowed(actor, 'manage-gitops')) return
  const teams = actor.kind === 'key' && actor.owner !== undefined ? await listTeamsOf(query, actor.owner.id) : []
  const own = new Set(teams.map((team) => team.name))
  for (const { environment: name } of steps) {
    const { promoters } = (await findDefined(query, { accountId, kind: ENVIRONMENTS, name })) ?? {}
    if (promoters === undefined || promoters.some((team) => own.has(team))) continue
    throw fault('forbidden', {
      message: `Only members of ${promoters.map((team) => `"${team}"`).join(', ')} may promote into the environment "${name}".`,
      hint: 'Ask an admin to add you to one of these teams.',
    })
  }
}
