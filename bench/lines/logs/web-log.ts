/**
 * The log viewer of the page in Chromium: a log of a million lines and 200 MB opened, scrolled and read to its end, and a fast one followed. Names end in the
 * ids of the rows in `docs/development/features/web.md`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CDPSession, Page } from 'playwright-core'
import { startChromium, openPage } from '../../../e2e/web/support/chromium.ts'
import { buildPage } from '../../../scripts/build-page.ts'
import { openHttpScene, type HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { MissingPartError, sample, single, spread, type Line, type Row } from '../../row.ts'

const LINES = 1_000_000
const LINES_PER_FRAME = 5_000
const STREAM = 'step/hello'
const BLOCK = 512
/** Duration of the scrolling. Seconds. */
const SCROLL_S = 10
const SCROLL_ROUNDS = 3
/** How long a user looks at the list of builds before the click. Milliseconds. */
const LOOK_MS = 1_000
/** Screens that are read from the first to the last line. */
const STOPS = 200
const FOLLOWED_PER_SECOND = 5_000
/** Duration of the following. Seconds. */
const FOLLOW_S = 60
/** Frames of log per second while it is followed. */
const FRAMES_PER_SECOND = 10

export const webLog: Line = { name: 'web-log', measure }

async function measure(): Promise<Row[]> {
  buildPage()
  await using scene = await openHttpScene()
  const browser = await startChromium().catch((error: unknown) => {
    throw new MissingPartError(String(error))
  })
  try {
    const id = await writeLog(scene)
    const open = async (path: string): Promise<Page> => {
      const { page } = await openPage(
        browser,
        { url: scene.server.url, key: scene.adminToken },
        { viewport: { width: 1920, height: 1080 } },
      )
      await page.goto(path)
      return page
    }
    return [
      await measureOpening(scene, open, id),
      ...(await measureScrolling(open, id)),
      await measureReading(open, id),
      ...(await measureFollowing(scene, open)),
    ]
  } finally {
    await browser.close()
  }
}

type Open = (path: string) => Promise<Page>

const stepOf = (id: string): string => `/builds/${id}/steps/hello`

async function writeLog(scene: HttpScene): Promise<string> {
  const { build, engine } = await scene.start()
  for (let from = 0; from < LINES; from += LINES_PER_FRAME) {
    const lines = Array.from({ length: LINES_PER_FRAME }, (_, n) => {
      const text = `line ${from + n + 1} `.padEnd(199, 'and more ')
      return (from + n) % 10 === 0 ? `\u001B[32m${text}\u001B[0m\n` : `${text}\n`
    })
    await engine.log(STREAM, lines.join(''))
  }
  await engine.finish({ status: 'success' })
  for (const task of await scene.agent.claim()) await scene.agent.report(task, 'done')
  return build.id
}

/** From the click on the step to its first line. */
async function measureOpening(scene: HttpScene, open: Open, id: string): Promise<Row> {
  const floor = await sample(5, 1, async () => {
    await scene.admin.builds.logLines(id, { query: { stream: STREAM, attempt: 1, from: 0, count: BLOCK } })
  })
  const value = await sample(5, 1, async () => {
    const page = await open('/builds')
    const row = page.getByRole('listitem').first()
    await row.waitFor()
    await sleep(LOOK_MS)
    const startedAt = performance.now()
    await page.evaluate(`history.pushState(null, '', '${stepOf(id)}'), dispatchEvent(new PopStateEvent('popstate'))`)
    await page.getByText('line 1 and').waitFor()
    const took = performance.now() - startedAt
    await page.context().close()
    return took
  })
  return {
    name: 'web-log-open-w046',
    figure: `from the click on a step with ${LINES} lines, 200 MB, to its first lines`,
    unit: 'ms',
    value,
    warmUp: 1,
    floor: { what: `the first ${BLOCK} lines by one call`, value: floor },
    goal: 1_000,
  }
}

/** Runs in the page. Notes how long its script works in each frame: the viewer listens to the bar and draws in a callback of the frame. */
const NOTE_WORK = `
  globalThis.worked = []
  const ask = requestAnimationFrame
  let [heard, last] = [0, undefined]
  const timed = (run) => {
    const startedAt = performance.now()
    run()
    return performance.now() - startedAt
  }
  globalThis.requestAnimationFrame = (draw) => ask((at) => {
    const took = timed(() => draw(at)) + heard
    heard = 0
    if (at === last) worked[worked.length - 1] += took
    else worked.push(took)
    last = at
  })
  const listen = EventTarget.prototype.addEventListener
  EventTarget.prototype.addEventListener = function (type, listener, options) {
    const isScroll = type === 'scroll' && typeof listener === 'function'
    return listen.call(this, type, isScroll ? (event) => (heard += timed(() => listener.call(this, event))) : listener, options)
  }
  globalThis.countFrames = (seconds, onFrame) => new Promise((resolve) => {
    const startedAt = performance.now()
    let seen = 0
    const next = () => {
      const share = (performance.now() - startedAt) / (seconds * 1000)
      if (share >= 1) return resolve(seen / seconds)
      seen += 1
      onFrame(share)
      ask(next)
    }
    ask(next)
  })`
/** Run in the page and return the frames per second. The first drags the scroll bar to the end and back, twice; the second scrolls through 36,000 pixels. */
const SCROLLS = {
  drag: `
  const table = document.querySelector('[role="table"]')
  countFrames(${SCROLL_S}, (share) => {
    table.scrollTop = (0.5 - Math.cos(share * 8 * Math.PI) / 2) * (table.scrollHeight - table.clientHeight)
  })`,
  read: `
  const table = document.querySelector('[role="table"]')
  countFrames(${SCROLL_S}, (share) => {
    table.scrollTop = 4_000_000 + share * 36_000
  })`,
} as const

async function measureScrolling(open: Open, id: string): Promise<Row[]> {
  return [
    ...(await measureScroll(open, id, { name: 'drag', figure: 'the bar is dragged through the log' })),
    ...(await measureScroll(open, id, { name: 'read', figure: 'the log is scrolled by 60 pixels a frame' })),
  ]
}

async function measureScroll(
  open: Open,
  id: string,
  { name, figure }: { readonly name: keyof typeof SCROLLS; readonly figure: string },
): Promise<Row[]> {
  const page = await open('/builds')
  await page.addInitScript(NOTE_WORK)
  await page.goto(stepOf(id))
  await page.getByText('line 1 and').waitFor()
  const idle = Number(await page.evaluate(`countFrames(2, () => undefined)`))
  const frames: number[] = []
  const scripts: number[] = []
  for (let round = 0; round < SCROLL_ROUNDS; round += 1) {
    await page.evaluate(`document.querySelector('[role="table"]').scrollTop = ${name === 'read' ? 4_000_000 : 0}`)
    await sleep(LOOK_MS)
    await page.evaluate('worked.length = 0')
    frames.push(Number(await page.evaluate(SCROLLS[name])))
    const sorted = ((await page.evaluate('worked')) as number[]).toSorted((a, b) => a - b)
    scripts.push(sorted[Math.floor(sorted.length * 0.95)] ?? 0)
  }
  await page.context().close()
  return [
    {
      name: `web-log-${name}-frames-w048`,
      figure: `frames per second while ${figure} for ${SCROLL_S} s; an idle page draws ${Math.round(idle)}`,
      unit: '1/s',
      value: spread(frames),
      warmUp: 0,
      goal: 50,
    },
    {
      name: `web-log-${name}-script-w048`,
      figure: 'script of the page per frame meanwhile, 95th percentile',
      unit: 'ms',
      value: spread(scripts),
      warmUp: 0,
      goal: 6,
    },
  ]
}

async function measureReading(open: Open, id: string): Promise<Row> {
  const page = await open(stepOf(id))
  await page.getByText('line 1 and').waitFor()
  const before = await heapOf(page)
  for (let stop = 0; stop <= STOPS; stop += 1) {
    await page.getByRole('table').evaluate((table, share) => {
      table.scrollTop = share * (table.scrollHeight - table.clientHeight)
    }, stop / STOPS)
    await holds(page, `document.querySelector('[role="row"][data-loading]') === null`)
  }
  await page.getByText(`line ${LINES} `).waitFor()
  const value = await heapOf(page)
  await page.context().close()
  return {
    name: 'web-log-heap-w049',
    figure: `heap of the page after ${STOPS} screens from the first to the last line`,
    unit: 'MiB',
    value: single(value),
    warmUp: 0,
    floor: { what: 'the heap at the first lines', value: single(before) },
    goal: 120,
  }
}

/** Returns the heap in use after a collection. MiB. */
async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  return usedSize / 1_048_576
}

async function measureFollowing(scene: HttpScene, open: Open): Promise<Row[]> {
  const { build, engine } = await scene.start()
  await engine.event({ type: 'step.started', step: 'hello', try: 1 })
  await engine.log(STREAM, 'line 0\n')
  const page = await open(stepOf(build.id))
  await page.getByText('line 0').waitFor()
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const busyBefore = await busySeconds(session)
  const startedAt = performance.now()
  const behind: number[] = []
  let written = 0
  const count = FOLLOWED_PER_SECOND / FRAMES_PER_SECOND
  for (let frame = 0; frame < FOLLOW_S * FRAMES_PER_SECOND; frame += 1) {
    const lines = Array.from({ length: count }, (_, n) => `line ${written + n + 1} at full speed\n`)
    written += count
    const writtenAt = performance.now()
    await engine.log(STREAM, lines.join(''))
    // The glass is looked at once a second, so that the looking does not become the load.
    if (frame % FRAMES_PER_SECOND === FRAMES_PER_SECOND - 1) {
      await waitForLine(page, written)
      behind.push(performance.now() - writtenAt)
    }
    await sleep(Math.max(0, startedAt + (frame + 1) * (1_000 / FRAMES_PER_SECOND) - performance.now()))
  }
  const seconds = (performance.now() - startedAt) / 1_000
  const busy = (await busySeconds(session)) - busyBefore
  await page.context().close()
  await engine.finish({ status: 'success' })
  const sorted = behind.toSorted((a, b) => a - b)
  return [
    {
      name: 'web-log-follow-w055',
      figure: `work of the page per second while ${Math.round(written / seconds)} lines a second are followed for ${FOLLOW_S} s`,
      unit: 'ms',
      value: single((busy / seconds) * 1_000),
      warmUp: 0,
      goal: 300,
    },
    {
      name: 'web-log-glass-w055',
      figure: `from a written line to the glass meanwhile, 95th percentile of ${sorted.length}`,
      unit: 'ms',
      value: single(sorted[Math.floor(sorted.length * 0.95)] ?? 0),
      warmUp: 0,
      goal: 1_000,
    },
  ]
}

/** Resolves once the last row in view is this line or a later one. */
async function waitForLine(page: Page, line: number): Promise<void> {
  const numbers = `[...document.querySelectorAll('[role="row"]:not([data-loading]) [role="rowheader"]')]`
  await holds(page, `${numbers}.some(({ textContent }) => Number(textContent) > ${line})`)
}

/** Resolves once an expression is true in the page, whose policy lets the page itself evaluate none. Throws after 30 s. */
async function holds(page: Page, expression: string): Promise<void> {
  for (const end = performance.now() + 30_000; !(await page.evaluate(expression)); await sleep(10))
    if (performance.now() > end) throw new Error(`not within 30 s: ${expression}`)
}

/** Returns how long the main thread of the page has worked. Seconds. */
async function busySeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0
}
