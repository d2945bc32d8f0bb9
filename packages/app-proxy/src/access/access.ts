/**
 * Asks the control plane who a caller is and which rights the caller has. An answer counts for 2 s from its question, also if it comes late: the control plane
 * itself notices a change that another of its servers made within 3 s, so a right that was taken away ends within 5 s.
 */
import { appProxyCalls } from '@windlass/client/app-proxy'
import { fault, isFault, parseToken, sha256, type Clock } from '@windlass/kit'
import type { Client, GitopsAccess } from '@windlass/protocol'
import type { Caller } from './caller.ts'

/** Age of a question whose answer counts, which is also the time in which the control plane must answer. Milliseconds. */
const FRESH_MS = 2_000
const MAX_KNOWN = 10_000

export interface AccessOptions {
  /** Client of the control plane, without a token. */
  readonly client: Client
  readonly runtime: string
  readonly accountId: string
  /** Returns the current token of the runtime. */
  readonly runtimeToken: () => string
  readonly clock: Clock
}

export interface Access {
  /**
   * Returns who has a token. Throws `unauthenticated`, `forbidden` for a user of another account, `scope-missing`, `control-plane-unreachable`, and
   * `control-plane-refused` if the control plane does not know this runtime.
   */
  callerOf(token: string | undefined): Promise<Caller>
  /** Lets the next call ask again, because the control plane has refused the token since. */
  forget(token: string): void
}

interface Known {
  /** When the question was sent. Milliseconds of the monotonic clock. */
  readonly askedAt: number
  readonly answer: Promise<Caller>
}

export function openAccess(options: AccessOptions): Access {
  const { clock, runtimeToken } = options
  /** By hashes, so that the memory of the process has no list of tokens. */
  const known = new Map<string, Known>()
  return {
    async callerOf(token) {
      if (token === undefined || parseToken(token) === undefined) throw fault('unauthenticated')
      // The token of the runtime is for calls of the runtime. A caller that has it, for example from a Secret, is not a user.
      if (sha256(token) === sha256(runtimeToken()))
        throw fault('unauthenticated', { message: 'The token is that of the GitOps runtime, and not one of a user.' })
      const key = sha256(token)
      for (let tries = 1; ; tries += 1) {
        const found = known.get(key)
        const asked = found !== undefined && isFresh(found) ? found : begin(key, token)
        const caller = await asked.answer
        if (isFresh(asked)) return caller
        // The answer was the last one before its age, or this process was busy.
        if (tries > 1)
          throw fault('control-plane-unreachable', {
            message: `The control plane takes longer than ${FRESH_MS / 1000} s to answer, so your rights may have changed.`,
          })
      }
    },
    forget: (token) => void known.delete(sha256(token)),
  }

  function isFresh({ askedAt }: Pick<Known, 'askedAt'>): boolean {
    return clock.monotonic() - askedAt < FRESH_MS
  }

  function begin(key: string, token: string): Known {
    if (known.size >= MAX_KNOWN) known.clear()
    const asked = { askedAt: clock.monotonic(), answer: ask(options, token) }
    known.set(key, asked)
    // A control plane that did not answer is asked again by the next call.
    asked.answer.catch((error: unknown) => {
      if (!isFault(error, 'unauthenticated', 'forbidden', 'scope-missing') && known.get(key) === asked) known.delete(key)
    })
    return asked
  }
}

async function ask({ client, runtime, accountId, runtimeToken }: AccessOptions, token: string): Promise<Caller> {
  let access: GitopsAccess
  try {
    const calls = appProxyCalls(client.withToken(token))
    access = await calls.access(runtime, { runtimeToken: runtimeToken() }, { timeoutMs: FRESH_MS })
  } catch (error) {
    throw toRefusal(error, client.url)
  }
  if (access.accountId !== accountId)
    throw fault('forbidden', { message: 'The credential belongs to another account than the GitOps runtime.' })
  const { user, rights, isReadOnly } = access
  return { userId: user.id, userName: user.name, rights: new Set(rights), isReadOnly }
}

/** Only the control plane decides that a caller is refused. Everything else means that it did not answer. */
function toRefusal(error: unknown, url: string): unknown {
  if (!isFault(error)) return error
  const { message, hint } = error
  switch (error.code) {
    case 'unauthenticated':
      return fault('unauthenticated', { message: 'The control plane does not accept the token.', hint })
    case 'forbidden':
    case 'scope-missing':
      return error
    case 'runtime-token-invalid':
      return fault('control-plane-refused', { message }, error)
    case 'not-found':
    case 'not-supported':
    case 'request-invalid':
      return fault(
        'control-plane-refused',
        {
          message: `The server at ${url} does not know the question for the rights of a caller.`,
          hint: 'Upgrade the server before the GitOps runtimes.',
        },
        error,
      )
    default:
      return fault('control-plane-unreachable', { message: `The control plane does not answer. ${message}` }, error)
  }
}
