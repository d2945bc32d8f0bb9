/** What the readers of stores need besides the description of a secret. */
import type { Clock } from '@windlass/kit'

export interface SecretContext {
  /** Expands variables of the job, such as its ID token. */
  readonly expand: (text: string) => string
  /** Environment of the manager, for the addresses of Vault that jobs may name, and the default region and other endpoints of AWS. Never for credentials. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly signal: AbortSignal
}
