/**
 * A sign-in at a forge with an OAuth app: authorization code with PKCE (RFC 6749, RFC 7636), and a loopback address to which the browser returns
 * (RFC 8252). On a machine without a browser the user pastes that address.
 */
import { createHash, randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import { nodeTransport, orFault, readText } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { parseJson } from '@windlass/kit/json'
import { readRefusal, readTokens, signInPage, tokenCall, type OauthApp, type Tokens } from '@windlass/protocol'
import type { Printer } from '../printer.ts'
import { openBrowser, type Environment } from './browser.ts'
import { listenForCallback } from './callback.ts'

/** Time in which the user must sign in. Milliseconds. */
const SIGN_IN_MS = 600_000
const CALL_MS = 30_000
const MAX_ANSWER_BYTES = 1_048_576
/** Longest address that is read from standard input. Characters. */
const MAX_ADDRESS = 16_384

export interface SignIn {
  /** Environment of the user whose browser is opened; undefined opens none. */
  readonly browserOf: Environment | undefined
  /** Port of the loopback address; 0 for a free one. */
  readonly port: number
  /** Where the user pastes an address: standard input. */
  readonly input: NodeJS.ReadableStream
  readonly out: Pick<Printer, 'note'>
}

/** Returns the tokens of the user who signs in. Throws `wait-timeout`, `forge-refused`, `forge-unreachable`, and `usage` for a port in use. */
export async function signIn(app: OauthApp, { browserOf, port, input, out }: SignIn): Promise<Tokens> {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  await using callback = await listenForCallback({ port, state })
  const { redirectUri } = callback
  const page = signInPage(app, { redirectUri, state, challenge })
  const { host } = new URL(app.url)
  out.note(`Open this address in a browser, and sign in at ${host}:`)
  out.note(page)
  if (browserOf !== undefined) openBrowser(page, browserOf)
  out.note(`Waiting ${SIGN_IN_MS / 60_000} minutes until the browser returns to ${redirectUri}.`)
  out.note('If the browser is on another machine, paste the address that it was sent to here.')
  const code = await firstCode({ callback: callback.answer, input, state, host, out })
  const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier } as const
  return exchange(app, grant, host)
}

interface Waiting {
  /** Resolves with the query of the browser. */
  readonly callback: Promise<URLSearchParams>
  readonly input: NodeJS.ReadableStream
  readonly state: string
  readonly host: string
  readonly out: Pick<Printer, 'note'>
}

/** Returns the code of the first answer: that of the browser, or one that the user pastes. */
async function firstCode({ callback, input, state, host, out }: Waiting): Promise<string> {
  const lines = createInterface({ input })
  const pasted = Promise.withResolvers<URLSearchParams>()
  lines.on('line', (line) => {
    if (line.trim() === '') return
    const query = line.length > MAX_ADDRESS ? undefined : URL.parse(line.trim())?.searchParams
    if (query?.get('state') === state) pasted.resolve(query)
    else out.note('This is not the address of this sign-in. Paste the complete address of the browser, with "code" and "state".')
  })
  const tooLate = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => tooLate.reject(fault('wait-timeout', { message: `No sign-in at ${host} within ${SIGN_IN_MS / 60_000} minutes.` })),
    SIGN_IN_MS,
  )
  try {
    return codeOf(await Promise.race([callback, pasted.promise, tooLate.promise]), host)
  } finally {
    clearTimeout(timer)
    lines.close()
  }
}

function codeOf(query: URLSearchParams, host: string): string {
  const code = query.get('code')
  if (code !== null && code !== '') return code
  const why = readRefusal({ error: query.get('error') }) ?? 'no code'
  throw fault('forge-refused', {
    message: `The forge at ${host} refused the sign-in (${why}).`,
    hint: 'Check the client ID, the redirect address and the scopes of the OAuth app, and allow the access.',
  })
}

async function exchange(app: OauthApp, grant: Parameters<typeof tokenCall>[1], host: string): Promise<Tokens> {
  const { url, headers, body } = tokenCall(app, grant)
  const send = nodeTransport({ connectMs: 10_000 })
  const { status, text } = await orFault(
    async () => {
      const response = await send({ method: 'POST', url, headers, body, timeoutMs: CALL_MS })
      const tooLarge = (): Error => fault('forge-refused', { message: `The answer of ${host} is larger than 1 MiB.` })
      return { status: response.status, text: await readText(response.body, MAX_ANSWER_BYTES, tooLarge) }
    },
    {
      signal: undefined,
      toFault: (why, cause) => fault('forge-unreachable', { message: `The forge at ${host} cannot be reached: ${why}.` }, cause),
    },
  )
  const json = parseJson(text)
  const tokens = status >= 200 && status < 300 ? readTokens(json) : undefined
  if (tokens !== undefined) return tokens
  throw fault('forge-refused', {
    message: `The forge at ${host} returned no token: ${readRefusal(json) ?? `it answered ${status}`}.`,
    hint: 'Check the client ID, the client secret (--oauth-secret-file) and the redirect address of the OAuth app.',
  })
}
