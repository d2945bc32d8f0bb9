/**
 * Traces for OpenTelemetry. Without an endpoint nothing is recorded, and the libraries of OpenTelemetry are not loaded. The variables are those of the
 * OpenTelemetry specification (Exporter configuration).
 */
import { fault } from '@windlass/kit'
import type { TraceParent, Traces } from './span.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Opens the exporter if the environment names an endpoint. Throws `config-invalid` if it is not a URL. */
export async function openTraces(environment: Environment): Promise<Traces | undefined> {
  const url = endpointOf(environment)
  if (url === undefined) return undefined
  const { openExporter } = await import('./exporter.ts')
  return openExporter({ url, serviceName: environment['OTEL_SERVICE_NAME'] ?? 'windlass-server' })
}

function endpointOf({
  OTEL_SDK_DISABLED: off,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own = '',
  OTEL_EXPORTER_OTLP_ENDPOINT: base = '',
}: Environment): string | undefined {
  if (off === 'true' || (own === '' && base === '')) return undefined
  const text = own === '' ? `${base.replace(/\/+$/, '')}/v1/traces` : own
  if (URL.canParse(text) && /^https?:/.test(text)) return text
  throw fault('config-invalid', {
    message: `The endpoint for traces "${text}" is not an http or https URL.`,
    hint: 'Set OTEL_EXPORTER_OTLP_ENDPOINT to the OTLP/HTTP address of a collector, such as http://collector:4318.',
  })
}

/** Parses the header `traceparent` (W3C Trace Context, version 00). Returns undefined for any other text. */
export function parseTraceParent(header: string | undefined): TraceParent | undefined {
  const [, traceId = '', spanId = '', flags = ''] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header ?? '') ?? []
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}
