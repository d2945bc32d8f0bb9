/** A collector of OpenTelemetry in the process of the test: takes metrics over OTLP/HTTP with JSON. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'

const Attributes = z
  .array(z.strictObject({ key: z.string(), value: z.strictObject({ stringValue: z.string() }) }))
  .transform((all) => Object.fromEntries(all.map(({ key, value }) => [key, value.stringValue])))
const Nanoseconds = z.string().regex(/^\d{19}$/)
const Point = { attributes: Attributes, timeUnixNano: Nanoseconds, asDouble: z.number() }
const Metric = z.strictObject({
  name: z.string(),
  description: z.string(),
  unit: z.enum(['1', 's', 'By']),
  gauge: z.strictObject({ dataPoints: z.array(z.strictObject(Point)).min(1) }).optional(),
  sum: z
    .strictObject({
      dataPoints: z.array(z.strictObject({ ...Point, startTimeUnixNano: Nanoseconds })).min(1),
      aggregationTemporality: z.literal(2),
      isMonotonic: z.literal(true),
    })
    .optional(),
})

/** ExportMetricsServiceRequest of OTLP 1 in JSON (opentelemetry-proto, metrics_service.proto). */
const Request = z.strictObject({
  resourceMetrics: z.tuple([
    z.strictObject({
      resource: z.strictObject({ attributes: Attributes }),
      scopeMetrics: z.tuple([
        z.strictObject({ scope: z.strictObject({ name: z.string(), version: z.string() }), metrics: z.array(Metric).min(1) }),
      ]),
    }),
  ]),
})

export interface TakenPoint {
  readonly attributes: Readonly<Record<string, string>>
  readonly value: number
}

export interface Taken {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly resource: Readonly<Record<string, string>>
  /** Name -> unit and points. */
  readonly metrics: ReadonlyMap<
    string,
    { readonly unit: string; readonly isSum: boolean; readonly points: readonly TakenPoint[] }
  >
}

export interface Collector extends AsyncDisposable {
  readonly port: number
  /** What it took, oldest first. */
  readonly taken: readonly Taken[]
  /** Requests, with those that it did not answer. */
  readonly requests: () => number
  /** Answers with this status from now on; undefined: never. Default: 200. */
  answer(status: number | undefined): void
}

export async function startCollector(host = '127.0.0.1'): Promise<Collector> {
  const taken: Taken[] = []
  let status: number | undefined = 200
  let requests = 0
  const server = createServer((request, response) => {
    requests += 1
    const take = (body: string): void => {
      if (status === undefined) return
      if (status === 200 && request.method === 'POST' && request.url === '/v1/metrics') taken.push(read(request.headers, body))
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    }
    // An engine that ends gives up its push. A push that cannot be read fails the test.
    void text(request).then(take, () => response.destroy())
  })
  await once(server.listen(0, host), 'listening')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server on TCP has an address of this kind
  const { port } = server.address() as AddressInfo
  return {
    port,
    taken,
    requests: () => requests,
    answer: (next) => void (status = next),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function read(headers: Taken['headers'], body: string): Taken {
  const [{ resource, scopeMetrics }] = Request.parse(JSON.parse(body)).resourceMetrics
  const metrics = scopeMetrics[0].metrics.map(({ name, unit, gauge, sum }) => {
    const points = (sum ?? gauge)?.dataPoints ?? []
    const shown = points.map(({ attributes, asDouble }) => ({ attributes, value: asDouble }))
    return [name, { unit, isSum: sum !== undefined, points: shown }] as const
  })
  return { headers, resource: resource.attributes, metrics: new Map(metrics) }
}
