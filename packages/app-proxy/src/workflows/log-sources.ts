/** Where the logs are that a call asks for: of a pod that exists, in the cluster; of a deleted one, in the archive. Pure. */
import { fault } from '@windlass/kit'
import type { RuntimeWorkflow, WorkflowLogQuery } from '@windlass/protocol'
import { archivedPods, isPodOf, usualKey } from './archived-logs.ts'
import type { LogSource } from './logs.ts'
import type { Workflow } from './manifest.ts'

export interface KnownLogs {
  /** Pods that exist. */
  readonly live: RuntimeWorkflow['pods']
  /** Begin of the keys of archived logs; undefined without an archive. */
  readonly prefix: string | undefined
}

/** Returns the logs of one pod, or of all that have one. Throws `not-found` if the workflow has no such pod. */
export function sourcesOf(
  workflow: Pick<Workflow, 'metadata' | 'nodes'>,
  { live, prefix }: KnownLogs,
  query: Pick<WorkflowLogQuery, 'pod' | 'container' | 'live' | 'after'>,
): LogSource[] {
  const { name } = workflow.metadata
  const { pod, container } = query
  // Lines of the archive have no times, so they cannot be joined to those that a caller has.
  const archive = query.live || query.after !== undefined ? undefined : prefix
  const archived = archive === undefined ? [] : archivedPods(workflow)
  const nodes = new Set(live.map(({ node }) => node))
  const pods = [...live, ...archived.filter(({ node }) => !nodes.has(node))].map((one) => {
    const { keys, startedAt, finishedAt } = archived.find(({ node }) => node === one.node) ?? {}
    const source = { pod: one.name, isLive: nodes.has(one.node), key: keys?.get(container), startedAt, finishedAt }
    return { node: one.node, source }
  })
  const hasLog = ({ isLive, key }: LogSource): boolean => isLive || key !== undefined
  if (pod === undefined) return pods.map(({ source }) => source).filter(hasLog)
  const source = pods.find(({ node, source: { pod: known } }) => known === pod || node === pod)?.source
  if (source !== undefined && hasLog(source)) return [source]
  if (archive !== undefined && isPodOf(pod, name)) {
    const place = { workflow: name, pod: source?.pod ?? pod, container }
    const { startedAt, finishedAt } = source ?? {}
    return [{ pod: place.pod, isLive: false, key: usualKey(archive, place), startedAt, finishedAt }]
  }
  throw fault('not-found', {
    message: `The workflow "${name}" has no pod "${pod}" any more.`,
    hint:
      prefix !== undefined && archive === undefined
        ? 'Its log can be in the archive. Read it without following it.'
        : 'List its pods with `windlass gitops workflow get RUNTIME NAME -o yaml`.',
  })
}
