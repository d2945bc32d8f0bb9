/** The only file that loads OpenTelemetry. `traces.ts` imports it only if there is an endpoint. */
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags, type Context } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, RandomIdGenerator, TracerProvider } from '@opentelemetry/sdk-trace'
import { VERSION } from '../version.ts'
import type { RecordOptions, SpanData, Traces } from './span.ts'

export interface ExporterOptions {
  readonly url: string
  readonly serviceName: string
}

const CLOSE_MS = 2000
const MAX_QUEUE = 8192

export function openExporter({ url, serviceName }: ExporterOptions): Traces {
  const random = new RandomIdGenerator()
  let nextTraceId: string | undefined
  const idGenerator = {
    generateTraceId: () => nextTraceId ?? random.generateTraceId(),
    generateSpanId: () => random.generateSpanId(),
  }
  const exporter = new OTLPTraceExporter({ url })
  const provider = new TracerProvider({
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': serviceName, 'service.version': VERSION })),
    spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize: MAX_QUEUE, exportTimeoutMillis: 10_000 })],
    idGenerator,
  })
  const tracer = provider.getTracer('windlass', VERSION)

  function emit(data: SpanData, parent: Context): void {
    const kind = data.kind === 'server' ? SpanKind.SERVER : SpanKind.INTERNAL
    const span = tracer.startSpan(data.name, { kind, startTime: data.start, attributes: data.attributes }, parent)
    if (data.error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: data.error })
    const own = trace.setSpan(parent, span)
    for (const child of data.children ?? []) emit(child, own)
    span.end(Math.max(data.start, data.end))
  }

  return {
    record(span, { parent, traceId }: RecordOptions = {}) {
      const outer =
        parent === undefined
          ? ROOT_CONTEXT
          : trace.setSpanContext(context.active(), {
              traceId: parent.traceId,
              spanId: parent.spanId,
              traceFlags: parent.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
              isRemote: true,
            })
      nextTraceId = traceId
      try {
        emit(span, outer)
      } finally {
        nextTraceId = undefined
      }
    },
    async close() {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, CLOSE_MS)
      await Promise.race([provider.shutdown().catch(() => undefined), promise])
      clearTimeout(timer)
    },
  }
}
