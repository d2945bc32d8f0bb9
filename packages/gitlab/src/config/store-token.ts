/** Writes the token that GitLab has given to a runner in place of another one. */
import { fault } from '@windlass/kit'
import type { NewToken } from '../coordinator/registration.ts'
import { changeConfigFile } from './config-file.ts'
import { setRunnerKeys } from './edit.ts'
import { withoutFraction } from './entry.ts'
import { readConfigText } from './read.ts'
import type { RunnerSection } from './schema.ts'

/** What tells a runner from the others of a file. */
export type RunnerIdentity = Pick<RunnerSection, 'url' | 'token'>

/** Returns the position of a runner in the text. Throws `conflict` if it is not there any more. */
export function runnerPosition(text: string, { url, token }: RunnerIdentity): number {
  const found = readConfigText(text).config?.runners.findIndex((runner) => runner.token === token && runner.url === url) ?? -1
  if (found >= 0) return found
  throw fault('conflict', { message: 'The configuration file has changed in the meantime.', hint: 'Run the command again.' })
}

/** Writes the new token of a runner and its dates. `now` is in epoch milliseconds. Throws `conflict`, and system errors. */
export function storeToken(
  file: string,
  runner: RunnerIdentity,
  { token, tokenExpiresAt }: NewToken,
  now: number,
): Promise<void> {
  return changeConfigFile(file, (text) =>
    setRunnerKeys(text, runnerPosition(text, runner), {
      token,
      token_obtained_at: withoutFraction(now),
      token_expires_at: tokenExpiresAt === undefined ? undefined : new Date(tokenExpiresAt),
    }),
  )
}
