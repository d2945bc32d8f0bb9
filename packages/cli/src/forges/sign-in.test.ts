/** A sign-in with an OAuth app, against a small fake of a forge whose browser is `fetch`. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { AppForge, Tokens } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { browserProgram } from './browser.ts'
import { signIn } from './sign-in.ts'

interface Call {
  readonly path: string
  readonly authorization: string | undefined
  readonly form: Record<string, string>
}

interface Forge extends AsyncDisposable {
  readonly url: string
  readonly calls: Call[]
  answer: { status: number; body: object }
}

const TOKENS = { access_token: 'access', token_type: 'bearer', expires_in: 3600, refresh_token: 'refresh' }

async function openForge(): Promise<Forge> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const form = Object.fromEntries(new URLSearchParams(body))
      forge.calls.push({ path: request.url ?? '', authorization: request.headers.authorization, form })
      response.writeHead(forge.answer.status).end(JSON.stringify(forge.answer.body))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const forge: Forge = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    answer: { status: 200, body: TOKENS },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return forge
}

interface Started {
  readonly tokens: Promise<Tokens>
  /** The page of the forge that the user opens. */
  readonly page: URL
  readonly input: PassThrough
  readonly notes: string[]
}

async function start({ url }: Forge, app: { forge?: AppForge; secret?: string } = {}): Promise<Started> {
  const notes: string[] = []
  const input = new PassThrough()
  const out = { note: (line = '') => void notes.push(line) }
  const { forge = 'gitea', secret } = app
  const tokens = signIn({ forge, url, id: 'app-id', secret }, { browserOf: undefined, port: 0, input, out })
  tokens.catch(() => undefined)
  await expect.poll(() => notes.length).toBe(4)
  return { tokens, page: new URL(notes[1] ?? ''), input, notes }
}

/** Returns the address to which the forge sends the browser. */
function answerOf({ searchParams: query }: URL, more: Record<string, string>): string {
  return `${query.get('redirect_uri')}?${new URLSearchParams({ state: query.get('state') ?? '', ...more }).toString()}`
}

test('exchanges the code of the browser for tokens, with the verifier of its challenge', async () => {
  await using forge = await openForge()
  const { tokens, page, notes } = await start(forge, { secret: 'app-secret' })
  expect(page.pathname).toBe('/login/oauth/authorize')
  expect(Object.fromEntries(page.searchParams)).toMatchObject({
    response_type: 'code',
    client_id: 'app-id',
    code_challenge_method: 'S256',
    scope: 'write:repository',
  })
  const redirect = page.searchParams.get('redirect_uri')
  expect(redirect).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/)
  expect(notes[2]).toBe(`Waiting 10 minutes until the browser returns to ${redirect}.`)
  const stranger = await fetch(answerOf(page, { state: 'another', code: 'stolen' }))
  expect(stranger.status).toBe(404)
  const answer = await fetch(answerOf(page, { code: 'the-code' }))
  expect(await answer.text()).toContain('You can close this page.')
  expect(await tokens).toEqual({ accessToken: 'access', refreshToken: 'refresh', expiresIn: 3600 })
  const [{ path, form } = { path: '', form: {} as Record<string, string> }, ...others] = forge.calls
  expect(others).toEqual([])
  expect(path).toBe('/login/oauth/access_token')
  expect(form).toMatchObject({
    grant_type: 'authorization_code',
    code: 'the-code',
    redirect_uri: redirect,
    client_id: 'app-id',
    client_secret: 'app-secret',
  })
  const verifier = form['code_verifier'] ?? ''
  expect(createHash('sha256').update(verifier).digest('base64url')).toBe(page.searchParams.get('code_challenge'))
  expect(notes.join('\n')).not.toContain(verifier)
})

test('takes the address that the user pastes, and no other line', async () => {
  await using forge = await openForge()
  const { tokens, page, input, notes } = await start(forge)
  input.write(`hello\n${answerOf(page, { state: 'another', code: 'stolen' })}\n`)
  await expect.poll(() => notes.filter((line) => line.startsWith('This is not the address'))).toHaveLength(2)
  input.write(`${answerOf(page, { code: 'pasted' })}\n`)
  expect(await tokens).toMatchObject({ accessToken: 'access' })
  expect(forge.calls.map(({ form }) => form['code'])).toEqual(['pasted'])
  expect(forge.calls[0]?.form).not.toHaveProperty('client_secret')
})

test('waits for the browser after the end of standard input', async () => {
  await using forge = await openForge()
  const { tokens, page, input } = await start(forge)
  input.end()
  await once(input, 'end')
  await fetch(answerOf(page, { code: 'late' }))
  expect(await tokens).toMatchObject({ accessToken: 'access' })
})

test('says why the forge refused the user or the app', async () => {
  await using forge = await openForge()
  const denied = await start(forge)
  await fetch(answerOf(denied.page, { error: 'access_denied' }))
  await expect(denied.tokens).rejects.toMatchObject({
    code: 'forge-refused',
    message: expect.stringContaining('(access_denied)'),
  })
  expect(forge.calls).toEqual([])
  // GitHub reports errors with 200.
  forge.answer = { status: 200, body: { error: 'bad_verification_code' } }
  const refused = await start(forge, { forge: 'github' })
  await fetch(answerOf(refused.page, { code: 'old' }))
  await expect(refused.tokens).rejects.toThrow(/returned no token: bad_verification_code\.$/)
})

test.each([
  { forge: 'github', authorize: '/login/oauth/authorize', token: '/login/oauth/access_token', scope: 'repo admin:repo_hook' },
  { forge: 'gitlab', authorize: '/oauth/authorize', token: '/oauth/token', scope: 'api' },
  { forge: 'bitbucket', authorize: '/site/oauth2/authorize', token: '/site/oauth2/access_token', scope: null },
] as const)('signs in at the addresses of $forge', async ({ forge: name, authorize, token, scope }) => {
  await using forge = await openForge()
  const { tokens, page } = await start(forge, { forge: name, secret: 'app-secret' })
  expect([page.pathname, page.searchParams.get('scope')]).toEqual([authorize, scope])
  await fetch(answerOf(page, { code: 'the-code' }))
  await tokens
  const basic = `Basic ${Buffer.from('app-id:app-secret').toString('base64')}`
  expect(forge.calls).toMatchObject([{ path: token, authorization: name === 'bitbucket' ? basic : undefined }])
})

test('opens a browser only on a machine whose screen the user sees', () => {
  expect(browserProgram('linux', {})).toBeUndefined()
  expect(browserProgram('linux', { DISPLAY: ':0' })).toEqual(['xdg-open'])
  expect(browserProgram('darwin', {})).toEqual(['open'])
  expect(browserProgram('darwin', { SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' })).toBeUndefined()
})
