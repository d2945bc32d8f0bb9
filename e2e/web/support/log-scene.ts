/** A server with logs, the viewer of logs in a page, and Chromium. The page has the policy of the documents of the server. */
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { build } from 'vite'
import { LONGEST_MS, sharedChromium } from './chromium.ts'
import { openHttpScene, type HttpScene } from '../../../packages/server/test/support/http-scene.ts'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
const PAGE =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>Log</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css"><div id="root"></div><script type="module" src="/page.js"></script>'
const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript',
  css: 'text/css',
  html: 'text/html; charset=utf-8',
  woff2: 'font/woff2',
}

/** Wide enough for the bar in one line. To draw a frame takes time by its pixels. */
const WIDTH = 1_000

export interface LogScene extends AsyncDisposable {
  readonly http: HttpScene
  readonly browser: Browser
  /** Opens a log in a new page, 1,080 pixels high by default. `hash` marks lines. Fails the test for errors of the page. */
  open(
    log: { build: string; stream?: string; attempt?: number; live?: boolean; hash?: string },
    options?: { dark?: boolean; height?: number },
  ): Promise<Page>
  /** Errors of all pages, with breaches of the policy. */
  readonly errors: readonly string[]
  /** Paths that pages asked for. */
  readonly calls: string[]
}

export async function openLogScene(): Promise<LogScene> {
  const files = await buildPage()
  const http = await openHttpScene()
  const calls: string[] = []
  const front = createServer((incoming, answer) => {
    const path = new URL(incoming.url ?? '/', 'http://page').pathname
    if (path.startsWith('/v1/')) {
      calls.push(incoming.url ?? '')
      return pass(incoming, answer, http)
    }
    const name = path === '/log' ? 'index.html' : path.slice(1)
    const body = files.get(name)
    answer.writeHead(body === undefined ? 404 : 200, {
      'content-type': TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
      'content-security-policy': POLICY,
    })
    answer.end(body)
  })
  await new Promise<void>((listening) => front.listen(0, '127.0.0.1', listening))
  const { port } = front.address() as AddressInfo
  const browser = await sharedChromium()
  const errors: string[] = []
  const contexts: BrowserContext[] = []
  return {
    http,
    browser,
    errors,
    calls,
    async open(
      { build: id, stream = 'step/hello', attempt = 1, live = false, hash = '' },
      { dark = false, height = 1_080 } = {},
    ) {
      const context = await browser.newContext({ viewport: { width: WIDTH, height }, colorScheme: dark ? 'dark' : 'light' })
      contexts.push(context)
      context.setDefaultTimeout(LONGEST_MS)
      const page = await context.newPage()
      page.on('pageerror', (error) => errors.push(error.message))
      page.on('console', (message) => {
        // The browser reports each answer above 399 as an error, also those that a test asks for.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) errors.push(message.text())
      })
      const query = new URLSearchParams({ build: id, stream, attempt: String(attempt), live: String(live) })
      await page.goto(`http://127.0.0.1:${port}/log?${query.toString()}${hash}`)
      return page
    },
    async [Symbol.asyncDispose]() {
      for (const context of contexts) await context.close()
      front.closeAllConnections()
      front.close()
      await http[Symbol.asyncDispose]()
    },
  }
}

/** Builds the page in memory. Returns its files by name. */
async function buildPage(): Promise<Map<string, string | Uint8Array>> {
  const built = await build({
    root: join(import.meta.dirname, '../../..'),
    configFile: false,
    logLevel: 'error',
    plugins: [react()],
    build: {
      write: false,
      target: 'es2024',
      assetsInlineLimit: 0,
      cssCodeSplit: false,
      modulePreload: { polyfill: false },
      rollupOptions: { input: join(import.meta.dirname, 'log-page.mjs'), output: { entryFileNames: 'page.js' } },
    },
  })
  const outputs = (Array.isArray(built) ? built : [built]).flatMap((one) => ('output' in one ? one.output : []))
  const files = new Map<string, string | Uint8Array>([['index.html', PAGE]])
  for (const output of outputs) {
    const name = output.fileName.endsWith('.css') ? 'style.css' : output.fileName
    files.set(name, output.type === 'chunk' ? output.code : output.source)
  }
  files.set('style.css', `${String(files.get('style.css'))}\nhtml, body, #root { height: 100%; margin: 0 }`)
  return files
}

/** Passes a call on with the rights of an administrator. */
function pass(incoming: IncomingMessage, answer: ServerResponse, { server, adminToken }: HttpScene): void {
  const { cookie: _cookie, host: _host, ...headers } = incoming.headers
  const call = request(new URL(incoming.url ?? '/', server.url), {
    method: incoming.method ?? 'GET',
    headers: { ...headers, authorization: `Bearer ${adminToken}` },
  })
  call.once('response', (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers)
    response.pipe(answer)
  })
  call.once('error', () => answer.destroy())
  answer.once('close', () => call.destroy())
  incoming.pipe(call)
}
