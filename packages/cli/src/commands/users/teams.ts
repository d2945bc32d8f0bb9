import { defined } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import type { InstallationRole, Team } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import type { Printer } from '../../printer.ts'
import { openSession } from '../../session/session.ts'
import { readPlaceRoles } from './action.ts'

interface TeamOptions {
  readonly role: InstallationRole | undefined
  readonly project: readonly string[]
  readonly pipeline: readonly string[]
  readonly output: 'json' | undefined
}

/** Runs `create team NAME`. */
export async function createTeam({
  args,
  options,
  out,
  settings,
}: Invocation<TeamOptions & { member: readonly string[] }>): Promise<void> {
  const { role, member } = options
  const fields = { ...defined({ role }), ...readPlaceRoles(options) }
  const team = await openSession(settings).client.teams.create({ name: args[0] ?? '', members: [...member], ...fields })
  print(out, team, { verb: 'created', output: options.output })
}

interface Changes extends TeamOptions {
  readonly add: readonly string[]
  readonly remove: readonly string[]
}

/** Runs `set team NAME`. Each member is a call of its own, which does not affect the others. */
export async function changeTeam({ args, options, out, settings }: Invocation<Changes>): Promise<void> {
  const [name = ''] = args
  const { role, add, remove } = options
  const fields = { ...defined({ role }), ...readPlaceRoles(options) }
  const { teams } = openSession(settings).client
  let team = Object.keys(fields).length === 0 ? undefined : await teams.change(name, fields)
  for (const user of add) team = await teams.addMember(name, user)
  for (const user of remove) team = await teams.removeMember(name, user)
  if (team === undefined)
    throw fault('usage', {
      message: 'There is nothing to change.',
      hint: 'Use --role, --project, --pipeline, --add or --remove.',
    })
  print(out, team, { verb: 'changed', output: options.output })
}

function print(out: Printer, team: Team, { verb, output }: { readonly verb: string; readonly output: 'json' | undefined }): void {
  if (output === 'json') return out.line(JSON.stringify(team, null, 2))
  out.line(`team/${team.name} ${verb}`)
}
