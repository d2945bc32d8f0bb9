/** Why an application is not healthy or not synced, for people. The first cause that applies explains the later ones, such as a failed sync the difference that it leaves. */
import type {
  ApplicationCondition,
  ApplicationHealth,
  ApplicationResource,
  ApplicationSync,
  SyncOperation,
} from '@windlass/protocol'

/** Names of resources in a sentence. */
const NAMED = 3
const SHOWN_REVISION = 8
/** Longest message of others in a sentence. Characters. */
const MAX_MESSAGE = 300

interface Failure {
  readonly kind?: string | undefined
  readonly name?: string | undefined
  readonly message?: string | undefined
}

export interface Explained {
  readonly health: ApplicationHealth
  readonly healthMessage?: string | undefined
  readonly sync: ApplicationSync
  readonly revisions: readonly string[]
  readonly isAutomatic: boolean
  readonly isDeleting: boolean
  readonly operation?: SyncOperation | undefined
  readonly conditions: readonly ApplicationCondition[]
  /** Those that need attention first. */
  readonly resources: readonly ApplicationResource[]
  /** Objects that the last sync could not apply. */
  readonly failures: readonly Failure[]
}

/** Returns one or two sentences; undefined for an application that is healthy and synced. */
export function explain(application: Explained): string | undefined {
  const { health, sync, isDeleting, operation } = application
  if (isDeleting) return 'Argo CD deletes the application.'
  if (health === 'healthy' && sync === 'synced') return undefined
  const cause = explainConditions(application) ?? explainSyncFailure(application)
  if (cause !== undefined) return cause
  const states = [explainHealth(application), explainSync(application)]
  if (operation?.phase === 'running') states.unshift('A sync runs.')
  return states.filter((state) => state !== undefined).join(' ')
}

const CONDITIONS: Readonly<Record<string, string>> = {
  InvalidSpecError: 'The specification of the application is not valid',
  ComparisonError: 'Argo CD cannot compare the cluster with the source',
  SyncError: 'Argo CD cannot sync',
  DeletionError: 'Argo CD cannot delete the application',
}

/** Conditions of Argo CD whose type ends with `Error`; others are warnings. */
function explainConditions({ conditions }: Explained): string | undefined {
  const error = conditions.find(({ type }) => type.endsWith('Error'))
  return error && sentence(CONDITIONS[error.type] ?? error.type, error.message)
}

function explainSyncFailure({ operation, failures }: Explained): string | undefined {
  if (operation?.phase !== 'failed' && operation?.phase !== 'error') return undefined
  const [first] = failures
  if (first === undefined) return sentence('The last sync failed', operation.message)
  const others = failures.length === 1 ? '' : ` and ${count(failures.length - 1, 'other object')}`
  return sentence(
    `The last sync could not apply ${first.kind ?? 'an object'} ${first.name ?? ''}${others}`.trimEnd(),
    first.message,
  )
}

function explainHealth({ health, healthMessage, resources }: Explained): string | undefined {
  if (health === 'healthy') return undefined
  const bad = resources.filter((resource) => resource.health === health)
  const [first] = bad
  if (first === undefined) return sentence(WITHOUT_RESOURCE[health], healthMessage)
  const others = bad.length === 1 ? '' : `, like ${count(bad.length - 1, 'other resource')}`
  return sentence(`${nameOf(first)} ${WORDS[health]}${others}`, first.message ?? healthMessage)
}

const WORDS: Readonly<Record<ApplicationHealth, string>> = {
  degraded: 'is degraded',
  missing: 'does not exist in the cluster',
  unknown: 'has an unknown health',
  progressing: 'is not ready yet',
  suspended: 'is suspended',
  healthy: 'is healthy',
}

const WITHOUT_RESOURCE: Readonly<Record<ApplicationHealth, string>> = {
  degraded: 'The application is degraded',
  missing: 'The resources of the application do not exist in the cluster',
  unknown: 'Argo CD does not know the health of the application',
  progressing: 'The application is not ready yet',
  suspended: 'The application is suspended',
  healthy: 'The application is healthy',
}

function explainSync({ sync, resources, revisions, isAutomatic }: Explained): string | undefined {
  if (sync === 'synced') return undefined
  if (sync === 'unknown') return 'Argo CD has not compared the cluster with the source.'
  const different = resources.filter((resource) => resource.sync === 'out-of-sync')
  const [revision] = revisions
  const target = revision === undefined ? 'the source' : `revision ${shortRevision(revision)}`
  const named = different
    .slice(0, NAMED)
    .map((resource) => `${nameOf(resource)}${resource.isExtra === true ? ' (to be deleted)' : ''}`)
  const more = different.length > NAMED ? ` and ${different.length - NAMED} more` : ''
  const names = named.length === 0 ? '' : `: ${named.join(', ')}${more}`
  const what =
    different.length === 0
      ? `The cluster differs from ${target}`
      : `${different.length} of ${count(resources.length, 'resource')} ${different.length === 1 ? 'differs' : 'differ'} from ${target}${names}`
  return `${what}. ${isAutomatic ? 'Argo CD syncs automatically.' : 'Automatic sync is off.'}`
}

function nameOf({ kind, name }: ApplicationResource): string {
  return `${kind} ${name}`
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`
}

/** Commits are cut as Git shows them; tags and versions of charts are not. */
function shortRevision(revision: string): string {
  return /^[0-9a-f]{40}([0-9a-f]{24})?$/.test(revision) ? revision.slice(0, SHOWN_REVISION) : revision
}

/** Adds the words of Argo CD or Kubernetes. */
function sentence(start: string, message: string | undefined): string {
  const text = message === undefined ? '' : message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message
  return text === '' ? `${start}.` : `${start}: ${/[.!?…]$/.test(text) ? text : `${text}.`}`
}
