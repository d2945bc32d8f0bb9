/** `get agents` and `patch agents`. */
import { fault } from '@windlass/kit/faults'
import { getAgent, listAgents, patchAgent } from '../api-runner.ts'
import type { Invocation } from '../command.ts'
import { printValue } from '../format/output.ts'
import { printTable, type Listing } from '../format/table.ts'
import { formatAge } from '../format/time.ts'
import { healthOf, paintHealth } from '../runner/show-agents.ts'
import { openSession } from '../session.ts'

/** One agent, or all of them. */
export async function getAgents({
  args,
  options,
  out,
  settings,
}: Invocation<Listing & { name: string | undefined }>): Promise<void> {
  const { client } = openSession(settings)
  const name = args[0] ?? options.name
  if (name !== undefined && (options.output === 'json' || options.output === 'yaml'))
    return printValue(out, await getAgent(client, name), options.output)
  await printTable(out, options, {
    kind: 'agent',
    list: async () => (name === undefined ? listAgents(client) : [await getAgent(client, name)]),
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

/** Throws `usage` when nothing is to change. */
export async function patchAgentNamed({ args, options, out, settings }: Invocation<PatchOptions>): Promise<void> {
  const name = args[0] ?? options.name
  if (name === undefined) throw fault('usage', { message: 'Which agent?', hint: '`windlass get agents` lists them.' })
  if (options.newName === undefined && options.runtimes.length === 0)
    throw fault('usage', { message: 'Nothing is to change.', hint: 'Give --newName or --runtimes.' })
  const agent = await patchAgent(openSession(settings).client, name, {
    ...(options.newName !== undefined && { name: options.newName }),
    ...(options.runtimes.length > 0 && { runtimes: options.runtimes.flatMap((each) => each.split(',')) }),
  })
  out.line(`Agent: "${agent.name}" patched`)
}
