/** A real OpenID Connect provider on a free port, and a browser that signs in at it. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

const CLIENT_SECRET = 'secret-of-the-client'

export interface TestProvider extends AsyncDisposable {
  readonly issuer: string
  readonly clientSecret: string
  /** Claims by subject. A test may change them between two sign-ins. */
  readonly accounts: Map<string, Record<string, unknown>>
  /** Accepts browsers that are sent back to this address. Calls before it are answered with 503. */
  accept(redirectUri: string): void
}

export async function startProvider(): Promise<TestProvider> {
  const accounts = new Map<string, Record<string, unknown>>()
  let callback: ReturnType<Provider['callback']> | undefined
  const http = createServer((request, response) => {
    if (callback === undefined) response.writeHead(503).end()
    else void callback(request, response)
  })
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  return {
    issuer,
    clientSecret: CLIENT_SECRET,
    accounts,
    accept(redirectUri) {
      const provider = new Provider(issuer, {
        clients: [{ client_id: 'windlass', client_secret: CLIENT_SECRET, redirect_uris: [redirectUri] }],
        claims: { openid: ['sub'], profile: ['name', 'preferred_username'], groups: ['groups'] },
        cookies: { keys: ['key-of-the-cookies'] },
        pkce: { required: () => true },
        findAccount: (_, id) => ({ accountId: id, claims: () => ({ ...accounts.get(id), sub: id }) }),
      })
      callback = provider.callback()
    },
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

export interface Page {
  readonly url: URL
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

export interface TestBrowser {
  /** Opens a page and follows redirects, as a person who follows a link. */
  open(url: string): Promise<Page>
  /** Opens the sign-in of a server, signs in at the provider as this subject and consents. Returns the page where that ends. */
  signIn(url: string, subject: string): Promise<Page>
  /** Returns the cookies for a URL in the form of the request header. */
  cookiesFor(url: string): string
  setCookie(url: string, name: string, value: string): void
}

const MAX_REDIRECTS = 20

export function openBrowser(): TestBrowser {
  const jars = new Map<string, Map<string, string>>()
  const jarOf = (url: string): Map<string, string> => {
    const { origin } = new URL(url)
    const jar = jars.get(origin) ?? new Map<string, string>()
    jars.set(origin, jar)
    return jar
  }
  const cookiesFor = (url: string): string => [...jarOf(url)].map(([name, value]) => `${name}=${value}`).join('; ')

  async function load(start: string, form?: Record<string, string>): Promise<Page> {
    let url = start
    let body = form === undefined ? null : new URLSearchParams(form)
    for (let n = 0; n < MAX_REDIRECTS; n += 1) {
      const method = body === null ? 'GET' : 'POST'
      const answer = await fetch(url, {
        method,
        body,
        redirect: 'manual',
        headers: { accept: 'text/html', cookie: cookiesFor(url) },
      })
      for (const line of answer.headers.getSetCookie()) {
        const [pair = ''] = line.split(';')
        const at = pair.indexOf('=')
        if (/max-age=0|expires=thu, 01 jan 1970/i.test(line)) jarOf(url).delete(pair.slice(0, at))
        else jarOf(url).set(pair.slice(0, at), pair.slice(at + 1))
      }
      const location = answer.headers.get('location')
      if (location === null)
        return { url: new URL(url), status: answer.status, text: await answer.text(), headers: answer.headers }
      await answer.body?.cancel()
      url = new URL(location, url).href
      body = null
    }
    throw new Error(`more than ${MAX_REDIRECTS} redirects from ${start}`)
  }

  return {
    open: load,
    async signIn(url, subject) {
      let page = await load(url)
      for (let n = 0; n < 3 && page.url.pathname.startsWith('/interaction/'); n += 1) {
        const prompt = /name="prompt" value="(\w+)"/.exec(page.text)?.[1] ?? ''
        page = await load(page.url.href, { prompt, login: subject, password: 'any' })
      }
      return page
    },
    cookiesFor,
    setCookie: (url, name, value) => void jarOf(url).set(name, value),
  }
}
