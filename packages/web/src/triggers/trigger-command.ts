/** The commands that create the triggers of the forms. Pure. */
import { shellWord } from '@windlass/plan'
import type { EventTrigger } from '@windlass/protocol'

interface GitFacts {
  readonly pipeline: string
  readonly name: string
  readonly repo: string
  readonly events: readonly string[]
  /** Filters by the names of their flags; empty ones are left out. */
  readonly filters: Readonly<Record<'context' | 'branch' | 'target-branch' | 'comment' | 'files', string>>
  readonly takesForks: boolean
}

/** Returns the command that creates a trigger for git events. */
export function toGitCommand({ pipeline, name, repo, events, filters, takesForks }: GitFacts): string {
  return join([
    'windlass',
    'create',
    'trigger',
    pipeline,
    name || 'NAME',
    '--repo',
    repo || 'OWNER/NAME',
    ...events.flatMap((event) => ['--event', event]),
    ...Object.entries(filters).flatMap(([flag, value]) => (value.trim() === '' ? [] : [`--${flag}`, value.trim()])),
    ...(takesForks ? ['--allow-forks'] : []),
  ])
}

interface CronFacts {
  readonly pipeline: string
  readonly name: string
  readonly expression: string
  readonly timezone: string
  readonly message: string
  readonly gitTrigger: string
  readonly branch: string
}

/** Returns the command that creates a trigger at times. */
export function toCronCommand({ pipeline, name, expression, timezone, message, gitTrigger, branch }: CronFacts): string {
  return join([
    'windlass',
    'create',
    'cron-trigger',
    pipeline,
    name || 'NAME',
    '--expression',
    expression,
    '--timezone',
    timezone,
    ...(message === '' ? [] : ['--message', message]),
    ...(gitTrigger === '' ? [] : ['--git-trigger', gitTrigger, '--branch', branch]),
  ])
}

/** What is typed, whatever the kind. Fields of other kinds keep their text while the kind is chosen. */
export interface EventFacts {
  readonly type: EventTrigger['type']
  readonly name: string
  /** Name of the image or chart. */
  readonly artifact: string
  /** Filter of tags or versions. */
  readonly filter: string
  readonly webhook: string
  /** Pipeline whose builds start builds. */
  readonly source: string
  readonly statuses: readonly string[]
  readonly branch: string
}

/** Returns the command that creates a trigger for pushed images, pushed charts, or ended builds. */
export function toEventCommand(pipeline: string, facts: EventFacts): string {
  const { type, name, artifact, filter, webhook, source, statuses, branch } = facts
  const given = (flag: string, value: string): string[] => (value.trim() === '' ? [] : [flag, value.trim()])
  const flags = {
    registry: ['--image', artifact.trim() || 'IMAGE', ...given('--tag', filter), ...given('--webhook', webhook)],
    helm: ['--chart', artifact.trim() || 'CHART', ...given('--chart-version', filter), ...given('--webhook', webhook)],
    build: [
      '--after',
      source.trim() || 'PIPELINE',
      ...(statuses.join() === 'success' ? [] : statuses.flatMap((status) => ['--status', status])),
      ...given('--branch', branch),
    ],
  }
  return join(['windlass', 'create', 'event-trigger', pipeline, name.trim() || 'NAME', ...flags[type]])
}

function join(words: readonly string[]): string {
  return words.map(shellWord).join(' ')
}
