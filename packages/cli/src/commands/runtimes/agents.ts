/** The commands `get agents` and `patch agents`. */
import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import type { Invocation } from '../../command.ts'
import { printValue } from '../../format/output.ts'
import { printTable, type Listing } from '../../format/table.ts'
import { formatAge } from '../../format/time.ts'
import { healthOf, paintHealth } from '../../runner/show-agents.ts'
import { openSession } from '../../session/session.ts'

/** Prints one agent or all agents. */
export async function getAgents({
  args,
  options,
  out,
  settings,
}: Invocation<Listing & { name: string | undefined }>): Promise<void> {
  const { client } = openSession(settings)
  const name = args[0] ?? options.name
  if (name !== undefined && (options.output === 'json' || options.output === 'yaml'))
    return printValue(out, await client.agents.get(name), options.output)
  await printTable(out, options, {
    kind: 'agent',
    list: async () => (name === undefined ? (await client.agents.list()).items : [await client.agents.get(name)]),
    nameOf: (agent) => agent.name,
    columns: {
      NAME: (agent) => agent.name,
      RUNTIMES: ({ runtimes }) => runtimes.join(','),
      STATUS: (agent, { style }) => paintHealth(style, healthOf(agent)),
      REPORTED: ({ lastSeenAt }, { now }) => (lastSeenAt === undefined ? '' : formatAge(lastSeenAt, now)),
    },
    wide: {
      ID: ({ id }) => id,
      EXECUTOR: ({ executor }) => executor ?? '',
      VERSION: ({ version }) => version ?? '',
      PROTOCOL: ({ protocol }) => String(protocol ?? ''),
      AGE: ({ createdAt }, { now }) => formatAge(createdAt, now),
    },
  })
}

interface PatchOptions {
  readonly name: string | undefined
  readonly newName: string | undefined
  readonly runtimes: readonly string[]
}

/** Renames an agent or sets its runtimes. Throws `usage` without a change. */
export async function patchAgentNamed({ args, options, out, settings }: Invocation<PatchOptions>): Promise<void> {
  const name = args[0] ?? options.name
  if (name === undefined)
    throw fault('usage', { message: 'No agent was given.', hint: 'Name one; list them with `windlass get agents`.' })
  if (options.newName === undefined && options.runtimes.length === 0)
    throw fault('usage', { message: 'No change was given.', hint: 'Add --newName or --runtimes.' })
  const agent = await openSession(settings).client.agents.patch(name, {
    ...defined({ name: options.newName }),
    ...(options.runtimes.length > 0 && { runtimes: options.runtimes.flatMap((each) => each.split(',')) }),
  })
  out.line(`Agent: "${agent.name}" patched`)
}
