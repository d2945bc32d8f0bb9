/** Prometheus metrics of an engine, enabled by `METRICS_PROMETHEUS_ENABLED` of the runtime. */
import { exposition, serveProbes, type Metric, type ProbeServer, type Sample } from '@windlass/kit'
import type { EngineEvent } from '@windlass/protocol'

export interface EngineMetrics {
  /** Sets the build of the metrics. */
  begin(of: { readonly buildId: string; readonly attempt: number }): void
  /** Updates the metrics for an event of the attempt. */
  observe(event: EngineEvent): void
  /** Returns the metrics in the Prometheus text format. */
  text(): string
}

interface StepTimes {
  readonly startedAt: number
  finishedAt?: number
  phase: string
}

export function openEngineMetrics(): EngineMetrics {
  const steps = new Map<string, StepTimes>()
  let build: { buildId: string; attempt: number } | undefined
  let phase = 'preparing'
  let startedAt: number | undefined
  let finishedAt: number | undefined
  return {
    begin: (of) => void (build = of),
    observe(event) {
      if (event.type === 'attempt.started') startedAt = event.at
      if (event.type === 'step.started') {
        phase = 'running'
        steps.set(event.step, { startedAt: event.at, phase: 'running' })
      }
      const step = event.type === 'step.finished' ? steps.get(event.step) : undefined
      if (event.type === 'step.finished' && step !== undefined) Object.assign(step, { finishedAt: event.at, phase: event.status })
      if (event.type !== 'attempt.finished') return
      finishedAt = event.at
      phase = event.outcome.status
    },
    text() {
      const of = { cf_classic_build_id: build?.buildId ?? '', attempt: String(build?.attempt ?? 0) }
      const named = [...steps].map(([step, times]) => ({ labels: { ...of, step_name: step }, ...times }))
      return exposition([
        gauge('info', 'Build of this engine and its phase', [{ labels: { ...of, phase }, value: 1 }]),
        gauge('start_timestamp', 'Start of the attempt, epoch seconds', [{ labels: of, value: seconds(startedAt) }]),
        gauge('completion_timestamp', 'End of the attempt, epoch seconds', [{ labels: of, value: seconds(finishedAt) }]),
        gauge(
          'step_info',
          'Step and its phase',
          named.map((step) => ({ labels: { ...step.labels, phase: step.phase }, value: 1 })),
        ),
        gauge(
          'step_start_timestamp',
          'Start of a step, epoch seconds',
          named.map((step) => ({ labels: step.labels, value: seconds(step.startedAt) })),
        ),
        gauge(
          'step_completion_timestamp',
          'End of a step, epoch seconds',
          named.map((step) => ({ labels: step.labels, value: seconds(step.finishedAt) })),
        ),
      ])
    },
  }
}

function seconds(at: number | undefined): number | undefined {
  return at === undefined ? undefined : at / 1000
}

function gauge(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name: `codefresh_classic_build_${name}`, help, samples }
}

/** Serves `/metrics` until disposed. Rejects if the port is taken. */
export async function serveMetrics(metrics: EngineMetrics, port: number): Promise<ProbeServer> {
  return serveProbes(port, (path) => (path === '/metrics' ? { status: 200, body: metrics.text() } : undefined))
}
