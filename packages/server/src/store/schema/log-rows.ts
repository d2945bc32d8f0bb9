/** Rows of the log of builds. Its bytes are objects of the log storage. */

export interface StreamRow {
  build_id: string
  attempt: number
  stream: string
  bytes: number
  /**
   * Bytes whose line feeds are counted. Less than `bytes` if a server wrote the rest that does not count lines, until the stream is read by line
   * (`logs/count-stream.ts`).
   */
  counted: number
  /** Number of line feeds in the counted bytes, and the offset after the last one. */
  lines: number
  line_start: number
  /** Time of the first and last chunk; null if a server wrote them that does not set it. */
  first_at: number | null
  last_at: number | null
}

/** Folds and problems of a stream. */
export interface StreamMarksRow {
  build_id: string
  attempt: number
  stream: string
  /** Version of the patterns that found them. */
  version: number
  /** Offset up to which the stream was read. */
  bytes: number
  /** JSON: LogMarksState. */
  state: string
}

export interface ChunkRow {
  build_id: string
  position: number
  account_id: string
  attempt: number
  stream: string
  /** Offset in the stream, and length. Bytes. */
  start: number
  bytes: number
  at: number
  object: string
  /** Offset in the object. */
  object_start: number
  /** Number of line feeds before it in the stream, and in it. Null until they are counted. */
  first_line: number | null
  lines: number | null
}

/** A file of the log folder that lost a reference; deleted when it has none left. */
export interface DeadObjectRow {
  id: string
  object: string
}
