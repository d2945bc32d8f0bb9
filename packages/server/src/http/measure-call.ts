import type { FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { parseTraceParent } from '../traces/traces.ts'
import type { Route } from './route.ts'

export interface MeasuredCall {
  readonly status: number
  /** Monotonic milliseconds. */
  readonly started: number
  readonly request: FastifyRequest
}

/** Callers without a credential could create a series for every route. */
const UNAUTHENTICATED = 401
const ANY_ROUTE = '*'

/** Adds a call to the metrics, and to the traces. Held calls are not measured. */
export function measureCall(app: App, route: Route, { status, started, request }: MeasuredCall): void {
  if (route.spec.isHeld === true) return
  const took = app.clock.monotonic() - started
  const path = status === UNAUTHENTICATED ? ANY_ROUTE : route.path
  app.metrics.requests.observe({ method: route.method, route: path, status: String(status) }, took / 1000)
  if (app.traces === undefined || request.url.startsWith('/metrics')) return
  const { traceparent } = request.headers
  const end = app.clock.now()
  app.traces.record(
    {
      name: `${route.method} ${route.path}`,
      kind: 'server',
      start: end - took,
      end,
      attributes: {
        'http.request.method': route.method,
        'http.route': route.path,
        'http.response.status_code': status,
        'windlass.request.id': request.id,
      },
      ...(status >= 500 && { error: String(status) }),
    },
    { parent: parseTraceParent(typeof traceparent === 'string' ? traceparent : undefined) },
  )
}
