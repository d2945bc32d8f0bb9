/** Chromium of this machine, and pages of it that note what must not happen: breaches of the policy, errors, and calls of other servers. */
import { existsSync } from 'node:fs'
import { pathOf, ROUTES } from '@windlass/client'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Starts Chromium. Throws if it is not installed. */
export async function startChromium(): Promise<Browser> {
  const executablePath = PATHS.find((path) => existsSync(path))
  if (executablePath === undefined) throw new Error('Chromium is not installed; run scripts/setup browser')
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return chromium.launch({ executablePath, args: [...args, '--disable-dev-shm-usage'] })
}

export interface WatchedPage extends AsyncDisposable {
  readonly page: Page
  /** Dialogs, errors, breaches of the policy and foreign calls, in their order. Empty if all is well. */
  readonly seen: readonly string[]
}

/** Opens a page of a server, signed in with an API key. */
export async function openPage(
  browser: Browser,
  server: { readonly url: string; readonly key?: string },
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ baseURL: server.url, ...options })
  if (server.key !== undefined) {
    const answer = await context.request.post(pathOf(ROUTES.sessions.create), {
      data: { key: server.key },
      headers: { 'x-windlass-request': '1', origin: server.url },
    })
    if (!answer.ok()) throw new Error(`the sign-in failed: ${await answer.text()}`)
  }
  // How long something takes depends on who else uses the machine.
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
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
  return { page, seen, [Symbol.asyncDispose]: () => context.close() }
}
