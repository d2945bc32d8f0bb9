/** The script of the page of shared builds, in a page that has only its elements. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'

const ASSETS = join(import.meta.dirname, 'public/assets')
const BUILD = {
  number: 7,
  pipeline: 'shop/api',
  branch: 'main',
  createdAt: 1_764_000_000_000,
  steps: [{ title: 'Test <b>', status: 'success' }],
}

interface Element {
  textContent: string
  children: readonly Element[]
  dataset: Record<string, string>
  append(...children: Element[]): void
  replaceChildren(...children: Element[]): void
  addEventListener(): void
}

function newElement(): Element {
  return {
    textContent: '',
    children: [],
    dataset: {},
    append(...children) {
      this.children = [...this.children, ...children]
    },
    replaceChildren(...children) {
      this.children = children
    },
    addEventListener: () => undefined,
  }
}

interface Shown {
  readonly calls: readonly unknown[]
  readonly element: (id: string) => Element
  /** Runs what the page has put off. */
  readonly later: () => Promise<void>
}

/** Opens the page at a server that returns these statuses, one for each read, and these parts of the log. */
async function openPage(hash: string, statuses: string[], parts: Uint8Array[]): Promise<Shown> {
  const elements = new Map<string, Element>()
  const querySelector = (selector: string): Element => {
    const element = elements.get(selector) ?? newElement()
    elements.set(selector, element)
    return element
  }
  const calls: unknown[] = []
  const later: (() => Promise<void>)[] = []
  const fetch = async (path: string, { headers }: RequestInit): Promise<Response> => {
    calls.push([path, headers])
    if (path.includes('/log')) return new Response(Buffer.from(parts.shift() ?? []))
    const status = statuses.shift()
    if (status === undefined) return Response.json({ detail: 'The link is not valid.' }, { status: 401 })
    return Response.json({ ...BUILD, status })
  }
  const script = readdirSync(ASSETS).find((name) => name.startsWith('shared-') && name.endsWith('.js')) ?? ''
  await runInNewContext(`(async () => {${readFileSync(join(ASSETS, script), 'utf8')}})()`, {
    document: { querySelector, createElement: newElement },
    location: { hash },
    fetch,
    URLSearchParams,
    TextDecoder,
    encodeURIComponent,
    setTimeout: (work: () => Promise<void>) => later.push(work),
  })
  return { calls, element: (id) => querySelector(`#${id}`), later: async () => later.shift()?.() }
}

test('follows a build until its end, and sends the secret of the link only in a header (P186)', async () => {
  const [first, second] = [Buffer.from('one \u00e4').subarray(0, 5), Buffer.from('one \u00e4\n').subarray(5)]
  const page = await openPage('#build=b1&link=secret', ['running', 'success'], [first, second])
  const headers = { 'x-windlass-link': 'secret' }
  expect(page.calls).toEqual([
    ['/v1/shared/builds/b1', headers],
    ['/v1/shared/builds/b1/log?offset=0', headers],
  ])
  expect(page.element('message').textContent).toBe('Running')
  expect(page.element('title').textContent).toBe('shop/api #7')
  expect(page.element('facts').textContent).toMatch(/^main · created 24 Nov 2025/)
  await page.later()
  expect(page.calls.at(-1)).toEqual(['/v1/shared/builds/b1/log?offset=5', headers])
  expect(page.element('log').textContent).toBe('one \u00e4\n')
  const rows = page.element('steps').children.map(({ children }) => children.map(({ textContent }) => textContent))
  expect(rows).toEqual([['Test <b>', 'Succeeded']])
  expect(page.element('message').dataset).toEqual({ status: 'success' })
  await page.later()
  expect(page.calls).toHaveLength(4)
})

test('sends no header without a link, and shows why a link is refused', async () => {
  const page = await openPage('#build=b1', [], [])
  expect(page.calls).toEqual([['/v1/shared/builds/b1', {}]])
  expect(page.element('message').textContent).toBe('The link is not valid.')
})
