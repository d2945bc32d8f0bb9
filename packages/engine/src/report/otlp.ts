/** The measurements of an engine as a request of OTLP 1 in JSON: `ExportMetricsServiceRequest` of opentelemetry-proto, metrics_service.proto. */
import { VERSION } from '@windlass/plan'
import type { Measurement } from './measurements.ts'

interface Times {
  /** Start of the sums. Epoch milliseconds. */
  readonly since: number
  readonly now: number
}

/** `AGGREGATION_TEMPORALITY_CUMULATIVE`: each value counts from the start. */
const CUMULATIVE = 2

/** Returns the body of a request. `resource` are the attributes of the process. */
export function toOtlp(
  measurements: readonly Measurement[],
  resource: Readonly<Record<string, string>>,
  { since, now }: Times,
): string {
  const metrics = measurements.map(({ name, help, unit, isSum, points }) => {
    const dataPoints = points.map(({ attributes, value }) => ({
      attributes: toAttributes(attributes),
      ...(isSum && { startTimeUnixNano: toNano(since) }),
      timeUnixNano: toNano(now),
      asDouble: value,
    }))
    const data = isSum
      ? { sum: { dataPoints, aggregationTemporality: CUMULATIVE, isMonotonic: true } }
      : { gauge: { dataPoints } }
    return { name, description: help, unit, ...data }
  })
  const scope = { name: 'windlass.engine', version: VERSION }
  return JSON.stringify({
    resourceMetrics: [{ resource: { attributes: toAttributes(resource) }, scopeMetrics: [{ scope, metrics }] }],
  })
}

function toAttributes(attributes: Readonly<Record<string, string>>): object[] {
  return Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }))
}

/** A number of JSON cannot hold nanoseconds. */
function toNano(ms: number): string {
  return `${Math.round(ms)}000000`
}
