/** Where the metrics of builds are pushed: the variables of the OpenTelemetry specification (Exporter configuration), and those of Codefresh's engine. */
import { z } from 'zod'

export interface OtlpSettings {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly intervalMs: number
  readonly timeoutMs: number
  /** PEM file with additional certificate authorities for the collector. */
  readonly caFile: string | undefined
  /** Attributes of the process. */
  readonly resource: Readonly<Record<string, string>>
}

const Duration = z.coerce.number().int().min(100).max(3_600_000)
const Flag = z.stringbool().optional().catch(undefined)

/** A value that cannot be read is like none: metrics never fail a build. */
const Variables = z.object({
  OTEL_SDK_DISABLED: Flag,
  OTEL_METRICS_EXPORTER: z.string().default('otlp'),
  CF_TELEMETRY_OTEL_ENABLE: Flag,
  OTEL_EXPORTER_OTLP_ENDPOINT: z.string().default(''),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: z.string().default(''),
  OTEL_EXPORTER_OTLP_HEADERS: z.string().default(''),
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: z.string().default(''),
  OTEL_EXPORTER_OTLP_CERTIFICATE: z.string().optional(),
  OTEL_EXPORTER_OTLP_TIMEOUT: Duration.default(10_000).catch(10_000),
  OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: Duration.optional().catch(undefined),
  OTEL_METRIC_EXPORT_INTERVAL: Duration.default(60_000).catch(60_000),
  OTEL_SERVICE_NAME: z.string().optional(),
  OTEL_RESOURCE_ATTRIBUTES: z.string().default(''),
})

/** Returns undefined without an endpoint, and if metrics are off. Returns a text for an endpoint that cannot be used. */
export function readOtlpSettings(env: Readonly<Record<string, string | undefined>>): OtlpSettings | string | undefined {
  const read = Variables.parse(env)
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: own } = read
  const isOff =
    read.OTEL_SDK_DISABLED === true || read.CF_TELEMETRY_OTEL_ENABLE === false || read.OTEL_METRICS_EXPORTER === 'none'
  if (isOff || (base === '' && own === '')) return undefined
  const url = own === '' ? `${base.replace(/\/+$/, '')}/v1/metrics` : own
  if (!URL.canParse(url) || !/^https?:/.test(url))
    return 'The endpoint for metrics is not an http or https URL. Set OTEL_EXPORTER_OTLP_ENDPOINT to the OTLP/HTTP address of a collector, such as http://collector:4318.'
  const resource = readPairs(read.OTEL_RESOURCE_ATTRIBUTES)
  return {
    url,
    headers: { ...readPairs(read.OTEL_EXPORTER_OTLP_HEADERS), ...readPairs(read.OTEL_EXPORTER_OTLP_METRICS_HEADERS) },
    intervalMs: read.OTEL_METRIC_EXPORT_INTERVAL,
    timeoutMs: read.OTEL_EXPORTER_OTLP_METRICS_TIMEOUT ?? read.OTEL_EXPORTER_OTLP_TIMEOUT,
    caFile: read.OTEL_EXPORTER_OTLP_CERTIFICATE,
    resource: { ...resource, 'service.name': read.OTEL_SERVICE_NAME ?? resource['service.name'] ?? 'cf-classic-engine' },
  }
}

/** Reads `name=value,name=value`, with values that are encoded as in URLs. Leaves out what cannot be read. */
function readPairs(text: string): Record<string, string> {
  const pairs = text.split(',').flatMap((pair): [string, string][] => {
    const at = pair.indexOf('=')
    const name = pair.slice(0, at).trim()
    try {
      return at <= 0 || name === '' ? [] : [[name, decodeURIComponent(pair.slice(at + 1).trim())]]
    } catch {
      return []
    }
  })
  return Object.fromEntries(pairs)
}
