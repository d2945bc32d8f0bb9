/** A forge with the token of one user. */
import {
  FORGE_APIS,
  FORGE_BROWSERS,
  urlOf,
  type ForgeBrowser,
  type ForgePage,
  type ForgeUser,
  type HookCall,
  type Single,
} from '@windlass/forges'
import { fault, parseJson } from '@windlass/kit'
import type { Integration } from '../store/integrations.ts'
import type { ForgeAnswer, ForgeCaller, Refused } from './call-forge.ts'

/** Maximum bytes of a page of a list. */
const MAX_PAGE_BYTES = 4_194_304

export interface ForgeLogin {
  readonly token: string
  readonly username?: string | undefined
}

export interface ForgeSession {
  readonly integration: Integration
  readonly browser: ForgeBrowser
  /** Base URL of the API. */
  readonly base: string
  /** Reads an answer that is JSON. Throws like `ForgeCaller.call`, and `request-invalid` for a path that would leave the API. */
  page(url: URL): Promise<ForgePage>
  bytes(url: URL, maxBytes: number): Promise<ForgeAnswer>
  /** Reads one thing. Throws `not-found` if the answer is not such a thing. */
  one<T>(single: Single<T>): Promise<T>
  /** Creates something. Throws like `ForgeCaller.call`. */
  post(path: string, body: object): Promise<ForgePage>
  /** Makes a change whose answer does not matter. Throws like `ForgeCaller.call`. */
  change(call: HookCall, isDone?: (answer: Refused) => boolean): Promise<void>
  /** Returns the URL of a path of the API. Throws `request-invalid`. */
  at(path: string): URL
}

export interface ForgeSessionOptions {
  readonly caller: ForgeCaller
  readonly integration: Integration
  readonly login: ForgeLogin
  readonly signal: AbortSignal
}

export function openForgeSession({ caller, integration, login, signal }: ForgeSessionOptions): ForgeSession {
  const api = FORGE_APIS[integration.provider]
  const place = new URL(integration.url)
  const base = api.baseOf({ origin: place.origin, host: place.hostname, path: place.pathname.replace(/^\/+|\/+$/g, '') })
  const headers = api.headersOf({ username: login.username, password: login.token })

  async function page(url: URL, sent?: object): Promise<ForgePage> {
    const content = sent === undefined ? {} : { body: JSON.stringify(sent) }
    const answer = await caller.call({ url, headers, maxBytes: MAX_PAGE_BYTES, signal, ...content })
    const body = parseJson(answer.bytes.toString('utf8'))
    if (body === undefined)
      throw fault('forge-refused', {
        message: `The answer of ${url.hostname} is not JSON.`,
        hint: 'Check the URL of the integration.',
      })
    return { url, body, headers: answer.headers }
  }

  function at(path: string): URL {
    const url = urlOf(base, path)
    if (url !== undefined) return url
    throw fault('request-invalid', { message: 'A name or path in the request cannot be part of a URL.' })
  }

  return {
    integration,
    browser: FORGE_BROWSERS[integration.provider],
    base,
    page: (url) => page(url),
    post: (path, body) => page(at(path), body),
    async change({ method, path, body }, isDone) {
      const content = body === undefined ? {} : { body: JSON.stringify(body) }
      await caller.call({ url: at(path), method, headers, maxBytes: MAX_PAGE_BYTES, signal, isDone, ...content })
    },
    at,
    bytes: (url, maxBytes) => caller.call({ url, headers: { ...headers, accept: '*/*' }, maxBytes, signal }),
    async one({ path, read }) {
      const found = read(await page(at(path)))
      if (found === undefined) throw fault('not-found', { message: `${place.hostname} does not have this.` })
      return found
    },
  }
}

/** Returns the user of a token. Throws `git-token-refused`. */
export async function findForgeUser(session: ForgeSession): Promise<ForgeUser> {
  const { browser, integration } = session
  const found = browser.user.read(await session.page(session.at(browser.user.path)))
  if (found !== undefined) return found
  throw fault('git-token-refused', { message: `${new URL(integration.url).hostname} does not name a user for the Git token.` })
}
