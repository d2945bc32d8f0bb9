/** Spans, and where they go. */

/** An interval of work. Times are epoch milliseconds. */
export interface SpanData {
  readonly name: string
  readonly kind?: 'server' | 'internal'
  readonly start: number
  readonly end: number
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  /** Why it failed. */
  readonly error?: string | undefined
  readonly children?: readonly SpanData[]
}

/** The span of another process that a span continues. */
export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
}

export interface RecordOptions {
  readonly parent?: TraceParent | undefined
  /** 32 hex digits. Default: a random one. */
  readonly traceId?: string
}

export interface Traces {
  /** Queues a span with its children. They are sent later, in batches; if the receiver is too slow or away, they are dropped. */
  record(span: SpanData, options?: RecordOptions): void
  /** Sends what is queued, for at most two seconds. */
  close(): Promise<void>
}
