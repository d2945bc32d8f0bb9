/** A server and a browser for the tests of the page. */
import type { Browser, BrowserContextOptions } from 'playwright-core'
import type { ServerOptions } from '../../../packages/server/src/index.ts'
import { openHttpScene, type HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { openPage, sharedChromium, type WatchedPage } from './chromium.ts'
import { DOCUMENT } from './seeds.ts'

export interface WebScene extends AsyncDisposable {
  readonly server: HttpScene
  readonly browser: Browser
  /** Opens a page of the server, signed in as its admin. */
  open(options?: BrowserContextOptions): Promise<WatchedPage>
}

/** Starts a server. It has the pipeline `demo/app` with `DOCUMENT`. */
export async function openWebScene(options: Partial<ServerOptions> = {}): Promise<WebScene> {
  const server = await openHttpScene(options)
  const browser = await sharedChromium()
  await server.admin.pipelines.create({ name: 'demo/app', document: DOCUMENT })
  return {
    server,
    browser,
    open: (options) => openPage(browser, { url: server.server.url, key: server.adminToken }, options),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
