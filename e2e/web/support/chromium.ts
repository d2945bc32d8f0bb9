/** Chromium of this machine, and pages of it that note what must not happen: breaches of the policy, errors, and calls of other servers. */
import { existsSync } from 'node:fs'
import { pathOf, ROUTES } from '@windlass/client'
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core'

/** How long something takes depends on who else uses the machine. Milliseconds. */
export const LONGEST_MS = 120_000
/** The shell without windows first: it draws the same pages with a third less processor time. */
const PATHS = [
  '/usr/lib/chromium/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Starts Chromium. Throws if it is not installed. */
export async function startChromium(): Promise<Browser> {
  const executablePath = PATHS.find((path) => existsSync(path))
  if (executablePath === undefined) throw new Error('Chromium is not installed; run scripts/setup browser')
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return chromium.launch({ executablePath, args: [...args, '--disable-dev-shm-usage'], timeout: LONGEST_MS })
}

let shared: Promise<Browser> | undefined

/** Returns the Chromium that the test files of this process share. It ends with the process. Starts another one if it crashed. */
export function sharedChromium(): Promise<Browser> {
  return (shared ??= startShared())
}

async function startShared(): Promise<Browser> {
  const browser = await startChromium()
  browser.once('disconnected', () => {
    shared = undefined
    spares.clear()
  })
  // A signal alone ends a process without its exit handlers, which kill the browser and remove its folder.
  process.once('SIGTERM', () => process.exit())
  return browser
}

export interface WatchedPage extends AsyncDisposable {
  readonly page: Page
  /** Dialogs, errors, breaches of the policy and foreign calls, in their order. Empty if all is well. */
  readonly seen: readonly string[]
  /** Returns what the page showed when it was closed, and which of its calls had no answer. */
  last(): string
}

/** A tab with a context of its own. */
interface Tab {
  readonly context: BrowserContext
  readonly page: Page
}

/**
 * Tabs that no test uses now, with the servers whose page they had. Each keeps its process and what the browser has loaded and compiled of the page, but
 * no data of the page.
 */
const spares = new Map<Tab, string>()
const MOST_SPARES = 4
/** A document of every server, without scripts, on which a spare tab rests. */
const REST = '/icons/windlass.svg'
const VIEWPORT = { width: 1_280, height: 720 }
/** What tests listen to. */
const EVENTS = [
  'console',
  'dialog',
  'download',
  'framenavigated',
  'pageerror',
  'request',
  'requestfailed',
  'requestfinished',
  'response',
] as const

async function takeTab(browser: Browser, url: string): Promise<Tab> {
  const spare = [...spares].find(([{ context }, of]) => of === url && context.browser() === browser)?.[0]
  if (spare !== undefined) {
    spares.delete(spare)
    return spare
  }
  // Each frame of a build that turns takes processor time: a tenth of a core for a page. `looks.test.ts` has the motion.
  return openTab(browser, { baseURL: url, viewport: VIEWPORT, reducedMotion: 'reduce' })
}

async function openTab(browser: Browser, options: BrowserContextOptions): Promise<Tab> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(LONGEST_MS)
  return { context, page: await context.newPage() }
}

/** Removes what a test has left in a tab, and keeps the tab. Closes it if its server has ended. */
async function giveBack(tab: Tab, url: string): Promise<void> {
  const { context, page } = tab
  for (const event of EVENTS) page.removeAllListeners(event)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await Promise.all(context.pages().map(async (other) => other !== page && (await other.close())))
  const rested = await page.goto(REST).catch(() => null)
  if (rested?.ok() !== true) return context.close()
  await page.evaluate(() => {
    for (const storage of [sessionStorage, localStorage]) storage.clear()
  })
  await context.clearCookies()
  // Out of the window, so that nothing is hovered.
  await page.mouse.move(-1, -1)
  await page.setViewportSize(VIEWPORT)
  spares.set(tab, url)
  const [oldest] = spares.keys()
  if (oldest === undefined || spares.size <= MOST_SPARES) return
  spares.delete(oldest)
  await oldest.context.close()
}

/**
 * Opens a page of a server, signed in with an API key. Without options, the tab may be that of an earlier test. Tests that change more than its window,
 * its routes and its storage, such as its clock or the scripts with which it starts, give options, also empty ones.
 */
export async function openPage(
  browser: Browser,
  server: { readonly url: string; readonly key?: string },
  options?: BrowserContextOptions,
): Promise<WatchedPage> {
  const tab =
    options === undefined ? await takeTab(browser, server.url) : await openTab(browser, { baseURL: server.url, ...options })
  const { context, page } = tab
  if (server.key !== undefined) {
    const answer = await context.request.post(pathOf(ROUTES.sessions.create), {
      data: { key: server.key },
      headers: { 'x-windlass-request': '1', origin: server.url },
    })
    if (!answer.ok()) throw new Error(`the sign-in failed: ${await answer.text()}`)
  }
  const seen: string[] = []
  page.on('dialog', (dialog) => {
    seen.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('pageerror', (error) => seen.push(`error ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      seen.push(`console ${message.text()}`)
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith('data:')) seen.push(`request ${request.url()}`)
  })
  const describe = describer(page)
  let last = ''
  const close = async (): Promise<void> => {
    last = await describe()
    await (options === undefined ? giveBack(tab, server.url) : context.close())
  }
  return { page, seen, last: () => last, [Symbol.asyncDispose]: close }
}

/** Returns a function that tells what a page shows, and which of its calls have no answer. */
function describer(page: Page): () => Promise<string> {
  const open = new Set<string>()
  page.on('request', (request) => open.add(`${request.method()} ${request.url()}`))
  page.on('requestfinished', (request) => open.delete(`${request.method()} ${request.url()}`))
  page.on('requestfailed', (request) => open.delete(`${request.method()} ${request.url()}`))
  return async () => {
    const text = await page.innerText('body', { timeout: 2_000 }).catch((error: unknown) => String(error))
    return `${page.url()} shows at the end:\n${text}\nCalls without an answer: ${[...open].join(', ') || 'none'}`
  }
}
