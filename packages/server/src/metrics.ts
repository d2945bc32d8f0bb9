/** The Prometheus metrics of the server. Gauges are read from the store at each scrape. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

export interface Metrics {
  readonly registry: Registry
  /** Write further metrics as Prometheus text. */
  readonly more: (() => string)[]
  /** Called after the commit that ends a build. */
  buildEnded: (buildId: string) => void
  readonly builds: Counter<'result'>
  readonly buildDuration: Histogram<'result'>
  readonly waits: Histogram<'reason'>
  readonly buildsWaiting: Gauge<'reason'>
  readonly starts: Histogram<'phase'>
  readonly steps: Counter<'result'>
  readonly attemptsLive: Gauge<'runtime'>
  readonly agentOnline: Gauge<'agent'>
  readonly deliveriesWaiting: Gauge
  readonly messages: Gauge<'state'>
  readonly messagesFailed: Counter<'kind'>
  readonly info: Gauge<'version' | 'database'>
  readonly tasksQueued: Gauge
  readonly taskWait: Histogram
  readonly agentSilence: Gauge<'agent'>
  readonly buildsByStatus: Gauge<'status'>
  readonly attemptsLost: Counter<'reason'>
  readonly logBytes: Counter
  readonly requests: Histogram<'method' | 'route' | 'status'>
  readonly logStorageFails: Gauge
  readonly freeDiskShare: Gauge
  readonly freeFileShare: Gauge
}

/** Metrics of this process, such as memory and event loop. Its servers share them: their timer and their observer last as long as the process. */
let processMetrics: Registry | undefined

function collectProcessMetrics(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'windlass_' })
  return registry
}

export function openMetrics(): Metrics {
  const registry = Registry.merge([(processMetrics ??= collectProcessMetrics())])
  const registers = [registry]
  return {
    registry,
    more: [],
    buildEnded: () => undefined,
    builds: new Counter({
      name: 'windlass_builds_total',
      help: 'Builds that ended, by result.',
      labelNames: ['result'],
      registers,
    }),
    buildDuration: new Histogram({
      name: 'windlass_build_duration_seconds',
      help: 'From creation to the end of a build, by result.',
      labelNames: ['result'],
      buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400],
      registers,
    }),
    waits: new Histogram({
      name: 'windlass_wait_seconds',
      help: 'How long builds waited, by reason: limits, capacity, approval, `start` for the pods, or what Kubernetes reports.',
      labelNames: ['reason'],
      buckets: [0.1, 1, 5, 15, 60, 300, 1800, 7200],
      registers,
    }),
    buildsWaiting: new Gauge({
      name: 'windlass_builds_waiting',
      help: 'Builds that wait now, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    starts: new Histogram({
      name: 'windlass_attempt_start_seconds',
      help: 'Parts of the start of an attempt: `pods` until its engine runs, `daemon` from its first call until it has a Docker daemon.',
      labelNames: ['phase'],
      buckets: [0.1, 0.5, 1, 2, 5, 10, 30, 60, 180, 600],
      registers,
    }),
    steps: new Counter({
      name: 'windlass_steps_total',
      help: 'Steps that ended, by result.',
      labelNames: ['result'],
      registers,
    }),
    attemptsLive: new Gauge({
      name: 'windlass_attempts_live',
      help: 'Attempts that start or run, by runtime environment.',
      labelNames: ['runtime'],
      registers,
    }),
    agentOnline: new Gauge({
      name: 'windlass_agent_online',
      help: '1 if an agent has called within its lease.',
      labelNames: ['agent'],
      registers,
    }),
    deliveriesWaiting: new Gauge({
      name: 'windlass_deliveries_waiting',
      help: 'Webhook calls that are not processed yet.',
      registers,
    }),
    messages: new Gauge({
      name: 'windlass_messages',
      help: 'Messages to other services: `waiting` to be sent, or `failed` for good.',
      labelNames: ['state'],
      registers,
    }),
    messagesFailed: new Counter({
      name: 'windlass_messages_failed_total',
      help: 'Messages to other services that were given up, by kind.',
      labelNames: ['kind'],
      registers,
    }),
    info: new Gauge({
      name: 'windlass_info',
      help: 'Always 1; version and database of the server.',
      labelNames: ['version', 'database'],
      registers,
    }),
    tasksQueued: new Gauge({ name: 'windlass_tasks_queued', help: 'Tasks that no agent has claimed yet.', registers }),
    taskWait: new Histogram({
      name: 'windlass_task_wait_seconds',
      help: 'Time from a task becoming available until an agent claims it.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5, 30, 300],
      registers,
    }),
    agentSilence: new Gauge({
      name: 'windlass_agent_last_seen_seconds',
      help: 'Seconds since the last call of an agent.',
      labelNames: ['agent'],
      registers,
    }),
    buildsByStatus: new Gauge({
      name: 'windlass_builds',
      help: 'Builds that have not ended, by status.',
      labelNames: ['status'],
      registers,
    }),
    attemptsLost: new Counter({
      name: 'windlass_attempts_lost_total',
      help: 'Attempts lost, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    logBytes: new Counter({ name: 'windlass_log_bytes_total', help: 'Log bytes stored.', registers }),
    requests: new Histogram({
      name: 'windlass_http_request_duration_seconds',
      help: 'Duration of requests, without requests that wait for an event.',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5],
      registers,
    }),
    logStorageFails: new Gauge({
      name: 'windlass_log_storage_failing',
      help: '1 while the log storage accepts no writes of this server.',
      registers,
    }),
    freeDiskShare: new Gauge({
      name: 'windlass_disk_free_ratio',
      help: 'Free share of the disk of the data folder or of the log folder, whichever is lower.',
      registers,
    }),
    freeFileShare: new Gauge({
      name: 'windlass_inodes_free_ratio',
      help: 'Free share of the inodes of that disk; 1 if it has no inode limit.',
      registers,
    }),
  }
}

/** Returns the 99th percentile of the delay of the event loop since the last reading, in milliseconds; undefined without a sample. */
export async function readLoopLag({ registry }: Pick<Metrics, 'registry'>): Promise<number | undefined> {
  const found = await registry.getSingleMetric('windlass_nodejs_eventloop_lag_p99_seconds')?.get()
  const seconds = found?.values[0]?.value
  return seconds === undefined || !Number.isFinite(seconds) ? undefined : Math.round(seconds * 1000)
}
