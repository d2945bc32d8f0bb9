/** What is stored of an application: the words of Argo CD in the spelling of `/v1`, its resources with those that need attention first, and why it is not as it should be. */
import { defined } from '@windlass/kit'
import {
  APPLICATION_HEALTHS,
  SYNC_PHASES,
  type ApplicationCondition,
  type ApplicationHealth,
  type ApplicationResource,
  type ApplicationSync,
  type SyncOperation,
  type SyncPhase,
} from '@windlass/protocol'
import { fitFacts, fitResources } from './fit.ts'
import { oneLine, type ApplicationManifest, type ManifestResource } from './manifest.ts'
import type { ApplicationEvent, ReportedError } from './read-events.ts'
import type { ApplicationFacts } from './stored-facts.ts'
import { explain } from './why.ts'

/** Resources of an application that are stored. */
export const MAX_APPLICATION_RESOURCES = 1_000
/** Longest value of a label or annotation that is stored. Characters. */
const MAX_MARK = 63
/** Conditions that are stored, with the errors of the reporter. */
const MAX_CONDITIONS = 20
/** A sync that runs for longer gets a warning, unless the annotation says otherwise. Minutes. */
const LONG_SYNC_MINUTES = 30
/** Annotation of users of public runtimes; `shared/spec/gitops.md`, section 6.1. */
const LONG_SYNC = 'codefresh.io/app-sync-warning-threshold'
/** Labels or annotations: the product of an application, and what it is in its product. */
const PRODUCT = 'codefresh.io/product'
const COMPONENT = 'windlass.io/component'
/** Label: what an application is for its runtime, such as a Git source. */
const ENTITY = 'codefresh.io/entity'

export interface ReadApplication {
  readonly project: string
  readonly health: ApplicationHealth
  readonly sync: ApplicationSync
  /** Empty without one. */
  readonly product: string
  /** Empty if nothing says it. */
  readonly component: string
  /** Empty without one. */
  readonly entity: string
  readonly facts: ApplicationFacts
  readonly resources: readonly ApplicationResource[]
}

/** Returns what is stored of a manifest. */
export function readApplication(manifest: ApplicationManifest, errors: ApplicationEvent['errors']): ReadApplication {
  const { spec, status, metadata } = manifest
  const health = healthOf(status.health.status)
  const sync = syncOf(status.sync?.status)
  const resources = status.resources.flatMap((resource) => toResource(resource)).toSorted((a, b) => rankOf(a) - rankOf(b))
  const sources =
    spec.sources.length > 0 ? spec.sources : [spec.source].filter((source) => source !== null && source !== undefined)
  const facts = {
    sources: sources.map(({ repoURL, path, targetRevision, chart, name }) => ({
      repo: withoutLogin(repoURL ?? ''),
      ...defined({ path, revision: targetRevision, chart, name }),
    })),
    destination: defined(spec.destination),
    revisions: revisionsOf(status.sync?.revision, status.sync?.revisions),
    isAutomatic: isAutomatic(manifest),
    conditions: [...status.conditions.map(toCondition), ...errors.map(toErrorCondition)].slice(0, MAX_CONDITIONS),
    images: [...(status.summary?.images ?? [])],
    resourceCount: resources.length,
    isDeleting: metadata.deletionTimestamp !== undefined,
    longSyncMinutes: longSyncOf(metadata.annotations[LONG_SYNC]),
    labels: metadata.labels,
    ...defined({ healthMessage: status.health.message, operation: toOperation(manifest) }),
  }
  const failures = (status.operationState?.syncResult?.resources ?? []).filter(isFailed)
  const why = explain({ ...facts, health, sync, resources, failures })
  return {
    project: spec.project ?? 'default',
    health,
    sync,
    product: markOf(metadata, PRODUCT),
    component: markOf(metadata, COMPONENT),
    entity: metadata.labels[ENTITY] ?? '',
    facts: fitFacts({ ...facts, ...defined({ why }) }),
    resources: fitResources(resources.slice(0, MAX_APPLICATION_RESOURCES)),
  }
}

/** Returns the value of a label or annotation. The label counts if both are there. */
function markOf({ labels, annotations }: ApplicationManifest['metadata'], name: string): string {
  return oneLine(labels[name] ?? annotations[name] ?? '', MAX_MARK)
}

/** An address of a repository can have a login, which must not be shown. */
function withoutLogin(repo: string): string {
  return repo.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, '$1')
}

function healthOf(word: string | undefined): ApplicationHealth {
  const name = word?.toLowerCase()
  return APPLICATION_HEALTHS.find((health) => health === name) ?? 'unknown'
}

const SYNCS: Readonly<Record<string, ApplicationSync>> = { Synced: 'synced', OutOfSync: 'out-of-sync' }

function syncOf(word: string | undefined): ApplicationSync {
  return SYNCS[word ?? ''] ?? 'unknown'
}

function phaseOf(word: string | undefined): SyncPhase {
  const name = word?.toLowerCase()
  return SYNC_PHASES.find((phase) => phase === name) ?? 'unknown'
}

function isAutomatic({ spec }: ApplicationManifest): boolean {
  const automated = spec.syncPolicy?.automated
  return automated !== undefined && automated !== null && automated.enabled !== false
}

function revisionsOf(one: string | undefined, several: readonly string[] = []): string[] {
  return several.length > 0 ? [...several] : one === undefined ? [] : [one]
}

function toResource({
  group,
  kind,
  namespace,
  name,
  status,
  health,
  hook,
  requiresPruning,
}: ManifestResource): ApplicationResource[] {
  if (kind === undefined || name === undefined) return []
  return [
    {
      kind,
      name,
      ...defined({
        group,
        namespace,
        sync: status === undefined ? undefined : syncOf(status),
        health: health.status === undefined ? undefined : healthOf(health.status),
        message: health.message,
        isHook: hook === true || undefined,
        isExtra: requiresPruning === true || undefined,
      }),
    },
  ]
}

/** Position of a resource: the worst health first, then those that differ. */
function rankOf({ health = 'healthy', sync = 'synced' }: ApplicationResource): number {
  return APPLICATION_HEALTHS.indexOf(health) * 2 + (sync === 'synced' ? 1 : 0)
}

function toCondition(condition: {
  readonly type?: string | undefined
  readonly message?: string | undefined
  readonly lastTransitionTime?: number | undefined
}): ApplicationCondition {
  const { type, message, lastTransitionTime } = condition
  return { type: type ?? 'Unknown', message: message ?? '', ...defined({ at: lastTransitionTime }) }
}

function toErrorCondition({ type, message, at }: ReportedError): ApplicationCondition {
  return { type, message, ...defined({ at }) }
}

function toOperation({ status: { operationState } }: ApplicationManifest): SyncOperation | undefined {
  if (operationState === undefined || operationState === null) return undefined
  const { phase, message, startedAt, finishedAt, retryCount, operation, syncResult } = operationState
  const revisions = revisionsOf(syncResult?.revision, syncResult?.revisions)
  return {
    phase: phaseOf(phase),
    ...defined({
      message,
      startedAt,
      finishedAt,
      by: operation?.initiatedBy?.username,
      retries: retryCount ?? undefined,
      revisions: revisions.length === 0 ? undefined : revisions,
    }),
  }
}

function isFailed({
  status,
  hookPhase,
}: {
  readonly status?: string | undefined
  readonly hookPhase?: string | undefined
}): boolean {
  return status === 'SyncFailed' || hookPhase === 'Failed' || hookPhase === 'Error'
}

/** Returns the minutes of the annotation, or the default if it is not a positive number. */
function longSyncOf(text: string | undefined): number {
  const minutes = Number(text ?? Number.NaN)
  return Number.isFinite(minutes) && minutes > 0 ? minutes : LONG_SYNC_MINUTES
}
