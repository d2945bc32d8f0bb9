/** A server and a browser for the tests of the page. */
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { TestRunner, type RunnerTestCase } from 'vitest'
import type { ServerOptions } from '../../../packages/server/src/index.ts'
import { openHttpScene, type HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { openPage, sharedChromium, type WatchedPage } from './chromium.ts'
import { takePort } from './ports.ts'
import { DOCUMENT } from './seeds.ts'

export interface WebScene extends AsyncDisposable {
  readonly server: HttpScene
  readonly browser: Browser
  /** Opens a page of the server, signed in as its admin. If the test fails, what the page showed last is printed. */
  open(options?: BrowserContextOptions): Promise<WatchedPage>
}

/** Starts a server on the address of an earlier one, see `takePort`. */
export async function openServer(options: Partial<ServerOptions> = {}): Promise<HttpScene> {
  const place = await takePort()
  const scene = await openHttpScene({ port: place.port, ...options })
  const close = async (): Promise<void> => {
    await scene[Symbol.asyncDispose]()
    place[Symbol.dispose]()
  }
  return { ...scene, [Symbol.asyncDispose]: close }
}

/** Starts a server. It has the pipeline `demo/app` with `DOCUMENT`. */
export async function openWebScene(options: Partial<ServerOptions> = {}): Promise<WebScene> {
  const server = await openServer(options)
  const browser = await sharedChromium()
  await server.admin.pipelines.create({ name: 'demo/app', document: DOCUMENT })
  return {
    server,
    browser,
    async open(options) {
      const opened = await openPage(browser, { url: server.server.url, key: server.adminToken }, options)
      TestRunner.getCurrentTest<RunnerTestCase | undefined>()?.context.onTestFailed(() => console.error(opened.last()))
      return opened
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
