/** The secret with which an engine claims its attempt. */
import type { App } from '../../app.ts'
import type { AttemptKey } from '../../store/builds/attempts.ts'

/** Derives the secret part of an engine's bootstrap credential. It is derived again each time a task is handed out and never stored. */
export function bootstrapSecret(app: Pick<App, 'vault'>, keyId: string, { buildId, attempt }: AttemptKey): string {
  return app.vault.derive(keyId, `bootstrap/${buildId}/${attempt}`)
}
