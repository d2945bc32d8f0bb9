/** The commands that create the triggers of the forms. Pure. */
import { shellWord } from '@windlass/plan'

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

function join(words: readonly string[]): string {
  return words.map(shellWord).join(' ')
}
