/** Checks a Git context over HTTP: the API of its forge names the user of the login, and a plain Git server answers for its repository. */
import { parseJson } from '@windlass/kit'
import { basicAuth, FORGE_ENDPOINTS, type CheckedTarget, type Forge, type ForgeLogin } from '@windlass/protocol'
import { isBusy, type DialAnswer, type Dialer } from './dial.ts'
import { CheckFailure, type Reached } from './outcome.ts'

type GitTarget = Extract<CheckedTarget, { type: 'git' }>

const PUBLIC_FORGES: Readonly<Record<string, Forge>> = {
  'github.com': 'github',
  'gitlab.com': 'gitlab',
  'bitbucket.org': 'bitbucket',
  'dev.azure.com': 'azure',
}
/** Forges that users host themselves, in the order in which they are tried. */
const HOSTED_FORGES: readonly Forge[] = ['gitea', 'gitlab', 'github', 'bitbucket-server']
/** Forges whose API also takes a user name with a password. */
const TAKES_PASSWORDS: readonly Forge[] = ['gitea', 'bitbucket-server']

const NO_USERNAME =
  'Clones send no login, because the context has no username. Set the name of the user, or for a token the name that the forge documents.'
const CHECK_TOKEN = 'Check the password or token of the context, and whether it has expired or was revoked.'

/** Throws `CheckFailure`. */
export async function checkGit(target: GitTarget, url: URL, dialer: Dialer): Promise<Reached> {
  const { password, username } = target
  if (password === undefined) return checkWithoutLogin(url, dialer)
  const login = { username, password }
  const known = target.forge ?? PUBLIC_FORGES[url.hostname]
  const asked: Asked[] = []
  for (const forge of known === undefined ? HOSTED_FORGES : [known]) {
    const answer = await askForge(forge, { url, login, dialer })
    if (answer.state === 'user') return reachedAs(url, { name: answer.name, username, hint: answer.hint })
    asked.push(answer)
  }
  const states = asked.map(({ state }) => state)
  // A gateway may refuse every path in this way.
  if (states.filter((state) => state === 'limited').length === 1)
    return {
      message: `${url.host} accepts the login.`,
      host: url.host,
      hint: 'The token may not read the name of its user (403), so only builds show whether its other rights are enough.',
    }
  const isRefused = states.includes('refused')
  if (known !== undefined && isRefused) throw refused(url)
  if (known !== undefined && states.includes('busy')) throw busy(url)
  return checkClone(url, { login, dialer, isRefused })
}

interface Named {
  readonly name: string
  readonly username: string | undefined
  readonly hint: string | undefined
}

function reachedAs({ host }: URL, { name, username, hint }: Named): Reached {
  const note = username === undefined ? NO_USERNAME : hint
  return { message: `${host} takes the login for ${name}.`, host, identity: name, ...(note !== undefined && { hint: note }) }
}

interface Call {
  readonly url: URL
  readonly login: ForgeLogin
  readonly dialer: Dialer
}

type Asked =
  | { readonly state: 'user'; readonly name: string; readonly hint: string | undefined }
  /** `limited`: the login is accepted, but may not read its user. `other`: not the API of this forge. */
  | { readonly state: 'refused' | 'limited' | 'busy' | 'other' }

/** Asks the API of a forge for the user of the login. */
async function askForge(forge: Forge, { url, login, dialer }: Call): Promise<Asked> {
  const endpoint = FORGE_ENDPOINTS[forge]
  const place = { origin: url.origin, host: url.hostname, path: url.pathname.replace(/^\/+|\/+$/g, '') }
  const api = new URL(endpoint.baseOf(place) + endpoint.userPath)
  dialer.admit(api)
  const ask = async (headers: Readonly<Record<string, string>>): Promise<Asked> => {
    const answer = await dialer.call({ url: api, headers })
    const name = answer.status === 200 ? endpoint.userOf({ body: parseJson(answer.text), headers: answer.headers }) : undefined
    return name === undefined ? { state: stateOf(answer) } : { state: 'user', name, hint: undefined }
  }
  const asked = await ask(endpoint.headersOf(login))
  if (asked.state !== 'refused' || login.username === undefined || !TAKES_PASSWORDS.includes(forge)) return asked
  const byPassword = await ask({ authorization: basicAuth(login.username, login.password) })
  if (byPassword.state !== 'user') return asked
  const hint = 'It is a password, which clones accept. Commit statuses and lists of changed files need an access token.'
  return { ...byPassword, hint }
}

function stateOf(answer: DialAnswer): Exclude<Asked['state'], 'user'> {
  const { status, headers } = answer
  // Azure DevOps answers a call without a valid token with its sign-in page.
  if (status === 401 || status === 203) return 'refused'
  if (isBusy(answer)) return 'busy'
  return status === 403 && /json/.test(String(headers['content-type'])) ? 'limited' : 'other'
}

/**
 * Checks a server without the API of a known forge: its repository, if the URL is that of one, or whether it asks for a login. `isRefused`: it refused
 * tokens for some API, which a plain Git server does for every path.
 */
async function checkClone(
  url: URL,
  { login, dialer, isRefused }: Omit<Call, 'url'> & { readonly isRefused: boolean },
): Promise<Reached> {
  const { host } = url
  const { username, password } = login
  // Clones send a login only if it has both parts.
  const headers = username === undefined ? {} : { authorization: basicAuth(username, password) }
  const refs = new URL(`${url.origin}${url.pathname.replace(/\/+$/, '')}/info/refs?service=git-upload-pack`)
  const answer = await dialer.call({ url: refs, headers })
  const isRepository = String(answer.headers['content-type']).startsWith('application/x-git-')
  const hint = username === undefined ? { hint: NO_USERNAME } : {}
  if (answer.status === 200 && isRepository) return { message: `${host} lets the login clone ${url.pathname}.`, host, ...hint }
  if (answer.status === 401) throw refused(url)
  if (answer.status === 403)
    throw new CheckFailure('forbidden', `${host} does not let the login read ${url.pathname}.`, { host, hint: CHECK_TOKEN })
  if (isBusy(answer)) throw busy(url)
  const without = await dialer.call({ url: refs })
  if (without.status === 401 && username !== undefined) return { message: `${host} accepts the login.`, host }
  if (isRefused) throw refused(url)
  if (answer.status >= 300 && answer.status < 400) throw redirected(url)
  throw new CheckFailure(
    'unexpected-answer',
    `${host} answers, but neither with the API of a known forge nor for a repository.`,
    {
      host,
      hint: 'Check the url of the context: that of the forge, or of a repository of a plain Git server. Such a server does not say whether a login is right.',
    },
  )
}

async function checkWithoutLogin(url: URL, dialer: Dialer): Promise<Reached> {
  const { host } = url
  const answer = await dialer.call({ url })
  if (isBusy(answer)) throw busy(url)
  if (answer.status === 401)
    throw new CheckFailure('unauthorized', `${host} asks for a login, and the context has none.`, {
      host,
      hint: 'Set username and password. The password can be an access token.',
    })
  return {
    message: `${host} answers.`,
    host,
    hint: 'The context has no password or token, so builds can read public repositories only.',
  }
}

function refused({ host }: URL): CheckFailure {
  return new CheckFailure('unauthorized', `${host} refuses the login.`, { host, hint: CHECK_TOKEN })
}

function busy({ host }: URL): CheckFailure {
  return new CheckFailure('busy', `${host} is overloaded, down, or limits the number of calls.`, {
    host,
    hint: 'Check again in a few minutes.',
  })
}

function redirected({ host }: URL): CheckFailure {
  return new CheckFailure('redirected', `${host} redirects to another address, where the check does not send the login.`, {
    host,
    hint: 'Set the url of the context to the address that the forge itself shows, usually with https.',
  })
}
