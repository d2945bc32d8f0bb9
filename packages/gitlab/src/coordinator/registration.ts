/** Registration of runners: calls that create, check, renew and delete a runner in GitLab. */
import { fault, type Fault } from '@windlass/kit'
import { z } from 'zod'
import type { ApiAnswer, Calls } from './calls.ts'
import type { RunnerInfo } from './info.ts'
import { isAuthenticationToken } from './tokens.ts'

export interface Registration {
  readonly systemId: string
  readonly description?: string
  readonly maintenanceNote?: string
  readonly tags?: readonly string[]
  /** Always true for a runner without tags. */
  readonly runUntagged?: boolean
  readonly locked?: boolean
  readonly accessLevel?: 'not_protected' | 'ref_protected'
  /** Seconds. */
  readonly maximumTimeout?: number
  readonly paused?: boolean
  /**
   * True ignores settings that belong to GitLab for a runner authentication token. Set it for a token that was given as a registration token, so that
   * installations can change to the new kind of token without other changes.
   */
  readonly ignoreReserved?: boolean
}

/** The runner as GitLab knows it. */
export interface RegisteredRunner {
  readonly id: number
  readonly token: string
  /** ISO time; undefined if the token does not expire. */
  readonly tokenExpiresAt: string | undefined
}

export interface NewToken {
  readonly token: string
  readonly tokenExpiresAt: string | undefined
}

export type Verification =
  | { readonly type: 'valid'; readonly runner: RegisteredRunner }
  /** The token is wrong, or the runner was removed. */
  | { readonly type: 'invalid' }
  /** The server did not say. The runner may exist. */
  | { readonly type: 'unknown'; readonly reason: string }

const Answer = z.object({ id: z.int().nullish(), token: z.string().nullish(), token_expires_at: z.string().nullish() })

export interface RunnerCalls {
  /**
   * Registers a runner with the token of the client. A runner authentication token is only verified, because its runner exists. Throws `forge-refused`,
   * or `usage` for settings that can only be changed in GitLab.
   */
  register(registration: Registration): Promise<RegisteredRunner>
  /** Checks the token and announces this manager. */
  verify(systemId: string): Promise<Verification>
  /** Deletes the runner with all its managers. Throws `forge-refused`. */
  unregister(): Promise<void>
  /** Deletes only this manager of the runner. Throws `forge-refused`. */
  unregisterManager(systemId: string): Promise<void>
  /** Replaces the token of the client. Throws `forge-refused`. */
  resetToken(): Promise<NewToken>
  /** Replaces the token of a runner with a personal access token. Throws `forge-refused`. */
  resetTokenById(id: number, personalToken: string): Promise<NewToken>
}

export function runnerCalls({
  call,
  token,
  info,
}: {
  readonly call: Calls
  readonly token: string
  readonly info: RunnerInfo
}): RunnerCalls {
  const headers = { 'RUNNER-TOKEN': token }

  async function verify(systemId: string): Promise<Verification> {
    const body = { token, system_id: systemId, info }
    const answer = await call({ method: 'POST', path: 'runners/verify', headers, body, expected: [200] })
    if (answer.status === 403) return { type: 'invalid' }
    if (answer.status !== 200) return { type: 'unknown', reason: answer.reason }
    // Servers before version 15 answer with plain text, and return neither an ID nor a new token.
    const { id, ...rest } = Answer.catch({}).parse(answer.json ?? {})
    return {
      type: 'valid',
      runner: { id: id ?? 0, token: rest.token ?? token, tokenExpiresAt: rest.token_expires_at ?? undefined },
    }
  }

  async function registerExisting(registration: Registration): Promise<RegisteredRunner> {
    if (registration.ignoreReserved !== true) requireNoReserved(registration)
    const result = await verify(registration.systemId)
    if (result.type === 'valid' && result.runner.id !== 0) return result.runner
    const why = result.type === 'unknown' ? result.reason : 'the token is not valid, or the runner was removed'
    throw fault('forge-refused', { message: `GitLab did not verify the runner: ${why}.`, hint: TOKEN_HINT })
  }

  async function newToken(answer: ApiAnswer): Promise<NewToken> {
    const parsed = Answer.safeParse(answer.json)
    if (answer.status !== 201 || !parsed.success || typeof parsed.data.token !== 'string')
      throw refused(answer, 'reset the token')
    return { token: parsed.data.token, tokenExpiresAt: parsed.data.token_expires_at ?? undefined }
  }

  async function remove(path: string, body: object): Promise<void> {
    const answer = await call({ method: 'DELETE', path, headers, body, expected: [204] })
    if (answer.status !== 204) throw refused(answer, 'delete the runner')
  }

  return {
    async register(registration) {
      if (isAuthenticationToken(token)) return registerExisting(registration)
      const body = registrationBody(token, registration, info)
      const answer = await call({ method: 'POST', path: 'runners', headers, body, expected: [201], isOnce: true })
      const parsed = Answer.safeParse(answer.json)
      if (answer.status !== 201 || !parsed.success) throw refused(answer, 'register the runner')
      const { id, token: own, token_expires_at: expiresAt } = parsed.data
      if (typeof own !== 'string') throw refused(answer, 'register the runner')
      return { id: id ?? 0, token: own, tokenExpiresAt: expiresAt ?? undefined }
    },
    verify,
    unregister: () => remove('runners', { token }),
    unregisterManager: (systemId) => remove('runners/managers', { token, system_id: systemId }),
    async resetToken() {
      const path = 'runners/reset_authentication_token'
      return newToken(await call({ method: 'POST', path, headers, body: { token }, expected: [201], isOnce: true }))
    },
    async resetTokenById(id, personalToken) {
      const path = `runners/${id}/reset_authentication_token`
      return newToken(
        await call({ method: 'POST', path, headers: { 'PRIVATE-TOKEN': personalToken }, expected: [201], isOnce: true }),
      )
    },
  }
}

function registrationBody(token: string, registration: Registration, info: RunnerInfo): object {
  const { tags = [], runUntagged = false, accessLevel = 'not_protected', ...rest } = registration
  return {
    token,
    description: rest.description ?? '',
    maintenance_note: rest.maintenanceNote ?? '',
    tag_list: tags.join(','),
    run_untagged: runUntagged || tags.length === 0,
    locked: rest.locked ?? true,
    access_level: accessLevel,
    maximum_timeout: rest.maximumTimeout ?? 0,
    paused: rest.paused ?? false,
    info,
  }
}

/** Throws if a setting is given that GitLab keeps for a runner with an authentication token. */
function requireNoReserved(registration: Registration): void {
  const reserved = {
    '--locked': registration.locked,
    '--access-level': registration.accessLevel,
    '--run-untagged': registration.runUntagged,
    '--maximum-timeout': registration.maximumTimeout,
    '--paused': registration.paused,
    '--tag-list': registration.tags?.length === 0 ? undefined : registration.tags,
    '--maintenance-note': registration.maintenanceNote,
  }
  const given = Object.entries(reserved).flatMap(([option, value]) => (value === undefined ? [] : [option]))
  if (given.length === 0) return
  throw fault('usage', {
    message: `Runner configuration other than name and executor configuration is reserved: ${given.join(', ')} cannot be used with a runner authentication token.`,
    hint: 'Remove these options, and change the settings of the runner in GitLab.',
  })
}

const TOKEN_HINT = 'Check the token, and that the runner exists in GitLab.'

function refused(answer: ApiAnswer, action: string): Fault {
  return fault('forge-refused', {
    message: `GitLab did not ${action}: ${answer.reason}.`,
    ...(answer.status === 403 && { hint: TOKEN_HINT }),
    gitlabStatus: answer.status,
    correlationId: answer.correlationId,
  })
}
