/** A terminal of a job, as its connections see it. The pod is behind it. */
import type { Readable, Writable } from 'node:stream'

export interface Terminal {
  /** Aborted when the job has ended. */
  readonly over: AbortSignal
  /**
   * Opens a shell. From then on the end of the job waits until the shell is closed, or `session_timeout` has passed. Rejects with faults of the cluster, and if the signal is
   * aborted before.
   */
  open(signal: AbortSignal): Promise<Shell>
  /** Lets the job end from now on, also with an open shell. */
  release(): Promise<void>
}

export interface Shell {
  readonly input: Writable
  /** Ends with the shell. Fails if the connection to it is lost. */
  readonly output: Readable
  /** Ends the shell, and lets the job end. Never rejects. */
  close(): Promise<void>
}
