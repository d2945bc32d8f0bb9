/** Checks the login of a registry as `docker login` does: it asks the registry where it takes logins, gets a token there, and uses it. */
import { hostOf, parseJson } from '@windlass/kit'
import { isLoopbackAddress } from '@windlass/kit/addresses'
import { isRecord } from '@windlass/kit/json'
import { basicAuth, readChallenge, sharesDomain, type Challenge, type CheckedTarget } from '@windlass/protocol'
import { isBusy, type DialAnswer, type Dialer } from './dial.ts'
import { CheckFailure, type Reached } from './outcome.ts'

type RegistryTarget = Extract<CheckedTarget, { type: 'registry' }>

export interface RegistryCheck {
  readonly target: RegistryTarget
  /** From `registryHost`. */
  readonly host: string
  readonly dialer: Dialer
  /** Returns the registries that the Docker daemons of the runtime use without TLS or with any certificate. */
  readonly readInsecure: () => Promise<readonly string[]>
}

const CHECK_LOGIN = 'Check username and password of the context, and whether the token has expired or was revoked.'

/** Throws `CheckFailure`. */
export async function checkRegistry({ target, host, dialer, readInsecure }: RegistryCheck): Promise<Reached> {
  const { username, password } = target
  const { url, isInsecure, answer } = await findRegistry(host, { dialer, readInsecure })
  const login = username === undefined || password === undefined ? undefined : { username, password }
  if (answer.status === 200)
    return {
      message: `${host} answers.`,
      host,
      hint: login && 'It asks for no login, so the login of the context was not tested.',
    }
  if (answer.status !== 401) throw unexpected(host, answer)
  if (login === undefined)
    throw new CheckFailure('unauthorized', `${host} asks for a login, and the context has none.`, {
      host,
      hint: 'Set username and password.',
    })
  const challenge = readChallenge(answer.headers['www-authenticate'])
  const basic = basicAuth(login.username, login.password)
  const call = { basic, username: login.username, isInsecure, dialer }
  const authorization = challenge === undefined ? basic : `Bearer ${await getToken(url, challenge, call)}`
  const after = await dialer.call({ url, headers: { authorization }, isInsecure })
  if (after.status === 200) return { message: `${host} accepts the login of ${login.username}.`, host, identity: login.username }
  if (after.status === 401 || after.status === 403) throw refused(host, after)
  throw unexpected(host, after)
}

interface Found {
  readonly url: URL
  /** The registry is used with any certificate. */
  readonly isInsecure: boolean
  readonly answer: DialAnswer
}

/** Calls the registry without a login: with TLS, and without for the registries that the daemons use so. */
async function findRegistry(
  host: string,
  { dialer, readInsecure }: Pick<RegistryCheck, 'dialer' | 'readInsecure'>,
): Promise<Found> {
  const secure = new URL(`https://${host}/v2/`)
  const plain = new URL(`http://${host}/v2/`)
  try {
    return { url: secure, isInsecure: false, answer: await dialer.call({ url: secure }) }
  } catch (error) {
    if (!(error instanceof CheckFailure) || error.reason !== 'tls') throw error
    const isLocal = plain.hostname === 'localhost' || isLoopbackAddress(hostOf(plain))
    if (!isLocal && !(await readInsecure()).includes(host)) {
      // A server with TLS answers plain HTTP with another status.
      const isPlain = await dialer.call({ url: plain }).then(
        ({ status }) => status === 200 || status === 401,
        () => false,
      )
      throw isPlain ? withoutTls(host) : error
    }
    // Docker uses such a registry with any certificate, and without TLS.
    const answer = await dialer.call({ url: secure, isInsecure: true }).catch(() => undefined)
    if (answer !== undefined) return { url: secure, isInsecure: true, answer }
    return { url: plain, isInsecure: false, answer: await dialer.call({ url: plain }) }
  }
}

function withoutTls(host: string): CheckFailure {
  return new CheckFailure('plain-http', `${host} answers without TLS, so the check did not send the login.`, {
    host,
    hint: 'Give the registry a certificate, or add it to `insecure-registries` of the Docker daemons.',
  })
}

interface TokenCall {
  readonly basic: string
  readonly username: string
  readonly isInsecure: boolean
  readonly dialer: Dialer
}

async function getToken(
  registry: URL,
  { realm, service }: Challenge,
  { basic, username, isInsecure, dialer }: TokenCall,
): Promise<string> {
  const url = URL.parse(realm)
  if (url === null || !sharesDomain(url, registry) || (url.protocol !== 'https:' && url.protocol !== registry.protocol))
    throw new CheckFailure(
      'foreign-host',
      `${registry.host} wants the login at ${url?.host ?? 'an address that is not a URL'}, which is not a host of the context, so the check did not send it.`,
      {
        host: registry.host,
        hint: 'Docker would send it there. Check that the domain of the context is the registry that you mean.',
      },
    )
  url.searchParams.set('account', username)
  url.searchParams.set('client_id', 'windlass')
  if (service !== undefined) url.searchParams.set('service', service)
  dialer.admit(url)
  const answer = await dialer.call({
    url,
    headers: { authorization: basic },
    isInsecure: isInsecure && url.host === registry.host,
  })
  if (answer.status === 401 || answer.status === 403) throw refused(registry.host, answer)
  const body = answer.status === 200 ? parseJson(answer.text) : undefined
  const token = isRecord(body) ? (body['token'] ?? body['access_token']) : undefined
  if (typeof token !== 'string') throw unexpected(url.host, answer)
  return token
}

function refused(host: string, { status }: DialAnswer): CheckFailure {
  return new CheckFailure('unauthorized', `${host} refuses the login (${status}).`, { host, hint: CHECK_LOGIN })
}

function unexpected(host: string, answer: DialAnswer): CheckFailure {
  const { status } = answer
  if (isBusy(answer))
    return new CheckFailure('busy', `${host} answered ${status}.`, { host, hint: 'Check again in a few minutes.' })
  return new CheckFailure('unexpected-answer', `${host} answers, but not as a registry (${status}).`, {
    host,
    hint: 'Check the domain of the context: the host of the registry with its port, without a path.',
  })
}
