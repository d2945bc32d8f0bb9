/** What the readers of stores need besides the description of a secret. */
import { fault, type Clock } from '@windlass/kit'

export interface SecretContext {
  /** Expands variables of the job, such as its ID token. */
  readonly expand: (text: string) => string
  /** Environment of the manager, for the addresses of vaults that jobs may name, the default region of AWS, and other endpoints of clouds. Never for credentials. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Returns the ID token of a job. Throws `storage-refused` if the job has none for the secret. */
export function requireToken(token: string): string {
  if (token !== '') return token
  throw fault('storage-refused', {
    message: 'The secret needs an ID token. Set `id_tokens`, and `token` of the secret, in the job.',
  })
}
