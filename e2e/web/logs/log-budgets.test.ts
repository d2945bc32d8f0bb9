/** What the viewer of logs holds and shows while it is scrolled and while it follows. Its times are figures of `bench web-log`. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { openLogScene, type LogScene } from '../support/log-scene.ts'

const LINES_PER_FRAME = 5_000
const SCROLLED = 60_000
const BLOCK = 512
/** Both are longer than the 64 blocks that the page keeps. */
const SHORT = 40_000
const LONG = 100_000
/** Rows in view at 1,080 pixels, with spare ones. */
const MAX_ROWS = 65
const MAX_HEAP_BYTES = 120_000_000
/** Blocks are equally many after both logs. Other 60,000 lines would be 15 MB. */
const MAX_GROWTH_BYTES = 10_000_000
const FOLLOWED = 50_000
/** Lines of the end of a live log that are read again: as many as the page keeps as they arrived. */
const TAIL = 8_000

let scene: LogScene

beforeAll(async () => {
  scene = await openLogScene()
})

afterAll(() => scene[Symbol.asyncDispose]())

/** Line n says n. Each seventh one has a word to search for, each tenth one is green. */
function lineOf(number: number): string {
  const text = `${`line ${number} `.padEnd(180, 'and more ')}${number % 7 === 0 ? 'needle' : ''}`
  return number % 10 === 0 ? `\u001B[32m${text}\u001B[0m\n` : `${text}\n`
}

/** Ends a build with a log of this length. */
async function logOf(lines: number): Promise<string> {
  const { build, engine } = await scene.http.start()
  for (let from = 0; from < lines; from += LINES_PER_FRAME)
    await engine.log('step/hello', Array.from({ length: LINES_PER_FRAME }, (_, n) => lineOf(from + n + 1)).join(''))
  await engine.finish({ status: 'success' })
  for (const task of await scene.http.agent.claim()) await scene.http.agent.report(task, 'done')
  return build.id
}

interface Scrolled {
  /** What was wrong in a frame, without repetitions. */
  readonly wrong: readonly string[]
  readonly maxRows: number
  /** Rows with text, over all frames. */
  readonly read: number
  readonly loading: number
}

/** Scrolls to these places, one in each frame, and checks all that each frame has drawn. Pixels. */
function scroll(page: Page, places: readonly number[]): Promise<Scrolled> {
  return page.getByRole('table').evaluate(async (table, tops) => {
    const wrong = new Set<string>()
    let [maxRows, read, loading] = [0, 0, 0]
    const check = (row: Element, number: number): void => {
      const cell = row.querySelector('[role="cell"]')
      if (row.hasAttribute('data-loading')) {
        loading += 1
        if (cell?.textContent !== '') wrong.add(`line ${number} has a text before it is read`)
        return
      }
      read += 1
      if (cell?.textContent?.startsWith(`line ${number} `) !== true) wrong.add(`line ${number} says ${cell?.textContent}`)
      if (((cell?.querySelector('mark') ?? null) !== null) !== (number % 7 === 0)) wrong.add(`line ${number} has a wrong match`)
      if (((cell?.querySelector('span[style]') ?? null) !== null) !== (number % 10 === 0))
        wrong.add(`line ${number} has a wrong color`)
      if (row.hasAttribute('data-marked') !== (number >= 100 && number <= 140)) wrong.add(`line ${number} has a wrong mark`)
    }
    for (const top of [...tops, tops.at(-1) ?? 0]) {
      // The rows of the frame before are complete here, and those of this frame are drawn later.
      await new Promise(requestAnimationFrame)
      const rows = [...table.querySelectorAll<HTMLElement>('[role="row"]')]
      const numbers = rows.map((row) => Number(row.querySelector('[role="rowheader"]')?.textContent))
      maxRows = Math.max(maxRows, rows.length)
      for (const [index, row] of rows.entries()) check(row, numbers[index] ?? 0)
      if (numbers.some((number, index) => number !== (numbers[0] ?? 0) + index)) wrong.add(`lines ${numbers.join(' ')}`)
      const [view, first, last] = [table, rows[0], rows.at(-1)].map((element) => element?.getBoundingClientRect())
      if ((first?.top ?? Infinity) > (view?.top ?? 0) + 0.5) wrong.add(`space above line ${numbers[0]}`)
      if ((last?.bottom ?? 0) < (view?.top ?? 0) + table.clientHeight - 0.5) wrong.add(`space below line ${numbers.at(-1)}`)
      table.scrollTop = top
    }
    return { wrong: [...wrong].slice(0, 20), maxRows, read, loading }
  }, places)
}

/** Resolves with the rows at rest. A movement may begin late, so the rows are read in the moment in which all have their text. */
async function textsAtRest(page: Page): Promise<string[]> {
  await page.waitForTimeout(400)
  let texts: string[] = []
  const read = async (): Promise<number> => {
    const { loading, all } = await page.getByRole('table').evaluate((table) => {
      const rows = [...table.querySelectorAll('[role="row"]')]
      const waits = rows.filter((row) => row.hasAttribute('data-loading'))
      return { loading: waits.length, all: rows.map((row) => row.textContent ?? '') }
    })
    texts = all
    return loading
  }
  await expect.poll(read, { interval: 20 }).toBe(0)
  return texts
}

test('each row that a frame shows while the log is scrolled is the right one, few are in the document, and none is blank at rest (W048)', async () => {
  const page = await scene.open({ build: await logOf(SCROLLED), hash: '#L100-140' })
  await page.getByText('line 100 ').waitFor()
  await page.getByRole('searchbox').fill('needle')
  await page.getByText(/of 8,571$/).waitFor()
  await page.getByText('line 98 ').waitFor()
  const length = SCROLLED * 20
  const steps = (count: number, place: (step: number) => number): number[] => Array.from({ length: count }, (_, n) => place(n))
  const moves = {
    'by pixels, down': steps(80, (step) => step * 37),
    'by pixels, up': steps(80, (step) => 5_550 - step * 31),
    'by half a screen': steps(60, (step) => 900 + step * 450),
    'by jumps': steps(80, (step) => (0.5 - Math.cos((step / 80) * 4 * Math.PI) / 2) * length),
    'between two places': steps(30, (step) => (step % 2) * 400_000 + step * 20),
  }
  for (const [name, places] of Object.entries(moves)) {
    const { wrong, maxRows, read, loading } = await scroll(page, places)
    expect(wrong, name).toEqual([])
    expect(maxRows, name).toBeLessThanOrEqual(MAX_ROWS)
    expect(read + loading, name).toBeGreaterThan(places.length * 40)
    // Steps show the lines themselves. Jumps may be faster than the server.
    if (name.startsWith('by pixels')) expect(read, name).toBeGreaterThan(places.length * 40)
    const texts = await textsAtRest(page)
    expect(texts.length, name).toBeGreaterThan(40)
    for (const text of texts) expect(text, name).toMatch(/^(\d+)line \1 /)
  }
  await page.context().close()
})

test('selected rows keep their text while the log is scrolled away from them and back', async () => {
  const page = await scene.open({ build: await logOf(LINES_PER_FRAME) })
  await page.getByText('line 1 and').waitFor()
  const place = async (line: number): Promise<{ x: number; y: number }> => {
    const box = await page.locator(`[data-line="${line - 1}"] [role="cell"]`).boundingBox()
    return { x: (box?.x ?? 0) + 100, y: (box?.y ?? 0) + 10 }
  }
  const [from, to] = [await place(10), await place(14)]
  await page.mouse.move(from.x, from.y)
  await page.mouse.down()
  await page.mouse.move(to.x, to.y, { steps: 5 })
  await page.mouse.up()
  const selected = (): Promise<string | undefined> => page.evaluate(() => getSelection()?.toString())
  const before = await selected()
  for (const line of [11, 12, 13]) expect(before).toContain(`line ${line} `)
  for (const pixels of [60, 3_000, 900, -900, -3_060, 2_000]) {
    await page.mouse.wheel(0, pixels)
    for (const text of await textsAtRest(page)) expect(text).toMatch(/^(\d+)line \1 /)
    expect(await selected()).toBe(before)
    const lines = await page.locator('[role="row"]').evaluateAll((rows) => rows.map((row) => Number(row.dataset['line'])))
    expect(lines).toEqual([...new Set(lines)].toSorted((a, b) => a - b))
  }
  await page.evaluate(() => getSelection()?.removeAllRanges())
  await page.mouse.wheel(0, 40)
  expect((await textsAtRest(page)).length).toBeLessThanOrEqual(MAX_ROWS)
  await page.context().close()
})

/** Reads a log block by block, and returns the heap in use afterwards. Bytes. */
async function heapAfterReading(lines: number): Promise<number> {
  // Few lines in view: what is drawn meanwhile does not count, and takes most of the time.
  const page = await scene.open({ build: await logOf(lines) }, { height: 300 })
  await page.getByText('line 1 and').waitFor()
  await page.getByRole('table').evaluate(
    async (table, steps) => {
      const frame = (): Promise<number> => new Promise(requestAnimationFrame)
      for (let step = 0; step <= steps; step += 1) {
        table.scrollTop = (step / steps) * (table.scrollHeight - table.clientHeight)
        // The viewer draws in the next frame.
        await frame()
        await frame()
        while (table.querySelector('[data-loading]') !== null) await frame()
      }
    },
    Math.ceil(lines / BLOCK),
  )
  await page.getByText(`line ${lines} `).waitFor()
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await page.context().close()
  return usedSize
}

test('the heap of the page does not grow with the log that is read from end to end (W049)', async () => {
  const short = await heapAfterReading(SHORT)
  const long = await heapAfterReading(LONG)
  expect(long - short).toBeLessThan(MAX_GROWTH_BYTES)
  expect(Math.max(short, long)).toBeLessThan(MAX_HEAP_BYTES)
})

interface Followed {
  readonly wrong: readonly string[]
  /** Times at which the last line of the view changed. */
  readonly changes: number
}

/** Checks what each frame shows until the last line is this one. */
function follow(page: Page, until: number): Promise<Followed> {
  return page.getByRole('table').evaluate(async (table, end) => {
    const wrong = new Set<string>()
    let [last, changes] = [0, 0]
    while (last < end) {
      await new Promise(requestAnimationFrame)
      const rows = [...table.querySelectorAll('[role="row"]:not([data-loading])')]
      const numbers = rows.map((row) => Number(row.querySelector('[role="rowheader"]')?.textContent))
      for (const [index, row] of rows.entries()) {
        const text = row.querySelector('[role="cell"]')?.textContent ?? ''
        const whole = `line ${numbers[index]} at full speed`
        // The last line may be on its way.
        if (index === rows.length - 1 ? !whole.startsWith(text) : text !== whole) wrong.add(`line ${numbers[index]} says ${text}`)
      }
      const newest = numbers.at(-1) ?? 0
      if (newest < last) wrong.add(`line ${newest} after line ${last}`)
      if (newest > last) changes += 1
      last = newest
    }
    return { wrong: [...wrong].slice(0, 20), changes }
  }, until)
}

test('a log that is written as fast as possible is followed to its end, in order, and no line is missing (W055)', async () => {
  const { build, engine } = await scene.http.start()
  const lines = Array.from({ length: FOLLOWED }, (_, n) => `line ${n + 1} at full speed\n`)
  const text = lines.join('')
  await engine.log('step/hello', text.slice(0, 100))
  const page = await scene.open({ build: build.id, live: true })
  await page.getByText('line 3 at full speed', { exact: true }).waitFor()
  const followed = follow(page, FOLLOWED)
  // Parts end within lines. The view has to follow on the way, however fast the parts are sent.
  let stops = 1
  for (let from = 100; from < text.length; from += 7_001) {
    await engine.log('step/hello', text.slice(from, from + 7_001))
    if (from < (text.length * stops) / 6) continue
    await page.waitForFunction(
      (number) => Number([...document.querySelectorAll('[role="rowheader"]')].at(-1)?.textContent) > number,
      Math.floor((FOLLOWED * (stops - 1)) / 6),
    )
    stops += 1
  }
  const { wrong, changes } = await followed
  expect(wrong).toEqual([])
  expect(changes).toBeGreaterThan(3)
  await page.getByText(`${FOLLOWED.toLocaleString('en')} lines`, { exact: true }).waitFor()
  const seen = await page.getByRole('table').evaluate(async (table, count) => {
    const texts: [number, string][] = []
    const known = new Set<number>()
    const frame = (): Promise<number> => new Promise(requestAnimationFrame)
    while (known.size < count) {
      // The viewer draws in the next frame. A page that was left behind keeps fewer lines, and reads those before them again.
      await frame()
      await frame()
      while (table.querySelector('[data-loading]') !== null) await frame()
      for (const row of table.querySelectorAll('[role="row"]:not([data-loading])')) {
        const number = Number(row.querySelector('[role="rowheader"]')?.textContent)
        if (!known.has(number)) texts.push([number, row.querySelector('[role="cell"]')?.textContent ?? ''])
        known.add(number)
      }
      table.scrollTop -= table.clientHeight - 40
    }
    return texts
  }, TAIL)
  for (const [number, shown] of seen) expect(`${shown}\n`).toBe(lines[number - 1])
  const numbers = seen.map(([number]) => number)
  expect(Math.max(...numbers) - Math.min(...numbers)).toBe(seen.length - 1)
  await page.context().close()
  await engine.finish({ status: 'success' })
})

test('no page has an error or a breach of the policy', () => {
  expect(scene.errors).toEqual([])
})
