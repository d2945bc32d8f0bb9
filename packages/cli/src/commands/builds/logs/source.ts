import type { ApiClient } from '@windlass/client'
import type { Build } from '@windlass/protocol'
import type { Printer } from '../../../printer.ts'

/** A log to read. */
export interface LogSource {
  readonly client: ApiClient
  readonly build: Build
  readonly out: Printer
  /** Stream of the step that was asked for. */
  readonly stream: string | undefined
  readonly attempt: number | undefined
}
