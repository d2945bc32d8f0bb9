/** Prometheus metrics of an agent of protocol v1, under the names of the public agent, which dashboards use. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { WorkflowBatch } from './split.ts'

export interface Metrics {
  readonly registry: Registry
  pulled(counts: { readonly agentTasks: number; readonly clusterTasks: number }): void
  polled(ok: boolean, ms: number): void
  /** Counts a created engine pod by its retry number. */
  podCreated(name: string): void
  kubeCall(type: string, ms: number): void
  batchDone(batch: WorkflowBatch, times: BatchTimes): void
  agentTaskDone(type: string, ms: number): void
}

/** Durations of a batch, milliseconds. */
export interface BatchTimes {
  readonly work: number
  readonly sincePull: number
  /** Undefined if the platform did not send the time of creation. */
  readonly sinceCreation: number | undefined
}

export interface MetricSources {
  /** Number of queued batches. */
  readonly queued: () => number
  /** Number of unsent reports. */
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
  const clusterTasks = counter('runner_wf_tasks', 'Workflow tasks pulled.')
  const retries = counter('runner_wf_tasks_retries', 'Engine pods created, by retry number.', ['retry'])
  const polls = counter('runner_get_tasks_requests', 'Polls.')
  gauge('runner_queue_size', 'Queued batches.', sources.queued)
  gauge('windlass_agent_unsent_reports', 'Reports that the platform has not acknowledged.', sources.unsent)
  gauge('windlass_agent_leader', '1 if this process polls, 0 if another replica does.', () => (sources.isLeader() ? 1 : 0))
  const pollTime = histogram('runner_get_tasks_duration_sec', 'Duration of a poll.', {
    labelNames: ['status'],
    buckets: [0.25, 0.5, 1, 2, 3, 6, 12, 30, 60],
  })
  const kind = { labelNames: ['workflow_type' as const] }
  const sinceCreation = histogram('runner_wf_duration_since_creation_sec', 'Time from the creation of a batch to its end.', {
    ...kind,
    buckets: LONG,
  })
  const inRunner = histogram('runner_wf_duration_in_runner_sec', 'Time from the pull of a batch to its end.', {
    ...kind,
    buckets: LONG,
  })
  const processing = histogram('runner_wf_processing_sec', 'Processing time of a batch.', {
    ...kind,
    buckets: [0.5, 1, 2, 3, 6, 12],
  })
  const agentTime = histogram('runner_agent_processing_sec', 'Processing time of an agent task.', {
    labelNames: ['agent_type'],
    buckets: [0.25, 0.5, 1, 2, 3, 6],
  })
  const kubeTime = histogram('runner_k8s_processing_sec', 'Processing time of a cluster task.', {
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
