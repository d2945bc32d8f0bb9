import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { ESCAPE_CASES } from '../../../packages/ansi/src/escape-cases.ts'
import type { TestEngine } from '../../../packages/server/test/support/fakes/fake-agent.ts'
import { openLogScene, type LogScene } from '../support/log-scene.ts'
import { drawn } from '../support/waits.ts'

const LINES = 1_000_000
const LINES_PER_FRAME = 5_000
let scene: LogScene
/** A build that ended with a log of 200 MB. Its line n says n. */
let big: string

beforeAll(async () => {
  scene = await openLogScene()
  const { build, engine } = await scene.http.start()
  for (let from = 0; from < LINES; from += LINES_PER_FRAME) {
    const lines = Array.from({ length: LINES_PER_FRAME }, (_, n) => {
      const number = from + n + 1
      const text = `${`line ${number} `.padEnd(185, 'and more ')}${number % 100_000 === 77 ? ' needle' : ''}`
      return number % 10 === 0 ? `\u001B[32m${text}\u001B[0m\n` : `${text}\n`
    })
    await engine.log('step/hello', lines.join(''))
  }
  await end(engine)
  big = build.id
})

afterAll(async () => {
  await scene[Symbol.asyncDispose]()
})

/** Chooses an entry of the menu of the log. */
async function chooseMore(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'More for this log' }).click()
  await page.getByRole('menuitem', { name }).click()
}

/** Ends the build of an engine, and the tasks that follow. */
async function end(engine: TestEngine): Promise<void> {
  await engine.finish({ status: 'success' })
  for (const task of await scene.http.agent.claim()) await scene.http.agent.report(task, 'done')
}

/** Ends a build whose only step wrote this text. */
async function logOf(text: string): Promise<string> {
  const { build, engine } = await scene.http.start()
  await engine.log('step/hello', text)
  await end(engine)
  return build.id
}

interface Shown {
  readonly number: number
  readonly text: string
  readonly top: number
}

/** Returns the rows in view with their positions, without those that are still read. */
function rowsInView(page: Page): Promise<Shown[]> {
  return page.getByRole('table').evaluate((table): Shown[] => {
    const { top, bottom } = table.getBoundingClientRect()
    return [...table.querySelectorAll('[role="row"]:not([data-loading])')]
      .map((row) => ({ row, box: row.getBoundingClientRect() }))
      .filter(({ box }) => box.bottom > top + 1 && box.top < bottom - 1)
      .map(({ row, box }) => ({
        number: Number(row.querySelector('[role="rowheader"]')?.textContent),
        text: row.querySelector('[role="cell"]')?.textContent ?? '',
        top: box.top,
      }))
  })
}

/** Resolves with the rows in view once all are read. */
async function settledRows(page: Page): Promise<Shown[]> {
  await page.locator('[role="row"]').first().waitFor()
  await expect.poll(() => page.locator('[role="row"][data-loading]').count(), { interval: 20 }).toBe(0)
  return rowsInView(page)
}

function scrollTo(page: Page, share: number): Promise<void> {
  return page.getByRole('table').evaluate((table, part) => {
    table.scrollTop = part * (table.scrollHeight - table.clientHeight)
  }, share)
}

/** Time without a movement after which the page lets the bar show the place of the view. Milliseconds. */
const REST_MS = 150

/** Resolves after the bar and the place of the view agree again. Its timers start after those of the page and are longer. */
async function rest(page: Page): Promise<void> {
  await drawn(page)
  await page.getByRole('table').evaluate(async (table, ms) => {
    const over = new AbortController()
    await new Promise<void>((rested) => {
      let timer = setTimeout(rested, ms)
      const again = (): void => {
        clearTimeout(timer)
        timer = setTimeout(rested, ms)
      }
      table.addEventListener('scroll', again, { signal: over.signal })
    })
    over.abort()
  }, REST_MS + 1)
  await drawn(page)
}

test('a log of 1,000,000 lines shows its first lines with at most 500 elements (W046)', async () => {
  const page = await scene.open({ build: big })
  await page.getByText('line 1 and').waitFor()
  const rows = await settledRows(page)
  expect(rows[0]).toMatchObject({ number: 1 })
  expect(rows.length).toBeGreaterThan(40)
  expect(await page.locator('section *').count()).toBeLessThanOrEqual(500)
  await expect.poll(() => page.getByRole('table').getAttribute('aria-rowcount')).toBe(String(LINES))
  await page.context().close()
})

test('dragged to 50 places, line n says n, at the first and the last one too (W047)', async () => {
  const page = await scene.open({ build: big })
  await page.getByText('line 1 and').waitFor()
  for (let place = 0; place < 50; place += 1) {
    await scrollTo(page, ((place * 37) % 50) / 49)
    await rest(page)
    const rows = await settledRows(page)
    expect(rows.length).toBeGreaterThan(40)
    for (const { number, text } of rows) expect(text.startsWith(`line ${number} `)).toBe(true)
    const expected = (((place * 37) % 50) / 49) * (LINES - rows.length)
    expect(Math.abs((rows[0]?.number ?? 0) - expected)).toBeLessThan(5)
  }
  await scrollTo(page, 1)
  await rest(page)
  expect((await settledRows(page)).at(-1)?.number).toBe(LINES)
  await page.context().close()
})

test('a wheel moves by its pixels, also far from the start (W047)', async () => {
  const page = await scene.open({ build: big, hash: '#L500000' })
  await page.getByText('line 500000 ').waitFor()
  await rest(page)
  await page.mouse.move(900, 500)
  for (const pixels of [20, 100, 137, -200, -57]) {
    const before = new Map((await settledRows(page)).map(({ number, top }) => [number, top]))
    const movedBy = async (): Promise<number[]> => {
      const moved = (await rowsInView(page)).filter(({ number }) => before.has(number))
      return [...new Set(moved.map(({ number, top }) => Math.round((before.get(number) ?? 0) - top)))]
    }
    await page.mouse.wheel(0, pixels)
    // The browser has the wheel before the page has moved.
    await expect.poll(movedBy).toEqual([pixels])
    await rest(page)
    const both = (await settledRows(page)).filter(({ number }) => before.has(number))
    expect(both.length).toBeGreaterThan(10)
    for (const { number, top } of both) expect((before.get(number) ?? 0) - top).toBeCloseTo(pixels, 0)
  }
  await page.context().close()
})

test('a search finds all matches in 200 MB, and shows the first and the next one (W050)', async () => {
  const page = await scene.open({ build: big })
  await page.getByRole('searchbox').fill('needle')
  await page.getByText('1 of 10').waitFor()
  await page.getByText('line 77 ').waitFor()
  await page.getByRole('searchbox').press('Enter')
  await page.getByText('2 of 10').waitFor()
  await page.getByText('line 100077 ').waitFor()
  await expect.poll(() => page.locator('mark').first().textContent()).toBe('needle')
  await page.getByRole('searchbox').fill('line')
  await page.getByText('of 10,000+').waitFor()
  await page.context().close()
})

test('a pattern that is too expensive ends with a sentence (W050)', async () => {
  const page = await scene.open({ build: big })
  await page.getByRole('button', { name: 'Regular expression' }).click()
  await page.getByRole('searchbox').fill('(a)\\1')
  await page.getByText('cannot be used').waitFor()
  await page.context().close()
})

test('an address with a range of lines opens them, marked, and a click on a number changes it (W056)', async () => {
  const page = await scene.open({ build: big, hash: '#L900120-900140' })
  await page.getByText('line 900120 ').waitFor()
  const marked = await page.locator('[role="row"][data-marked] [role="rowheader"]').allTextContents()
  expect(marked).toEqual(Array.from({ length: 21 }, (_, n) => String(900_120 + n)))
  await page.getByRole('rowheader', { name: '900130', exact: true }).click()
  const hash = (): string => new URL(page.url()).hash
  await expect.poll(hash).toBe('#L900130')
  await page.getByRole('rowheader', { name: '900133', exact: true }).click({ modifiers: ['Shift'] })
  await expect.poll(hash).toBe('#L900130-900133')
  await page.context().close()
})

test('each escape case is shown as text, with marks for what is invisible (W057)', async () => {
  const id = await logOf(ESCAPE_CASES.map(({ line }) => `${line}\u001B[0m\n`).join(''))
  const page = await scene.open({ build: id })
  await page.getByText('plain', { exact: true }).first().waitFor()
  const seen = new Map<number, string>()
  for (const key of ['Home', 'End']) {
    await page.keyboard.press(key)
    await rest(page)
    for (const { number, text } of await settledRows(page)) seen.set(number, text)
  }
  for (const [index, { name, tokens }] of ESCAPE_CASES.entries()) {
    if (/!|update|progress|overw|erase|move|backspace|overstrik/.test(tokens + name)) continue
    const text = tokens.replaceAll(/<(?:https?):[^|]*\|([^>]*)>/g, '$1').replaceAll(/\{[\d;:]*\|([^}]*)\}/g, '$1')
    expect(seen.get(index + 1), name).toBe(text)
  }
  const direction = ESCAPE_CASES.findIndex(({ name }) => name === 'text from right to left')
  expect(seen.get(direction + 1)).toBe('aU+202Ecod.exe')
  expect(await page.locator('section script').count()).toBe(0)
  await page.context().close()
})

test('a jump into the middle keeps the color that holds there (W057)', async () => {
  const id = await logOf(`\u001B[31m${Array.from({ length: 600 }, (_, n) => `red ${n + 1}\n`).join('')}\u001B[0mplain\n`)
  const page = await scene.open({ build: id, hash: '#L580' })
  const color = (text: string): Promise<string> =>
    page
      .getByText(text, { exact: true })
      .evaluate((element): string => element.ownerDocument.defaultView?.getComputedStyle(element).color ?? '')
  await page.getByText('red 580', { exact: true }).waitFor()
  expect(await color('red 580')).toBe('rgb(183, 25, 28)')
  await page.keyboard.press('End')
  expect(await color('plain')).not.toBe('rgb(183, 25, 28)')
  await page.context().close()
})

test('wrapping keeps the line at the top (W061)', async () => {
  const id = await logOf(Array.from({ length: 400 }, (_, n) => `${n + 1} ${'word '.repeat((n % 7) * 60)}\n`).join(''))
  const page = await scene.open({ build: id, hash: '#L200' })
  await page.locator('[data-line="199"]').waitFor()
  await rest(page)
  const top = (await settledRows(page))[0]?.number
  await page.keyboard.press('w')
  await rest(page)
  const wrapped = await settledRows(page)
  expect(wrapped[0]?.number).toBe(top)
  for (const [index, { number, top: at }] of wrapped.entries())
    if (index > 0)
      expect(at).toBeGreaterThanOrEqual((wrapped[index - 1]?.top ?? 0) + 20 * (wrapped[index - 1]?.number === number ? 0 : 1))
  await page.keyboard.press('w')
  await rest(page)
  expect((await settledRows(page))[0]?.number).toBe(top)
  await page.context().close()
})

test('sections fold, and open for a match inside (W061)', async () => {
  const inner = Array.from({ length: 30 }, (_, n) => `inside ${n + 1}\n`).join('')
  const id = await logOf(`before\n::group::Install\n${inner}::endgroup::\nafter\n`)
  const page = await scene.open({ build: id })
  await page.getByText('after', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Fold all' }).click()
  await page.getByText('31 lines').waitFor()
  expect((await settledRows(page)).map(({ number }) => number)).toEqual([1, 2, 34])
  await page.getByRole('searchbox').fill('inside 17')
  await page.locator('mark').waitFor()
  expect((await settledRows(page)).length).toBe(34)
  await page.context().close()
})

test('a live log follows its end, stops for a movement up, counts new lines and goes on with End (W054)', async () => {
  const { build, engine } = await scene.http.start()
  const write = async (from: number, count: number): Promise<void> => {
    await engine.log('step/hello', Array.from({ length: count }, (_, n) => `line ${from + n}\n`).join(''))
  }
  await write(1, 200)
  const page = await scene.open({ build: build.id, live: true })
  await page.getByText('line 200', { exact: true }).waitFor()
  await write(201, 100)
  await page.getByText('line 300', { exact: true }).waitFor()
  await page.mouse.move(900, 500)
  await page.mouse.wheel(0, -400)
  // The browser has the wheel before the page has moved.
  await page.getByRole('button', { name: 'Follow', exact: true }).waitFor()
  await rest(page)
  const paused = await settledRows(page)
  await write(301, 50)
  await page.getByRole('button', { name: '50 new lines' }).waitFor()
  expect(await settledRows(page)).toEqual(paused)
  await page.keyboard.press('End')
  await page.getByText('line 350', { exact: true }).waitFor()
  await write(351, 3)
  await page.getByText('line 353', { exact: true }).waitFor()
  await end(engine)
  await page.getByRole('button', { name: /^Follow/ }).waitFor({ state: 'detached' })
  for (const { number, text } of await settledRows(page)) expect(text).toBe(`line ${number}`)
  await page.context().close()
})

test('copied lines have their exact text, and a download has the stored bytes (W060)', async () => {
  const text = Array.from({ length: 20_000 }, (_, n) => `\u001B[3${n % 8}mline ${n + 1}\u001B[0m\n`).join('')
  const id = await logOf(text)
  const page = await scene.open({ build: id, hash: '#L1-20000' })
  await page.getByText('line 1', { exact: true }).waitFor()
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await chooseMore(page, 'Copy lines')
  await page.getByText('Copied the lines.').waitFor()
  const copied = await page
    .getByRole('table')
    .evaluate((table): Promise<string> => table.ownerDocument.defaultView?.navigator.clipboard.readText() ?? Promise.resolve(''))
  expect(copied).toBe(Array.from({ length: 20_000 }, (_, n) => `line ${n + 1}\n`).join(''))
  const [download] = await Promise.all([page.waitForEvent('download'), chooseMore(page, 'Download as written')])
  expect(await readFile(await download.path(), 'utf8')).toBe(text)
  await page.context().close()
})

test('a progress line of 5,000 updates is one row with its last state (W059)', async () => {
  const id = await logOf(
    `before\n${Array.from({ length: 5_000 }, (_, n) => `\r\u001B[K${n + 1} of 5000 parts`).join('')}\nafter\n`,
  )
  const page = await scene.open({ build: id })
  await page.getByText('after', { exact: true }).waitFor()
  const rows = await settledRows(page)
  expect(rows).toHaveLength(3)
  expect(rows[1]?.text).toMatch(/^5000 of 5000 parts/)
  await page.context().close()
})

test('pauses stand between their lines with their length (W053)', async () => {
  const { build, engine } = await scene.http.start()
  await engine.log('step/hello', 'first\n', 1_000_000)
  await engine.log('step/hello', 'second\n', 1_004_900)
  await engine.log('step/hello', 'third\n', 1_045_900)
  await end(engine)
  const page = await scene.open({ build: build.id })
  await page.getByText('41 s without output').waitFor()
  const [, second, third] = await settledRows(page)
  expect((await page.getByText('without output').boundingBox())?.y).toBe((second?.top ?? 0) + 20)
  expect(third?.top).toBe((second?.top ?? 0) + 20)
  await chooseMore(page, 'Since the start')
  await page.getByText('0:45.9').waitFor()
  await chooseMore(page, 'Since the line before')
  await page.getByText('+41.0 s').waitFor()
  await page.context().close()
})

test('no page has an error or a breach of the policy', () => {
  expect(scene.errors).toEqual([])
})
