/** Traces: what a collector receives over OTLP/HTTP for requests, elections and builds. */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openHttpScene } from '../../support/http-scene.ts'

const Value = z.object({
  stringValue: z.string().optional(),
  intValue: z.union([z.string(), z.number()]).optional(),
  boolValue: z.boolean().optional(),
})
const Attributes = z
  .array(z.object({ key: z.string(), value: Value }))
  .default([])
  .transform((list) =>
    Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue ?? value.boolValue ?? Number(value.intValue)])),
  )
const Span = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  startTimeUnixNano: z.union([z.string(), z.number()]).transform(Number),
  endTimeUnixNano: z.union([z.string(), z.number()]).transform(Number),
  attributes: Attributes,
  status: z.object({ code: z.number().optional(), message: z.string().optional() }).default({}),
})
type Span = z.output<typeof Span>
/** ExportTraceServiceRequest of OTLP 1 in JSON (opentelemetry-proto, trace_service.proto). */
const Export = z.object({
  resourceSpans: z.array(
    z.object({ resource: z.object({ attributes: Attributes }), scopeSpans: z.array(z.object({ spans: z.array(Span) })) }),
  ),
})

const spans: Span[] = []
const resources: Record<string, unknown>[] = []
const paths: string[] = []
let receiver: Server
let endpoint = ''

async function read(request: IncomingMessage): Promise<unknown> {
  if (request.headers['content-encoding'] !== 'gzip') return json(request)
  const pieces = await Array.fromAsync<Buffer>(request)
  return JSON.parse(gunzipSync(Buffer.concat(pieces)).toString('utf8'))
}

beforeAll(async () => {
  receiver = createServer((request, response) => {
    paths.push(`${request.method} ${request.url}`)
    read(request).then(
      (body) => {
        for (const { resource, scopeSpans } of Export.parse(body).resourceSpans) {
          resources.push(resource.attributes)
          for (const scope of scopeSpans) spans.push(...scope.spans)
        }
        response.setHeader('content-type', 'application/json').end('{}')
      },
      (error: unknown) => response.writeHead(400).end(String(error)),
    )
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const address = receiver.address()
  endpoint = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
})
afterAll(() => void receiver.close())

test('a collector receives requests, elections, and one trace per build with waits, start and steps', async () => {
  const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
  let id = ''
  {
    await using scene = await openHttpScene({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } })
    const { build, engine } = await scene.start()
    id = build.id
    await engine.succeed()
    await fetch(`${scene.server.url}/v1/builds/${id}`, {
      headers: { authorization: `Bearer ${scene.adminToken}`, traceparent: `00-${parent.traceId}-${parent.spanId}-01` },
    })
    await scene.nobody.text('GET', '/v1/builds').catch(() => '')
  }
  // A server that stops waits for the receiver for two seconds only, and then the spans arrive after its end.
  const traces = [`00000000${id}`, parent.traceId]
  await expect.poll(() => traces.map((trace) => spans.some(({ traceId }) => traceId === trace))).toEqual([true, true])
  expect(new Set(paths)).toEqual(new Set(['POST /v1/traces']))
  expect(resources[0]).toMatchObject({ 'service.name': 'windlass-server' })
  expect(spans.filter(({ name }) => name === 'election').length).toBeGreaterThan(0)
  const asked = spans.filter(({ traceId }) => traceId === parent.traceId)
  expect(asked).toMatchObject([
    {
      name: 'GET /v1/builds/{id}',
      parentSpanId: parent.spanId,
      attributes: { 'http.request.method': 'GET', 'http.route': '/v1/builds/{id}', 'http.response.status_code': 200 },
    },
  ])

  const own = spans.filter(({ traceId }) => traceId === `00000000${id}`)
  const [root] = own.filter(({ parentSpanId }) => parentSpanId === undefined || parentSpanId === '')
  expect(root?.attributes).toMatchObject({
    'windlass.build.id': id,
    'windlass.build.result': 'success',
    'windlass.runtime': 'local',
  })
  const nameOf = (span: string | undefined): string => own.find(({ spanId }) => spanId === span)?.name ?? 'none'
  const tree = own.map(({ name, parentSpanId }) => `${nameOf(parentSpanId)} > ${name}`)
  expect(tree).toEqual(expect.arrayContaining([`build ${id} > attempt 1`, 'attempt 1 > step hello']))
  for (const { startTimeUnixNano: start, endTimeUnixNano: end } of own) expect(end).toBeGreaterThanOrEqual(start)
  const step = own.find(({ name }) => name === 'step hello')
  expect(step).toMatchObject({ attributes: { 'windlass.step.result': 'success', 'windlass.step.exit_code': 0 } })
})

test('a receiver that is away does not disturb the server', async () => {
  await using scene = await openHttpScene({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' } })
  const { engine } = await scene.start()
  await engine.succeed()
  const began = performance.now()
  await scene.server.close()
  // An export has ten seconds. The server waits two for it.
  expect(performance.now() - began).toBeLessThan(9000)
})

test('an endpoint that is not a URL is refused, and none records nothing', async () => {
  await expect(openHttpScene({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' } })).rejects.toMatchObject({
    code: 'config-invalid',
  })
  await using scene = await openHttpScene({ environment: {} })
  expect(scene.server.app.traces).toBeUndefined()
})

test('OpenTelemetry is loaded only with an endpoint', () => {
  const root = join(import.meta.dirname, '../../../src')
  const sources = globSync('**/*.ts', { cwd: root }).map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
  expect(sources.filter(({ text }) => text.includes("'@opentelemetry/")).map(({ path }) => path)).toEqual(['traces/exporter.ts'])
  expect(sources.flatMap(({ text }) => text.match(/^.*\/exporter\.ts'.*$/gm) ?? [])).toEqual([
    "  const { openExporter } = await import('./exporter.ts')",
  ])
})
