/** The scripts of the sign-in page and of the page that confirms logins, in pages that have only their elements. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import { expect, test, vi } from 'vitest'

const ASSETS = join(import.meta.dirname, 'public/assets')
const MINE = { key: { name: 'mine' }, role: 'developer', expiresAt: 0 }
const OTHER = { key: { name: 'other' }, user: { name: 'jo' }, role: 'viewer', expiresAt: 0 }
const MIRA = { user: { name: 'mira' }, role: 'developer', expiresAt: 0 }
const LOGIN = { userCode: 'BCDF-GHJK', client: 'windlass on host', address: '10.0.0.7' }

class PageElement {
  hidden = true
  textContent = ''
  value = ''
  isFocused = false
  readonly #listeners: ((event: object) => Promise<void>)[] = []

  addEventListener(_: string, listener: (event: object) => Promise<void>): void {
    this.#listeners.push(listener)
  }

  focus(): void {
    this.isFocused = true
  }

  async click(): Promise<void> {
    for (const listener of this.#listeners) await listener({ preventDefault: () => undefined })
  }
}

interface Page {
  readonly calls: string[]
  readonly message: () => string
  readonly accept: PageElement
  readonly form: PageElement
  /** Returns an element by its id. */
  readonly element: (id: string) => PageElement
  readonly address: () => string
}

interface Opened {
  /** The script and the address of the page. */
  readonly page?: 'signin' | 'device'
  /** Answer of every POST. */
  readonly answer?: object
  /** The provider of the server. */
  readonly oidc?: { readonly name: string }
}

/** Opens the page at a server that answers with this session; undefined if the browser is not signed in. */
async function openPage(
  hash: string,
  session: object | undefined,
  { page = 'signin', answer = OTHER, oidc }: Opened = {},
): Promise<Page> {
  const elements = new Map<string, PageElement>()
  const calls: string[] = []
  let address = `/${page}${hash}`
  const querySelector = (selector: string): PageElement => {
    const element = elements.get(selector) ?? new PageElement()
    elements.set(selector, element)
    return element
  }
  const fetch = async (path: string, { method, body = '' }: { method: string; body?: string }): Promise<Response> => {
    calls.push(`${method} ${path} ${body}`.trim())
    if (method === 'POST') return Response.json(answer, { status: 201 })
    if (path === '/v1/status') return Response.json(oidc === undefined ? {} : { oidc })
    if (path.startsWith('/v1/device-codes/')) return Response.json(LOGIN)
    if (session === undefined) return Response.json({ detail: 'Sign in first.' }, { status: 401 })
    return method === 'DELETE' ? new Response(null, { status: 204 }) : Response.json(session)
  }
  const script = readdirSync(ASSETS).find((name) => name.startsWith(`${page}-`) && name.endsWith('.js')) ?? ''
  await runInNewContext(`(async () => {${readFileSync(join(ASSETS, script), 'utf8')}})()`, {
    document: { querySelector },
    location: { hash, pathname: `/${page}` },
    history: { replaceState: (_: null, __: string, path: string) => void (address = path) },
    fetch,
    URLSearchParams,
    encodeURIComponent,
  })
  const message = (): string => querySelector('#message').textContent
  const element = (id: string): PageElement => querySelector(`#${id}`)
  return { calls, message, element, accept: element('accept-code'), form: element('forms'), address: () => address }
}

test('a link signs in only after a click', async () => {
  const page = await openPage('#code=abc', undefined)
  expect(page.calls).toEqual(['GET /v1/sessions/current'])
  expect([page.accept.hidden, page.form.hidden, page.address()]).toEqual([false, true, '/signin'])
  await page.accept.click()
  expect(page.calls.slice(1)).toEqual(['POST /v1/sessions {"code":"abc"}'])
  expect(page.message()).toContain('Signed in with the key other of jo (viewer)')
  expect(page.accept.hidden).toBe(true)
})

test('a link names the key that is signed in, and ends its session before the new one starts', async () => {
  const page = await openPage('#code=abc', MINE)
  expect(page.calls).toEqual(['GET /v1/sessions/current'])
  expect(page.message()).toContain('Signed in with the key mine (developer)')
  await page.accept.click()
  expect(page.calls.slice(1)).toEqual(['DELETE /v1/sessions/current', 'POST /v1/sessions {"code":"abc"}'])
})

test('without a link, the page shows the session or the form', async () => {
  expect((await openPage('', MINE)).message()).toContain('Signed in with the key mine (developer) until')
  const page = await openPage('', undefined)
  expect([page.message(), page.form.hidden, page.accept.hidden]).toEqual(['Sign in to this server.', false, true])
})

test('signs in with a name and password, and forgets the password after a failure', async () => {
  const page = await openPage('', undefined, { answer: MIRA })
  page.element('name').value = ' mira '
  page.element('password').value = 'secret words'
  await page.element('sign-in').click()
  expect(page.calls.slice(2)).toEqual(['POST /v1/sessions {"name":"mira","password":"secret words"}'])
  expect(page.message()).toContain('Signed in as mira (developer)')
  expect([page.form.hidden, page.element('sign-out').hidden]).toEqual([true, false])
})

test('an invitation sets a password that was typed twice, and the code leaves the address', async () => {
  const page = await openPage('#invitation=abc', undefined, { answer: MIRA })
  expect([page.calls, page.address(), page.element('set-password').hidden]).toEqual([[], '/signin', false])
  page.element('new-password').value = 'twelve letters'
  page.element('repeated-password').value = 'other letters'
  await page.element('set-password').click()
  expect([page.calls, page.message()]).toEqual([[], 'The two passwords differ.'])
  page.element('repeated-password').value = 'twelve letters'
  await page.element('set-password').click()
  expect(page.calls).toEqual(['POST /v1/invitations/accept {"code":"abc","password":"twelve letters"}'])
  expect(page.message()).toContain('Signed in as mira')
})

test('the page of logins shows what asks before the user decides, and sends no code of a link without a click', async () => {
  const page = await openPage('#code=BCDF-GHJK', MIRA, { page: 'device' })
  expect([page.calls, page.address()]).toEqual([['GET /v1/sessions/current'], '/device'])
  expect([page.element('code').value, page.element('decision').hidden]).toEqual(['BCDF-GHJK', true])
  await page.element('enter-code').click()
  expect(page.calls.slice(1)).toEqual(['GET /v1/device-codes/BCDF-GHJK'])
  expect(page.message()).toContain('windlass on host at the address 10.0.0.7 asks to act as mira')
  expect(page.element('decision').hidden).toBe(false)
  await page.element('deny').click()
  expect(page.calls.slice(2)).toEqual(['POST /v1/device-codes/BCDF-GHJK/deny'])
  expect([page.message(), page.element('decision').hidden]).toEqual(['Denied. The command line gets no key.', true])
})

test('the page of logins asks for a sign-in first', async () => {
  const page = await openPage('', undefined, { page: 'device', answer: MIRA })
  expect([page.element('sign-in').hidden, page.element('enter-code').hidden]).toEqual([false, true])
  page.element('name').value = 'mira'
  page.element('password').value = 'secret words'
  await page.element('sign-in').click()
  expect([page.element('sign-in').hidden, page.element('enter-code').hidden]).toEqual([true, false])
  page.element('code').value = 'BCDFGHJK'
  await page.element('enter-code').click()
  await page.element('approve').click()
  expect(page.calls.at(-1)).toBe('POST /v1/device-codes/BCDFGHJK/approve')
  expect(page.message()).toBe('Approved. Return to the command line.')
})

test.each(['signin', 'device'] as const)('the page %s offers the provider of the server, if it has one', async (page) => {
  const without = await openPage('', undefined, { page })
  await vi.waitFor(() => expect(without.calls).toContain('GET /v1/status'))
  await setImmediate()
  expect(without.element('provider').hidden).toBe(true)
  const opened = await openPage('', undefined, { page, oidc: { name: 'Acme' } })
  await vi.waitFor(() => expect(opened.element('provider').hidden).toBe(false))
  expect(opened.element('provider-name').textContent).toBe('Acme')
  expect(opened.calls).toEqual(['GET /v1/sessions/current', 'GET /v1/status'])
})
