/** The page with 100,000 builds in Chromium: its largest paint on a slow machine and network, its first rows, and a change of the filter. */
import { randomBytes } from 'node:crypto'
import type { CDPSession, Page } from 'playwright-core'
import { openPage, startChromium } from '../../../e2e/web/support/chromium.ts'
import { buildPage } from '../../../scripts/build-page.ts'
import { openHttpScene, type HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { MissingPartError, sample, type Line, type Row } from '../../row.ts'

const BUILDS = 100_000
const RUNS = 5
/** 10 Mbit/s with the delay of a near data center. */
const NETWORK = { offline: false, latency: 20, downloadThroughput: 1_250_000, uploadThroughput: 1_250_000 }
const SLOWER = 4

export const webBuilds: Line = { name: 'web-builds', measure }

async function measure(): Promise<Row[]> {
  buildPage()
  await using scene = await openHttpScene()
  await seed(scene)
  const browser = await startChromium().catch((error: unknown) => {
    throw new MissingPartError(String(error))
  })
  try {
    const visit = async (run: (page: Page, session: CDPSession) => Promise<number>): Promise<number> => {
      await using opened = await openPage(browser, { url: scene.server.url, key: scene.adminToken })
      return run(opened.page, await opened.page.context().newCDPSession(opened.page))
    }
    return [
      {
        name: 'web-builds',
        figure: `the builds page with ${BUILDS} builds: its largest paint, ${SLOWER} times slower CPU, 10 Mbit/s`,
        unit: 'ms',
        value: await sample(RUNS, 1, () => visit(measurePaint)),
        warmUp: 1,
        goal: 1_200,
      },
      {
        name: 'web-builds-rows',
        figure: 'from the document to its 50 rows',
        unit: 'ms',
        value: await sample(RUNS, 1, () => visit(measureRows)),
        warmUp: 1,
        goal: 500,
      },
      {
        name: 'web-builds-filter',
        figure: 'from a click on a filter to its rows',
        unit: 'ms',
        value: await sample(RUNS, 1, () => visit(measureFilter)),
        warmUp: 1,
        goal: 300,
      },
    ]
  } finally {
    await browser.close()
  }
}

/** Copies an ended build into the store. */
async function seed(scene: HttpScene): Promise<void> {
  const { build, engine } = await scene.start()
  await engine.succeed()
  const { query } = scene.server.app.store
  const row = await query.selectFrom('build').selectAll().where('id', '=', build.id).executeTakeFirstOrThrow()
  for (let from = 0; from < BUILDS; from += 400) {
    const rows = Array.from({ length: 400 }, (_, n) => ({
      ...row,
      id: randomBytes(12).toString('hex'),
      number: from + n + 2,
      status: n % 10 === 0 ? ('error' as const) : ('success' as const),
    }))
    await query.insertInto('build').values(rows).execute()
  }
}

/** Runs in the page. Returns when its largest part was drawn. */
const LARGEST_PAINT = `new Promise((resolve) => {
  const observer = new PerformanceObserver((list) => resolve(list.getEntries().at(-1)?.startTime ?? 0))
  observer.observe({ type: 'largest-contentful-paint', buffered: true })
})`

/** Runs in the page. Presses a filter, and returns how long it takes until all rows fit it. */
const FILTER = `new Promise((resolve) => {
  const from = performance.now()
  const observer = new MutationObserver(() => {
    const rows = [...document.querySelectorAll('[data-build]')]
    if (rows.length < 50 || !rows.every((row) => row.textContent?.includes('Failed') === true)) return
    observer.disconnect()
    requestAnimationFrame(() => resolve(performance.now() - from))
  })
  observer.observe(document.body, { childList: true, subtree: true, characterData: true })
  const button = [...document.querySelectorAll('button')].find(({ textContent }) => /^Failed\\d/.test(textContent ?? ''))
  button?.click()
})`

async function measurePaint(page: Page, session: CDPSession): Promise<number> {
  await session.send('Network.enable')
  await session.send('Network.emulateNetworkConditions', NETWORK)
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWER })
  await page.goto('/builds')
  await page.locator('[data-build]').first().waitFor()
  return Number(await page.evaluate(LARGEST_PAINT))
}

async function measureRows(page: Page): Promise<number> {
  await page.goto('/builds', { waitUntil: 'commit' })
  await page.locator('[data-build]').nth(49).waitFor()
  return Number(await page.evaluate(`performance.now() - performance.getEntriesByType('navigation')[0].responseEnd`))
}

async function measureFilter(page: Page): Promise<number> {
  await page.goto('/builds')
  await page.locator('[data-build]').nth(49).waitFor()
  return Number(await page.evaluate(FILTER))
}
