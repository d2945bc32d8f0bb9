/** Fields about applications of Argo CD: how they are now, and the operations on them. */
import { applicationMeta, field, timeText, toPlatformStatus, type Fields } from '@windlass/graphql'
import { defined } from '@windlass/kit'
import { RuntimeApplicationDetails } from '@windlass/protocol'
import { z } from 'zod'
import type { RuntimeCall } from './runtime-call.ts'

/** An absent namespace is that of the runtime. */
const Namespace = z.string().nullish()
const placeOf = (
  call: RuntimeCall,
  name: string,
  namespace: string | null | undefined,
): Record<'name' | 'namespace', string> => ({
  name,
  namespace: namespace ?? call.namespace,
})

function toShown({ runtime, namespace }: RuntimeCall, application: RuntimeApplicationDetails): object {
  const { name, project, health, healthMessage, sync, revisions, isAutomatic, operation, createdAt } = application
  return {
    metadata: applicationMeta({ name, namespace, runtime, createdAt }),
    spec: { project, syncPolicy: { automated: isAutomatic ? {} : null } },
    status: {
      health: { status: toPlatformStatus('health', health), message: healthMessage },
      sync: { status: toPlatformStatus('sync', sync), revision: revisions.join('_') },
      operationState:
        operation === undefined
          ? null
          : {
              phase: toPlatformStatus('phase', operation.phase),
              message: operation.message,
              startedAt: timeText(operation.startedAt),
              finishedAt: timeText(operation.finishedAt),
            },
    },
  }
}

const Force = z.object({ force: z.boolean().nullish() }).nullish()
const Backoff = z
  .object({ duration: z.string().nullish(), factor: z.int().nullish(), maxDuration: z.string().nullish() })
  .nullish()
const SyncOptions = z
  .object({
    revision: z.string().nullish(),
    dryRun: z.boolean().nullish(),
    prune: z.boolean().nullish(),
    strategy: z.object({ apply: Force, hook: Force }).nullish(),
    syncOptions: z.object({ items: z.array(z.string().nullable()).nullish() }).nullish(),
    resources: z
      .array(
        z.object({ group: z.string().nullish(), kind: z.string(), name: z.string(), namespace: z.string().nullish() }).nullable(),
      )
      .nullish(),
    retryStrategy: z.object({ limit: z.int().nullish(), backoff: Backoff }).nullish(),
  })
  .nullish()
type SyncOptions = z.output<typeof SyncOptions>

/** Returns the fields that have a value. */
function filled<T extends Readonly<Record<string, unknown>>>(fields: T): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== ''))
}

/** Returns the body of the route for the options of a public client. */
export function toSyncInput(options: SyncOptions): object {
  const { revision, dryRun, prune, strategy, syncOptions, resources, retryStrategy } = options ?? {}
  const isApplyOnly = strategy?.apply !== null && strategy?.apply !== undefined
  const { duration, factor, maxDuration } = retryStrategy?.backoff ?? {}
  return {
    ...filled({ revision, dryRun, prune, applyOnly: isApplyOnly, force: strategy?.apply?.force ?? strategy?.hook?.force }),
    options: (syncOptions?.items ?? []).filter((item) => item !== null),
    resources: (resources ?? []).filter((resource) => resource !== null).map(filled),
    ...defined({
      retry:
        retryStrategy === null || retryStrategy === undefined
          ? undefined
          : filled({ limit: retryStrategy.limit ?? 0, duration, factor, maxDuration }),
    }),
  }
}

export const applicationQueries: Fields<RuntimeCall> = {
  applicationProxyQuery: field(z.object({ name: z.string(), appNamespace: Namespace }), async (args, call: RuntimeCall) => {
    const params = placeOf(call, args.name, args.appNamespace)
    const path = 'GET /namespaces/{namespace}/applications/{name}'
    return toShown(call, await call.callRoute(path, { params, answer: RuntimeApplicationDetails }))
  }),
  sync: field(
    z.object({ applicationName: z.string(), options: SyncOptions, appNamespace: Namespace }),
    async ({ applicationName, options, appNamespace }, call: RuntimeCall) => {
      const params = placeOf(call, applicationName, appNamespace)
      const path = 'POST /namespaces/{namespace}/applications/{name}/sync'
      const body = toSyncInput(options)
      return toShown(call, await call.callRoute(path, { params, body, answer: RuntimeApplicationDetails }))
    },
  ),
  appRollback: field(
    z.object({
      appName: z.string(),
      appNamespace: z.string(),
      historyId: z.int(),
      dryRun: z.boolean().nullish(),
      prune: z.boolean().nullish(),
    }),
    async ({ appName, appNamespace, historyId, dryRun, prune }, call: RuntimeCall) => {
      const params = placeOf(call, appName, appNamespace)
      const path = 'POST /namespaces/{namespace}/applications/{name}/rollback'
      await call.callRoute(path, { params, body: { id: historyId, ...filled({ dryRun, prune }) }, answer: z.unknown() })
      return true
    },
  ),
}
