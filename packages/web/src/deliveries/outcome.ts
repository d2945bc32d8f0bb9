/** What became of a delivery, in a word and a sentence. */
import { plural } from '@windlass/plan'
import { NO_BUILD_REASONS, type Delivery, type RuleResult } from '@windlass/protocol'
import type { Look } from '../looks/states.ts'

const LOOKS = {
  built: { word: 'Built', shape: 'check', tone: 'ok' },
  nothing: { word: 'No build', shape: 'dash', tone: 'idle' },
  refused: { word: 'Refused', shape: 'hand', tone: 'bad' },
  failed: { word: 'Failed', shape: 'cross', tone: 'bad' },
  received: { word: 'In progress', shape: 'arc', tone: 'run' },
} as const satisfies Readonly<Record<string, Look>>

type Facts = Pick<Delivery, 'status' | 'reason' | 'message' | 'repeats'> & { readonly builds: readonly string[] }

export function lookOfDelivery({ status, builds }: Facts): Look {
  if (status !== 'processed') return LOOKS[status]
  return builds.length > 0 ? LOOKS.built : LOOKS.nothing
}

/** Returns one sentence about a delivery: what it started, or why nothing. */
export function describeDelivery(delivery: Facts): string {
  return `${sentenceOf(delivery)}${repeatsOf(delivery)}`
}

function sentenceOf({ status, builds, reason, message }: Facts): string {
  if (status === 'received') return message ?? 'The server is processing it.'
  if (builds.length > 0) return `Started ${plural(builds.length, 'build')}.`
  if (message !== undefined && message !== '') return message
  return reason === undefined ? 'No trigger started a build.' : NO_BUILD_REASONS[reason]
}

function repeatsOf({ status, repeats }: Facts): string {
  if (repeats === 0) return ''
  return status === 'refused'
    ? ` The same happened ${times(repeats)} more.`
    : ` The same call came ${times(repeats)} more and built nothing.`
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

/** Returns the status with which the server answered the call; undefined for a delivery that no call reported. */
export function answerOf({ status, reason, isPolled, webhook, replayOf }: Delivery): string | undefined {
  if (isPolled === true || webhook === undefined || replayOf !== undefined) return undefined
  if (status !== 'refused') return '202 Accepted'
  return reason === 'payload-invalid' ? '400 Bad Request' : '401 Unauthorized'
}

/** The rules as the ladder names them. */
export const RULE_WORDS: Readonly<Record<RuleResult['rule'], string>> = {
  disabled: 'Enabled',
  event: 'Event',
  'skip-text': 'Skip text',
  fork: 'Fork',
  branch: 'Branch',
  'target-branch': 'Target branch',
  comment: 'Comment',
  'comment-author': 'Comment author',
  'modified-files': 'Modified files',
  tag: 'Tag',
  version: 'Version',
  status: 'Status',
  project: 'Project',
  depth: 'Chain of builds',
}
