/** One HTTP request of the client. Node and browsers provide different implementations. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
  readonly signal?: AbortSignal | undefined
  /** Timeout for the response. Default: none. Milliseconds. */
  readonly timeoutMs?: number | undefined
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Body as a stream. Read it once, either here or with `text()`. */
  readonly body: AsyncIterable<Uint8Array>
  text(): Promise<string>
  /** Closes the connection of the response, so that no later request reuses it. */
  disconnect?(): void
}

/** Sends a request. Throws any error if no response arrives; an HTTP error status is a response. */
export type Transport = (request: HttpRequest) => Promise<HttpResponse>
