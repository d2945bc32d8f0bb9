/**
 * The built page (`packages/web`): its files, and its document for each address that belongs to no API, because the page reads the address itself.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '@windlass/kit'
import type { FastifyRequest } from 'fastify'
import { documentOf, readAssets, type Asset } from './assets.ts'

/** Where the built page is: beside a bundled program, or in the repository. */
const FOLDERS = [join(import.meta.dirname, 'web'), join(import.meta.dirname, '../../../web/dist')] as const
const DOCUMENT = 'index.html'
/** The document of terminals has a policy of its own, so it is not a part of the page. */
const TERMINAL_DOCUMENT = 'terminal.html'
const TERMINAL_PATH = /^\/builds\/[^/]+\/terminals\/[^/]+$/

export interface Page {
  /** Files that have an address of their own. */
  readonly assets: readonly Asset[]
  /** The document of all other addresses. */
  readonly document: Asset
  /** The document of one terminal. Absent if the page is not built. */
  readonly terminal?: Asset
  /** False if the page is not built, so that the document only says how to build it. */
  readonly isBuilt: boolean
}

/** The page of the repository or the program, after the first server of this process has read it. */
let own: Page | undefined

/** Reads the page from a folder, by default that of the repository or the program. Without a built one, its document says how to build it. */
export function readPage(given?: string): Page {
  return given === undefined ? (own ??= readFirst(FOLDERS)) : readFirst([given])
}

/** Reads the first of the folders that exists. */
function readFirst(folders: readonly string[]): Page {
  const folder = folders.find((each) => existsSync(join(each, DOCUMENT)))
  const assets = folder === undefined ? [] : readAssets(folder)
  const document = assets.find(({ path }) => path === DOCUMENT)
  if (document === undefined) return { assets: [], document: documentOf(NOT_BUILT), isBuilt: false }
  const terminal = assets.find(({ path }) => path === TERMINAL_DOCUMENT)
  return { assets: assets.filter((asset) => asset !== document), document, ...defined({ terminal }), isBuilt: true }
}

/** Returns the document of an address of the page. */
export function documentAt({ document, terminal }: Page, { url }: Pick<FastifyRequest, 'url'>): Asset {
  const [path = ''] = url.split('?')
  return terminal !== undefined && TERMINAL_PATH.test(path) ? terminal : document
}

/** Addresses of APIs, probes and files. Unknown ones below them are problems, also for browsers. */
const NOT_THE_PAGE = /^\/(?:v1|api|nomios|healthz|readyz|metrics|hooks|badges|assets|\.well-known)(?:\/|$)/

/** Returns true if a browser opens an address of the page. */
export function isForPage({ method, url, headers }: Pick<FastifyRequest, 'method' | 'url' | 'headers'>): boolean {
  if ((method !== 'GET' && method !== 'HEAD') || headers.accept?.includes('text/html') !== true) return false
  const [path = ''] = url.split('?')
  return !NOT_THE_PAGE.test(path)
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Windlass</title>
  </head>
  <body>
    <main>
      <h1>Windlass</h1>
      <p>The server runs, but its page is not built. The API and the command line work.</p>
      <p>Build the page in the repository, then start the server again:</p>
      <pre>npm run build --workspace packages/web</pre>
    </main>
  </body>
</html>
`
