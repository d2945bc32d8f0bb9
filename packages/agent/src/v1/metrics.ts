/** What Prometheus reads of an agent of protocol v1: the names that dashboards know (runner specification 2.10). */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Batch } from './split.ts'

export interface Metrics {
  readonly registry: Registry
  pulled(counts: { readonly agentTasks: number; readonly clusterTasks: number }): void
  polled(ok: boolean, ms: number): void
  /** Counts engines by the number of their retry. */
  podCreated(name: string): void
  kubeCall(type: string, ms: number): void
  batchDone(batch: Batch, times: BatchTimes): void
  agentTaskDone(type: string, ms: number): void
}

/** Milliseconds that a batch took. */
export interface BatchTimes {
  readonly work: number
  readonly sincePull: number
  /** Undefined when the platform did not say when it was created. */
  readonly sinceCreation: number | undefined
}

export interface MetricSources {
  /** Batches that wait. */
  readonly queued: () => number
  /** Reports that the platform does not have yet. */
  readonly unsent: () => number
  readonly isLeader: () => boolean
}

const LONG = [0.5, 1, 1.5, 2, 3, 6, 12, 30, 60]

export function openMetrics(sources: MetricSources): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, labelNames: L[] = []): Counter<L> =>
    new Counter({ name, help, labelNames, registers })
  const histogram = <L extends string>(name: string, help: string, more: { labelNames: L[]; buckets: number[] }): Histogram<L> =>
    new Histogram({ name, help, registers, ...more })
  const gauge = (name: string, help: string, value: () => number): Gauge =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value())
      },
    })
  const agentTasks = counter('runner_agent_tasks', 'Agent tasks pulled.')
  const clusterTasks = counter('runner_wf_tasks', 'Tasks of workflows pulled.')
  const retries = counter('runner_wf_tasks_retries', 'Engine pods created, by the number of their retry.', ['retry'])
  const polls = counter('runner_get_tasks_requests', 'Polls.')
  gauge('runner_queue_size', 'Batches that wait for a free worker.', sources.queued)
  gauge('windlass_agent_unsent_reports', 'Reports that the platform does not have yet.', sources.unsent)
  gauge('windlass_agent_leader', 'Whether this process polls; another of its identity does otherwise.', () =>
    sources.isLeader() ? 1 : 0,
  )
  const pollTime = histogram('runner_get_tasks_duration_sec', 'Time of a poll.', {
    labelNames: ['status'],
    buckets: [0.25, 0.5, 1, 2, 3, 6, 12, 30, 60],
  })
  const kind = { labelNames: ['workflow_type' as const] }
  const sinceCreation = histogram('runner_wf_duration_since_creation_sec', 'From the creation of a batch to its end.', {
    ...kind,
    buckets: LONG,
  })
  const inRunner = histogram('runner_wf_duration_in_runner_sec', 'From the pull of a batch to its end.', {
    ...kind,
    buckets: LONG,
  })
  const processing = histogram('runner_wf_processing_sec', 'Time of work at a batch.', {
    ...kind,
    buckets: [0.5, 1, 2, 3, 6, 12],
  })
  const agentTime = histogram('runner_agent_processing_sec', 'Time of work at an agent task.', {
    labelNames: ['agent_type'],
    buckets: [0.25, 0.5, 1, 2, 3, 6],
  })
  const kubeTime = histogram('runner_k8s_processing_sec', 'Time of a task in the cluster.', {
    labelNames: ['k8s_type'],
    buckets: [0.1, 0.25, 0.5, 1, 2, 3, 6, 12],
  })
  return {
    registry,
    pulled(counts) {
      agentTasks.inc(counts.agentTasks)
      clusterTasks.inc(counts.clusterTasks)
    },
    polled(ok, ms) {
      polls.inc()
      pollTime.observe({ status: ok ? 'success' : 'error' }, ms / 1000)
    },
    podCreated(name) {
      const retry = /^engine-.*?(?:-retry-(\d+))?$/.exec(name)
      if (retry !== null) retries.inc({ retry: retry[1] ?? '0' })
    },
    kubeCall: (type, ms) => kubeTime.observe({ k8s_type: type }, ms / 1000),
    batchDone({ kind: type }, times) {
      const labels = { workflow_type: type }
      processing.observe(labels, times.work / 1000)
      inRunner.observe(labels, times.sincePull / 1000)
      if (times.sinceCreation !== undefined) sinceCreation.observe(labels, times.sinceCreation / 1000)
    },
    agentTaskDone: (type, ms) => agentTime.observe({ agent_type: type }, ms / 1000),
  }
}
