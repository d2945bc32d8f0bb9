/** Checks a Git context over SSH: the host answers as an SSH server. Agents have no SSH client, so the key is not tried. */
import net from 'node:net'
import { guardedLookup, hostOf, withoutBrackets } from '@windlass/kit'
import { isBlocked } from '@windlass/kit/addresses'
import { toFailure } from './dial.ts'
import { CheckFailure, type Reached } from './outcome.ts'

export interface SshPlace {
  readonly host: string
  readonly port: number
}

const SCP_FORM = /^(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::.*)?$/
const TIMEOUT_MS = 10_000
/** Longest first line of a server (RFC 4253 section 4.2), and some lines before it. */
const MAX_BYTES = 4_096

/** Returns the place of `ssh://user@host:port/path` and `user@host:path`. Undefined for other texts. */
export function readSshPlace(text: string): SshPlace | undefined {
  if (text.includes('://')) {
    const url = URL.parse(text)
    if (url?.protocol !== 'ssh:' || url.hostname === '') return undefined
    return { host: hostOf(url), port: url.port === '' ? 22 : Number(url.port) }
  }
  const host = SCP_FORM.exec(text)?.[1]
  return host === undefined ? undefined : { host: withoutBrackets(host), port: 22 }
}

export interface SshCheck {
  readonly place: SshPlace
  readonly hasSshKey: boolean
  readonly hasKnownHosts: boolean
  readonly mayUseLoopback: boolean
  readonly signal: AbortSignal
}

/** Throws `CheckFailure`. */
export async function checkSsh({ place, hasSshKey, hasKnownHosts, mayUseLoopback, signal }: SshCheck): Promise<Reached> {
  const host = `${place.host}:${place.port}`
  const missing = !hasSshKey ? 'sshPrivateKey' : !hasKnownHosts ? 'sshKnownHosts' : undefined
  if (missing !== undefined)
    throw new CheckFailure('value-invalid', `The context has no ${missing}, so builds cannot clone from ${host}.`, {
      host,
      hint:
        missing === 'sshPrivateKey'
          ? 'Add the private key.'
          : `Add the output of \`ssh-keyscan ${place.host}\` after you have compared it.`,
    })
  const line = await readGreeting(place, { mayUseLoopback, signal })
  if (!line.startsWith('SSH-'))
    throw new CheckFailure('unexpected-answer', `${host} answers, but not as an SSH server.`, { host, hint: 'Check the port.' })
  return {
    message: `${host} answers as an SSH server.`,
    host,
    hint: 'The private key was not tried, because agents have no SSH client. The first clone of a build shows whether it is accepted.',
  }
}

async function readGreeting(
  { host, port }: SshPlace,
  { mayUseLoopback, signal }: Pick<SshCheck, 'mayUseLoopback' | 'signal'>,
): Promise<string> {
  const url = new URL(`ssh://${host.includes(':') ? `[${host}]` : host}:${port}`)
  if (net.isIP(host) !== 0 && isBlocked(host, mayUseLoopback))
    throw new CheckFailure('address-blocked', `The agent does not connect to the address of ${url.host}.`, { host: url.host })
  const until = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  const socket = net.connect({
    host,
    port,
    lookup: guardedLookup((address) => isBlocked(address, mayUseLoopback)),
    signal: until,
  })
  try {
    let text = ''
    for await (const part of socket as AsyncIterable<Buffer>) {
      text += part.toString('latin1')
      const line = /^(SSH-[^\r\n]*)[\r\n]/m.exec(text)?.[1]
      if (line !== undefined) return line
      if (text.length > MAX_BYTES) break
    }
    return text
  } catch (error) {
    signal.throwIfAborted()
    const late = Object.assign(new Error(`no answer within ${TIMEOUT_MS} ms`), { code: 'ETIMEDOUT' })
    throw toFailure(until.aborted ? late : error, url)
  } finally {
    socket.destroy()
  }
}
