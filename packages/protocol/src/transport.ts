/** The seam below the client: one HTTP exchange. Node and browser bring their own. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
  readonly signal?: AbortSignal | undefined
  /** No answer within this time is an error; none when absent. Milliseconds. */
  readonly timeoutMs?: number | undefined
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The body as it comes; read it once, either here or by `text()`. */
  readonly body: AsyncIterable<Uint8Array>
  text(): Promise<string>
}

/** Throws (any error) when no answer arrives; an HTTP error status is an answer. */
export type Transport = (request: HttpRequest) => Promise<HttpResponse>
