/**
 * What the public step `gitops-argocd-sync` asks of a platform and a runtime, in its order: it finds the runtime, starts a sync, waits until the application is healthy, and otherwise rolls
 * back to the last deployment that was.
 */
import { setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import { askGraphql } from '../../../packages/server/test/support/graphql.ts'

export interface StepOptions {
  /** URL of the platform, and a key. */
  readonly url: string
  readonly token: string
  readonly runtime: string
  readonly application: string
  /** How often it looks, and how often at most after the sync before it rolls back. */
  readonly intervalMs: number
  readonly checks: number
}

export interface StepResult {
  readonly health: string
  readonly sync: string
  /** Deployment to which it has rolled back. */
  readonly rolledBackTo: number | undefined
}

const Found = z.object({ metadata: z.object({ name: z.string(), namespace: z.string() }), ingressHost: z.string() })
const Automation = z.object({ spec: z.object({ syncPolicy: z.object({ automated: z.object({}).nullable() }) }) })
const Status = z.object({
  status: z.object({
    health: z.object({ status: z.string() }),
    sync: z.object({ status: z.string() }),
    operationState: z.object({ phase: z.string() }).nullable(),
  }),
})
const Releases = z.object({
  edges: z.array(
    z.object({
      node: z.object({
        current: z.boolean(),
        argoHistoryId: z.number(),
        application: z.object({ status: z.object({ healthStatus: z.string() }) }),
      }),
    }),
  ),
})

const GET_RUNTIME = `query getRuntime($runtime: String!) { runtime(name: $runtime) { metadata { name namespace } ingressHost } }`
const EXISTS = `query appexistence($applicationName: String!, $applicationNamespace: String) {
  applicationProxyQuery(name: $applicationName, appNamespace: $applicationNamespace) { metadata { name } }
}`
const AUTOMATION = `query appsyncstatus($applicationName: String!, $applicationNamespace: String) {
  applicationProxyQuery(name: $applicationName, appNamespace: $applicationNamespace) {
    metadata { name }
    spec { syncPolicy { automated { prune } } }
  }
}`
const SYNC = `query sync($applicationName: String!, $options: SyncOptions, $applicationNamespace: String) {
  sync(applicationName: $applicationName, options: $options, appNamespace: $applicationNamespace) { metadata { name __typename } __typename }
}`
const STATUS = `query appstatus($applicationName: String!, $applicationNamespace: String) {
  applicationProxyQuery(name: $applicationName, appNamespace: $applicationNamespace) {
    metadata { name }
    status { health { status } sync { status } operationState { phase } }
  }
}`
const RELEASES = `query ApplicationTimelineListQuery($filters: GitopsReleaseFilterArgs $pagination: SlicePaginationArgs $sort: GitopsReleaseSortArg) {
  gitopsReleases(pagination: $pagination, filters: $filters, sort: $sort) {
    edges { node { current argoHistoryId application { status { syncStatus healthStatus } } } }
    pageInfo { hasNextPage hasPrevPage startCursor endCursor }
  }
}`
const ROLLBACK = `query appRollback($appName: String! $appNamespace: String! $historyId: Int! $dryRun: Boolean $prune: Boolean) {
  appRollback(appName: $appName appNamespace: $appNamespace historyId: $historyId dryRun: $dryRun prune: $prune)
}`

/** Runs the step. Throws the first error of an answer. */
export async function runSyncStep(options: StepOptions): Promise<StepResult> {
  const { url, token, runtime, application, intervalMs, checks } = options
  async function ask<S extends z.ZodType>(
    at: string,
    query: string,
    variables: Record<string, unknown>,
    shape: S,
  ): Promise<z.output<S>> {
    const { value, code, message } = await askGraphql(at, token, query, variables)
    if (code !== undefined) throw new Error(`${code}: ${message}`)
    return shape.parse(value)
  }
  const platform = `${url}/2.0/api/graphql`
  const { metadata, ingressHost } = await ask(platform, GET_RUNTIME, { runtime }, Found)
  const proxy = `${ingressHost}/app-proxy/api/graphql`
  const named = { applicationName: application }
  await ask(proxy, EXISTS, named, z.object({ metadata: z.object({ name: z.literal(application) }) }))
  const { spec } = await ask(proxy, AUTOMATION, named, Automation)
  if (spec.syncPolicy.automated === null) await ask(proxy, SYNC, { ...named, options: { prune: true } }, z.object({}))

  type Seen = Pick<StepResult, 'health' | 'sync'>
  const wait = async (most: number, isGood: (seen: Seen) => boolean): Promise<Seen> => {
    for (let n = 0; ;) {
      await setTimeout(intervalMs)
      const { health, sync, operationState } = (await ask(proxy, STATUS, named, Status)).status
      const seen = { health: health.status, sync: sync.status }
      // Unlike the step, it does not count while the sync goes on, because a busy machine takes long for it.
      if (seen.sync !== 'OUT_OF_SYNC' && operationState?.phase !== 'Running') n += 1
      if (isGood(seen) || n > most) return seen
    }
  }
  const isHealthy = ({ health }: Seen): boolean => health === 'HEALTHY'
  const isGood = (seen: Seen): boolean => isHealthy(seen) && seen.sync !== 'OUT_OF_SYNC'
  const first = await wait(checks, isGood)
  if (isGood(first)) return { ...first, rolledBackTo: undefined }
  const filters = { namespace: metadata.namespace, runtime, name: application }
  const { edges } = await ask(platform, RELEASES, { filters, pagination: { first: 10 } }, Releases)
  const healthy = edges.find(({ node }) => node.application.status.healthStatus === 'HEALTHY')
  if (healthy === undefined) throw new Error(`no HEALTHY release among ${JSON.stringify(edges)}`)
  const historyId = healthy.node.argoHistoryId
  const rollback = { appName: application, appNamespace: metadata.namespace, historyId, dryRun: false, prune: true }
  await ask(proxy, ROLLBACK, rollback, z.unknown())
  // The application follows a later commit, so it stays out of sync.
  return { ...(await wait(Infinity, isHealthy)), rolledBackTo: historyId }
}
