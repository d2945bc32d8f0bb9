/** What Prometheus reads of an engine that was asked to say it (`METRICS_PROMETHEUS_ENABLED` of the runtime; runner specification 10.3). */
import { serveProbes, type ProbeServer } from '@windlass/kit'
import type { EngineEvent } from '@windlass/protocol'

export interface EngineMetrics {
  /** Of which build the numbers are. */
  begin(of: { readonly buildId: string; readonly attempt: number }): void
  /** One more fact of the attempt. */
  observe(event: EngineEvent): void
  /** As Prometheus reads it. */
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
      return [
        gauge('info', 'The build of this engine and what it does', [{ labels: { ...of, phase }, value: 1 }]),
        gauge('start_timestamp', 'Begin of the attempt, seconds', [{ labels: of, value: seconds(startedAt) }]),
        gauge('completion_timestamp', 'End of the attempt, seconds', [{ labels: of, value: seconds(finishedAt) }]),
        gauge(
          'step_info',
          'A step and how it stands',
          named.map((step) => ({ labels: { ...step.labels, phase: step.phase }, value: 1 })),
        ),
        gauge(
          'step_start_timestamp',
          'Begin of a step, seconds',
          named.map((step) => ({ labels: step.labels, value: seconds(step.startedAt) })),
        ),
        gauge(
          'step_completion_timestamp',
          'End of a step, seconds',
          named.map((step) => ({ labels: step.labels, value: seconds(step.finishedAt) })),
        ),
      ].join('')
    },
  }
}

function seconds(at: number | undefined): number | undefined {
  return at === undefined ? undefined : at / 1000
}

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | undefined
}

function gauge(name: string, help: string, samples: readonly Sample[]): string {
  const full = `codefresh_classic_build_${name}`
  const lines = samples.flatMap(({ labels, value }) => {
    const pairs = Object.entries(labels).map(
      ([key, text]) => `${key}="${text.replace(/[\\"\n]/g, (c) => (c === '\n' ? '\\n' : `\\${c}`))}"`,
    )
    return value === undefined ? [] : [`${full}{${pairs.join(',')}} ${value}\n`]
  })
  return `# HELP ${full} ${help}\n# TYPE ${full} gauge\n${lines.join('')}`
}

/** Serves `/metrics` until disposed. Rejects when the port is taken. */
export async function serveMetrics(metrics: EngineMetrics, port: number): Promise<ProbeServer> {
  return serveProbes(port, (path) => (path === '/metrics' ? { status: 200, body: metrics.text() } : undefined))
}
