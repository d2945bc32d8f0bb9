/** What an event source of Argo Events does with the calls of a forge, which cannot run here: it takes them, and a sensor compares them with its filters. */
import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { isRecord } from '@windlass/kit/json'
import { parse } from 'yaml'

/** A call, in the form in which a sensor sees it. */
export interface Event {
  readonly path: string
  readonly authorization: string | undefined
  readonly header: Readonly<Record<string, readonly string[]>>
  readonly body: unknown
}

export interface EventSource extends AsyncDisposable {
  readonly url: string
  readonly events: Event[]
}

export async function startEventSource(): Promise<EventSource> {
  const events: Event[] = []
  const server = http.createServer((request, response) => {
    void text(request).then((body) => {
      const header = Object.entries(request.headersDistinct).map(([name, values = []]) => [canonical(name), values] as const)
      events.push({
        path: request.url ?? '',
        authorization: request.headers.authorization,
        header: Object.fromEntries(header),
        body: JSON.parse(body),
      })
      response.end()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    events,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

/** As Go names headers. */
function canonical(name: string): string {
  return name.replaceAll(/(^|-)([a-z])/g, (_, before: string, letter: string) => before + letter.toUpperCase())
}

interface Filter {
  readonly path: string
  readonly comparator?: '!='
  readonly value: readonly string[]
}

/** Returns the dependencies of a sensor whose filters an event passes. */
export function passedBy(sensor: string, event: Pick<Event, 'header' | 'body'>): string[] {
  // As the app-proxy writes it.
  const { spec } = parse(sensor) as {
    spec: { dependencies: { name: string; filters: { data: Filter[] } }[] }
  }
  const passes = ({ path, comparator, value }: Filter): boolean => {
    const found = valueAt(event, path)
    const matches = value.some((pattern) => new RegExp(pattern).test(String(found)))
    return found !== undefined && matches === (comparator === undefined)
  }
  return spec.dependencies.filter(({ filters }) => filters.data.every(passes)).map(({ name }) => name)
}

function valueAt(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (inner, field) => (Array.isArray(inner) ? inner[Number(field)] : isRecord(inner) ? inner[field] : undefined),
      value,
    )
}
