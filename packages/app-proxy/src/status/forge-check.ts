/** Asks forges whether they accept the Git token of the runtime. An answer counts for a minute, because forges limit calls. */
import { isFault, sha256, type Clock } from '@windlass/kit'
import type { CheckResult } from '@windlass/protocol'
import type { ForgeCaller } from '../forge/call-forge.ts'
import { findForgeUser, openForgeSession } from '../forge/session.ts'
import { RUNTIME_USER, type GitToken, type GitTokens } from '../store/git-tokens.ts'
import type { Integration } from '../store/integrations.ts'
import { failed, ok, unknown } from './results.ts'

const FORGE_MS = 60_000

export interface ForgeCheckOptions {
  readonly runtime: string
  readonly tokens: GitTokens
  readonly forges: ForgeCaller
  readonly clock: Clock
  /** How long an answer counts. Milliseconds. Default: a minute. */
  readonly forgeMs?: number | undefined
}

/** Checks the Git token of the runtime for an integration that has one. */
export type ForgeCheck = (integration: Integration, signal: AbortSignal) => Promise<CheckResult>

interface Known {
  readonly key: string
  /** Monotonic milliseconds. */
  readonly at: number
  readonly result: CheckResult
}

export function openForgeCheck({ runtime, tokens, forges, clock, forgeMs = FORGE_MS }: ForgeCheckOptions): ForgeCheck {
  const known = new Map<string, Known>()

  async function ask(integration: Integration, login: GitToken, signal: AbortSignal): Promise<CheckResult> {
    const { name, url } = integration
    try {
      const user = await findForgeUser(openForgeSession({ caller: forges, integration, login, signal }))
      return ok(`${url} accepts the Git token of the runtime, which is that of ${user.login}.`)
    } catch (error) {
      if (isFault(error, 'git-token-refused', 'forbidden'))
        return failed(
          `${url} does not accept the Git token of the runtime.`,
          `Register another one: \`windlass gitops integration register ${runtime} ${name} --token-file FILE --runtime-token\`.`,
        )
      if (isFault(error)) return unknown(error.message)
      throw error
    }
  }

  return async (integration, signal) => {
    const { name, url } = integration
    const login = await tokens.find(integration, RUNTIME_USER)
    // The check of the key says why.
    if (login === undefined) return unknown(`The Git token of the runtime for the integration "${name}" cannot be read.`)
    const key = sha256(`${url}\n${login.token}`)
    const before = known.get(name)
    if (before?.key === key && clock.monotonic() - before.at < forgeMs) return before.result
    const result = await ask(integration, login, signal)
    known.set(name, { key, at: clock.monotonic(), result })
    return result
  }
}
