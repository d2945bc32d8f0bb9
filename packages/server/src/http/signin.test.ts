/** The script of the sign-in page, in a page that has only its elements. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'

const ASSETS = join(import.meta.dirname, 'public/assets')
const MINE = { key: { name: 'mine', role: 'user' }, expiresAt: 0 }
const OTHER = { key: { name: 'other', role: 'viewer' }, expiresAt: 0 }

class PageElement {
  hidden = true
  textContent = ''
  value = ''
  readonly #listeners: ((event: object) => Promise<void>)[] = []

  addEventListener(_: string, listener: (event: object) => Promise<void>): void {
    this.#listeners.push(listener)
  }

  focus(): void {
    this.value = ''
  }

  async click(): Promise<void> {
    for (const listener of this.#listeners) await listener({})
  }
}

interface Page {
  readonly calls: string[]
  readonly message: () => string
  readonly accept: PageElement
  readonly form: PageElement
  readonly address: () => string
}

/** Opens the page at a server that answers with this session; undefined if the browser is not signed in. */
async function openPage(hash: string, session: object | undefined): Promise<Page> {
  const elements = new Map<string, PageElement>()
  const calls: string[] = []
  let address = `/signin${hash}`
  const querySelector = (selector: string): PageElement => {
    const element = elements.get(selector) ?? new PageElement()
    elements.set(selector, element)
    return element
  }
  const fetch = async (path: string, { method, body = '' }: { method: string; body?: string }): Promise<Response> => {
    calls.push(`${method} ${path} ${body}`.trim())
    if (method === 'POST') return Response.json(OTHER, { status: 201 })
    if (session === undefined) return Response.json({ detail: 'Sign in first.' }, { status: 401 })
    return method === 'DELETE' ? new Response(null, { status: 204 }) : Response.json(session)
  }
  const script = readdirSync(ASSETS).find((name) => /^signin-.*\.js$/.test(name)) ?? ''
  await runInNewContext(`(async () => {${readFileSync(join(ASSETS, script), 'utf8')}})()`, {
    document: { querySelector },
    location: { hash, pathname: '/signin' },
    history: { replaceState: (_: null, __: string, path: string) => void (address = path) },
    fetch,
    URLSearchParams,
  })
  const message = (): string => querySelector('#message').textContent
  return { calls, message, accept: querySelector('#accept-code'), form: querySelector('#sign-in'), address: () => address }
}

test('a link signs in only after a click', async () => {
  const page = await openPage('#code=abc', undefined)
  expect(page.calls).toEqual(['GET /v1/sessions/current'])
  expect([page.accept.hidden, page.form.hidden, page.address()]).toEqual([false, true, '/signin'])
  await page.accept.click()
  expect(page.calls.slice(1)).toEqual(['POST /v1/sessions {"code":"abc"}'])
  expect(page.message()).toContain('Signed in with the key other (viewer)')
  expect(page.accept.hidden).toBe(true)
})

test('a link names the key that is signed in, and ends its session before the new one starts', async () => {
  const page = await openPage('#code=abc', MINE)
  expect(page.calls).toEqual(['GET /v1/sessions/current'])
  expect(page.message()).toContain('Signed in with the key mine (user)')
  await page.accept.click()
  expect(page.calls.slice(1)).toEqual(['DELETE /v1/sessions/current', 'POST /v1/sessions {"code":"abc"}'])
})

test('without a link, the page shows the session or the form', async () => {
  expect((await openPage('', MINE)).message()).toContain('Signed in with the key mine (user) until')
  const page = await openPage('', undefined)
  expect([page.message(), page.form.hidden, page.accept.hidden]).toEqual(['Sign in to this server.', false, true])
})
