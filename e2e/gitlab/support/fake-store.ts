/** The common part of fakes of object stores, which cannot run here: an HTTP server with objects, to which only signed requests come through. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'

export interface StoreRequest {
  readonly method: string
  /** Path and query as they were sent. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface StoreAnswer {
  readonly status: number
  readonly body?: string | Buffer
}

export interface FakeStore extends AsyncDisposable {
  readonly url: string
  /** Bytes by paths, decoded. */
  readonly objects: ReadonlyMap<string, Buffer>
  /** Reasons of refusals, in their order. */
  readonly refused: readonly string[]
}

export interface StoreRules {
  readonly host: string
  /** Returns why a request for an object is refused; undefined lets it through. */
  readonly refusal: (request: StoreRequest) => string | undefined
  /** Answers requests that are not for objects. */
  readonly other?: (request: StoreRequest) => StoreAnswer | undefined
  /** Status of an upload. */
  readonly created: number
}

/** Starts the server. */
export async function startFakeStore({ host, refusal, other, created }: StoreRules): Promise<FakeStore> {
  const objects = new Map<string, Buffer>()
  const refused: string[] = []

  function answer(request: StoreRequest): StoreAnswer {
    const own = other?.(request)
    if (own !== undefined) return own
    const why = refusal(request)
    if (why !== undefined) {
      refused.push(why)
      return { status: 403, body: `<Error><Code>SignatureDoesNotMatch</Code><Message>${why}</Message></Error>` }
    }
    const path = decodeURIComponent(request.target.split('?')[0] ?? '')
    if (request.method === 'PUT') {
      objects.set(path, request.body)
      return { status: created }
    }
    const object = objects.get(path)
    return object === undefined ? { status: 404, body: '<Error><Code>NoSuchKey</Code></Error>' } : { status: 200, body: object }
  }

  const server = createServer(async (incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming
    const { status, body = '' } = answer({ method, target: url, headers, body: await buffer(incoming) })
    outgoing.writeHead(status).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://${host}:${port}`,
    objects,
    refused,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
