/** The pods in the namespace of a runtime, as the monitor of its cluster reports them. */
import { useQuery } from '@tanstack/react-query'
import { LABEL, type Agent, type ClusterObject, type Monitor, type Runtime } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { lookOfAgent } from '../looks/states.ts'
import { Status } from '../looks/status.tsx'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { queries } from '../server/queries.ts'
import { paths } from '../url/paths.ts'
import styles from './fleet.module.css'
import { fleet } from './queries.ts'
import { namespaceOf } from './spec/spec-values.ts'

export function PodsTab({ runtime }: { readonly runtime: Runtime }): ReactElement {
  const merged = useQuery(fleet.merged(runtime.name))
  const monitors = useQuery(fleet.monitors())
  const agents = useQuery(queries.agents())
  const error = merged.error ?? monitors.error ?? agents.error
  if (merged.data === undefined || monitors.data === undefined || agents.data === undefined)
    return error === null ? <Loading rows={5} what="pods" /> : <Problem error={error} onRetry={() => void monitors.refetch()} />
  const namespace = namespaceOf(merged.data.spec)
  const monitor = monitorOf(runtime, monitors.data.items, agents.data.items)
  if (runtime.type !== 'kubernetes')
    return <Empty>Builds of this runtime do not run in pods, because its type is {runtime.type}.</Empty>
  if (monitor === undefined)
    return (
      <Empty
        action={<Command text={sh`windlass install monitor --cluster-id NAME --kube-namespace ${namespace ?? 'NAMESPACE'}`} />}
      >
        No monitor reports the cluster of this runtime. Install one with the command, with the kubeconfig of the cluster. It only
        reads, and sends summaries of objects without their environment.
      </Empty>
    )
  return <Pods monitor={monitor} namespace={namespace} />
}

/** Returns the monitor that uses the token of the agent of a runtime. */
function monitorOf({ name, agent }: Runtime, monitors: readonly Monitor[], agents: readonly Agent[]): Monitor | undefined {
  const own = agents.filter((one) => (agent === undefined ? one.runtimes.includes(name) : one.name === agent))
  return monitors.find(({ agentId }) => own.some(({ id }) => id === agentId))
}

function Pods({ monitor, namespace }: { readonly monitor: Monitor; readonly namespace: string | undefined }): ReactElement {
  const { data, error, isPending, refetch } = useQuery(fleet.pods(monitor.cluster, namespace))
  return (
    <div className={styles['stack']}>
      <p className={styles['facts']}>
        <span>
          cluster <bdi>{monitor.cluster}</bdi>
        </span>
        {namespace !== undefined && (
          <span>
            namespace <bdi>{namespace}</bdi>
          </span>
        )}
        <Status look={lookOfAgent(monitor.status)} />
        <span>
          reported <When at={monitor.seenAt} />
        </span>
      </p>
      {isPending && <Loading rows={5} what="pods" />}
      {data === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data?.items.length === 0 && <Empty>The monitor reports no pods in this namespace.</Empty>}
      {data !== undefined && data.items.length > 0 && <PodTable pods={data.items} />}
      <Command
        text={sh`windlass get objects Pod --cluster ${monitor.cluster} ${namespace === undefined ? [] : ['--namespace', namespace]}`}
      />
    </div>
  )
}

function PodTable({ pods }: { readonly pods: readonly ClusterObject[] }): ReactElement {
  const text = (pod: ClusterObject, field: string): string => String(pod.summary[field] ?? '')
  return (
    <Table
      caption="Pods"
      rows={pods}
      keyOf={({ uid }) => uid}
      columns={[
        { head: 'Pod', cell: ({ name }) => <bdi className="mono">{name}</bdi> },
        { head: 'Status', cell: (pod) => <bdi>{text(pod, 'status')}</bdi> },
        { head: 'Ready', cell: (pod) => text(pod, 'ready') },
        { head: 'Restarts', cell: (pod) => text(pod, 'restarts') },
        { head: 'Node', cell: (pod) => <bdi>{text(pod, 'node')}</bdi> },
        { head: 'Build', cell: BuildOfPod },
        { head: 'Age', cell: ({ createdAt }) => createdAt !== undefined && <When at={createdAt} /> },
      ]}
    />
  )
}

function BuildOfPod({ labels }: ClusterObject): ReactElement | null {
  const build = labels[LABEL.build]
  return build === undefined ? null : <Link href={paths.build(build)}>Open the build</Link>
}
