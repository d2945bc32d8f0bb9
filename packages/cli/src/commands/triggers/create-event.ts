import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import { EventTriggerInput } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { printValue } from '../../format/output.ts'
import { openSession } from '../../session/session.ts'
import { toPriority, toVariable } from './create.ts'

interface EventTriggerOptions {
  readonly image: string | undefined
  readonly tag: string | undefined
  readonly chart: string | undefined
  readonly chartVersion: string | undefined
  readonly webhook: string | undefined
  readonly after: string | undefined
  readonly status: readonly string[]
  readonly branch: string | undefined
  readonly variable: readonly string[]
  readonly sharedContext: readonly string[]
  readonly runtime: string | undefined
  readonly priority: string | undefined
  readonly disabled: boolean
  readonly output: 'json' | 'yaml' | undefined
}

const HINT = 'See `windlass create event-trigger --help`.'

/** The flags of the fields of a trigger. */
const FLAGS: Readonly<Record<string, string>> = {
  image: '--image',
  tag: '--tag',
  chart: '--chart',
  version: '--chart-version',
  webhook: '--webhook',
  source: '--after',
  statuses: '--status',
  branchRegex: '--branch',
  contexts: '--shared-context',
  variables: '--variable',
  runtimeEnvironment: '--runtime',
  pipeline: 'The name of the pipeline',
  name: 'The name of the trigger',
}

function describeIssue(issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined): string {
  const field = String(issue?.path[0] ?? '')
  return `${FLAGS[field] ?? field}: ${issue?.message ?? 'not valid'}`
}

/** Runs `create event-trigger PIPELINE NAME`. */
export async function createEventTrigger({ args, options, out, settings }: Invocation<EventTriggerOptions>): Promise<void> {
  const [pipeline = '', name = ''] = args
  const { data, error } = EventTriggerInput.safeParse({
    pipeline,
    name,
    ...subjectOf(options),
    contexts: [...options.sharedContext],
    variables: options.variable.map(toVariable),
    disabled: options.disabled,
    runtimeEnvironment: defined({ name: options.runtime }),
    ...(options.priority !== undefined && { priority: toPriority(options.priority) }),
  })
  if (data === undefined) throw fault('usage', { message: describeIssue(error.issues[0]), hint: HINT })
  const trigger = await openSession(settings).client.eventTriggers.create(data)
  if (options.output !== undefined) return printValue(out, trigger, options.output)
  out.line(`event-trigger/${trigger.pipeline}#${trigger.name} created`)
}

/** Returns the fields of the type that the options select. Throws `usage` for none, several, and options of another type. */
function subjectOf(options: EventTriggerOptions): object {
  const { image, tag, chart, chartVersion: version, webhook, after: source, branch: branchRegex } = options
  const statuses = options.status.length === 0 ? undefined : [...options.status]
  const types = [
    { type: 'registry', of: { image }, more: { tag, webhook } },
    { type: 'helm', of: { chart }, more: { version, webhook } },
    { type: 'build', of: { source }, more: { statuses, branchRegex } },
  ]
  const [found, ...others] = types.filter(({ of }) => Object.values(of).some((value) => value !== undefined))
  if (found === undefined || others.length > 0)
    throw fault('usage', {
      message: 'An event trigger waits for an image, a chart or a pipeline.',
      hint: 'Add either `--image`, `--chart` or `--after`.',
    })
  const given = defined({ tag, version, webhook, statuses, branchRegex })
  const wrong = Object.keys(given).find((field) => !Object.hasOwn(found.more, field))
  if (wrong !== undefined)
    throw fault('usage', {
      message: `${FLAGS[wrong]} does not apply to ${FLAGS[Object.keys(found.of)[0] ?? '']}.`,
      hint: `Remove ${FLAGS[wrong]}. ${HINT}`,
    })
  return { type: found.type, ...defined(found.of), ...defined(found.more) }
}
