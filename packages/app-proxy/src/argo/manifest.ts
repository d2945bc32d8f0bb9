/** Reads an Application of Argo CD (`argoproj.io/v1alpha1`) as its cluster has it, in the spelling of this API. */
import { defined } from '@windlass/kit'
import {
  APPLICATION_HEALTHS,
  SYNC_PHASES,
  type ApplicationDeployment,
  type ApplicationHealth,
  type ApplicationResource,
  type ApplicationSource,
  type ApplicationSync,
  type RuntimeApplication,
  type RuntimeApplicationDetails,
  type SyncedResource,
  type SyncOperation,
} from '@windlass/protocol'
import { z } from 'zod'
import { list, text, time } from '../object-fields.ts'

/** Of objects that Argo CD manages: `APPLICATION:GROUP/KIND:NAMESPACE/NAME`. */
const TRACKING_ID = 'argocd.argoproj.io/tracking-id'

const Health = z.object({ status: text, message: text }).nullish()
const Source = z.looseObject({ repoURL: text, path: text, targetRevision: text, chart: text, name: text })
const Destination = z.object({ server: text, name: text, namespace: text })
const By = z.object({ username: text }).nullish()
const Result = z.object({
  group: text,
  kind: text,
  namespace: text,
  name: text,
  status: text,
  message: text,
  hookType: text,
  hookPhase: text,
})
const OperationState = z.object({
  phase: text,
  message: text,
  startedAt: time,
  finishedAt: time,
  retryCount: z.int().nonnegative().nullish(),
  operation: z.object({ initiatedBy: By }).nullish(),
  syncResult: z
    .object({
      revision: text,
      revisions: list(z.string()),
      source: Source.nullish(),
      sources: list(Source),
      resources: list(Result),
    })
    .nullish(),
})

/** The fields that are read. Others stay, because an operation repeats those of the source. */
export const ApplicationManifest = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    resourceVersion: text,
    creationTimestamp: time,
    deletionTimestamp: text,
    annotations: z.record(z.string(), z.string()).nullish(),
    finalizers: list(z.string()),
    ownerReferences: list(z.object({ kind: z.string(), name: z.string() })),
  }),
  spec: z.looseObject({
    project: text,
    source: Source.nullish(),
    sources: list(Source),
    destination: Destination.nullish(),
    syncPolicy: z
      .looseObject({
        automated: z.looseObject({ enabled: z.boolean().nullish() }).nullish(),
        syncOptions: list(z.string()),
        retry: z.looseObject({}).nullish(),
      })
      .nullish(),
  }),
  operation: z.looseObject({}).nullish(),
  status: z
    .looseObject({
      health: Health,
      sync: z
        .object({
          status: text,
          revision: text,
          revisions: list(z.string()),
          comparedTo: z.object({ source: Source.nullish(), sources: list(Source), destination: Destination.nullish() }).nullish(),
        })
        .nullish(),
      conditions: list(z.object({ type: text, message: text, lastTransitionTime: time })),
      operationState: OperationState.nullish(),
      resources: list(
        z.object({
          group: text,
          kind: text,
          namespace: text,
          name: text,
          status: text,
          health: Health,
          hook: z.boolean().nullish(),
          requiresPruning: z.boolean().nullish(),
        }),
      ),
      history: list(
        z.looseObject({
          id: z.int().nonnegative(),
          revision: text,
          revisions: list(z.string()),
          deployedAt: time,
          initiatedBy: By,
          source: Source.nullish(),
          sources: list(Source),
        }),
      ),
    })
    .nullish(),
})
export type ApplicationManifest = z.output<typeof ApplicationManifest>

export function isAutomatic({ spec }: ApplicationManifest): boolean {
  const automated = spec.syncPolicy?.automated
  return automated !== undefined && automated !== null && automated.enabled !== false
}

/** Whether a sync waits or runs. */
export function isBusy({ operation, status }: ApplicationManifest): boolean {
  const phase = status?.operationState?.phase
  return (operation !== undefined && operation !== null) || phase === 'Running' || phase === 'Terminating'
}

/** Returns what a list shows. */
export function toRuntimeApplication(manifest: ApplicationManifest): RuntimeApplication {
  const { metadata, spec, status } = manifest
  const { server, name, namespace } = spec.destination ?? {}
  const given = spec.sources.length > 0 ? spec.sources : [spec.source ?? {}]
  return {
    name: metadata.name,
    project: spec.project ?? 'default',
    sources: given.map(toSource),
    destination: defined({ server, name, namespace }),
    health: healthOf(status?.health?.status) ?? 'unknown',
    sync: syncOf(status?.sync?.status) ?? 'unknown',
    revisions: revisionsOf(status?.sync ?? {}),
    isAutomatic: isAutomatic(manifest),
    isDeleting: metadata.deletionTimestamp !== undefined,
    isBusy: isBusy(manifest),
    conditions: (status?.conditions ?? []).map(({ type, message, lastTransitionTime }) => ({
      type: type ?? '',
      message: message ?? '',
      ...defined({ at: lastTransitionTime }),
    })),
    createdAt: metadata.creationTimestamp ?? 0,
    ...defined({ healthMessage: status?.health?.message, operation: toOperation(manifest) }),
  }
}

/** Returns what is shown of one application. */
export function toRuntimeApplicationDetails(manifest: ApplicationManifest): RuntimeApplicationDetails {
  const { status } = manifest
  return {
    ...toRuntimeApplication(manifest),
    resources: (status?.resources ?? []).flatMap(toResource),
    results: (status?.operationState?.syncResult?.resources ?? []).flatMap(toResult),
    history: (status?.history ?? []).map(toDeployment).toReversed(),
    ...defined({ parent: parentOf(manifest) }),
  }
}

/** Returns the name of a health of Argo CD. A word that is not known is `unknown`. */
export function healthOf(word: string | undefined): ApplicationHealth | undefined {
  return word === undefined ? undefined : (APPLICATION_HEALTHS.find((health) => health === word.toLowerCase()) ?? 'unknown')
}

function syncOf(word: string | undefined): ApplicationSync | undefined {
  if (word === undefined) return undefined
  return word === 'Synced' ? 'synced' : word === 'OutOfSync' ? 'out-of-sync' : 'unknown'
}

export function revisionsOf({ revision, revisions = [] }: { revision?: string | undefined; revisions?: string[] }): string[] {
  return revisions.length > 0 ? revisions : revision === undefined ? [] : [revision]
}

function toSource({ repoURL, path, targetRevision, chart, name }: Partial<z.output<typeof Source>>): ApplicationSource {
  return { repo: withoutLogin(repoURL ?? ''), ...defined({ path, revision: targetRevision, chart, name }) }
}

/** Returns an address of a repository without its login. */
function withoutLogin(repo: string): string {
  return repo.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, '$1')
}

function toOperation({ status }: ApplicationManifest): SyncOperation | undefined {
  const state = status?.operationState
  if (state === null || state === undefined) return undefined
  const { phase, message, startedAt, finishedAt, retryCount, operation, syncResult } = state
  const revisions = revisionsOf(syncResult ?? {})
  return {
    phase: SYNC_PHASES.find((name) => name === phase?.toLowerCase()) ?? 'unknown',
    ...defined({ message, startedAt, finishedAt, by: operation?.initiatedBy?.username, retries: retryCount ?? undefined }),
    ...(revisions.length > 0 && { revisions }),
  }
}

type Status = NonNullable<ApplicationManifest['status']>

function toResource(resource: Status['resources'][number]): ApplicationResource[] {
  const { group, kind, namespace, name, status, health, hook, requiresPruning } = resource
  if (kind === undefined || name === undefined) return []
  const found = {
    kind,
    name,
    ...defined({ group, namespace, sync: syncOf(status), health: healthOf(health?.status), message: health?.message }),
    ...(hook === true && { isHook: true }),
    ...(requiresPruning === true && { isExtra: true }),
  }
  return [found]
}

function toResult(result: z.output<typeof Result>): SyncedResource[] {
  const { group, kind, namespace, name, status, message, hookType, hookPhase } = result
  if (kind === undefined || name === undefined) return []
  const isHook = hookType !== undefined
  return [
    {
      kind,
      name,
      result: (isHook ? hookPhase : status) ?? 'Unknown',
      ...defined({ group, namespace, message, hook: hookType }),
    },
  ]
}

function toDeployment({ id, deployedAt, initiatedBy, ...found }: Status['history'][number]): ApplicationDeployment {
  return { id, revisions: revisionsOf(found), ...defined({ at: deployedAt, by: initiatedBy?.username }) }
}

/** Returns the application whose source has the manifest of this one. In another namespace its name is `NAMESPACE_NAME`. */
export function parentOf({ metadata }: ApplicationManifest): string | undefined {
  const [name = ''] = metadata.annotations?.[TRACKING_ID]?.split(':') ?? []
  return name === '' || name === metadata.name ? undefined : name
}
