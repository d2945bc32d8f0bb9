/** What each screen shows for an empty, a slow and a failed answer. Only the answers of this matrix are faked. */
import { faults, type FaultCode } from '@windlass/kit/faults'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { openPage, type WatchedPage } from '../support/chromium.ts'
import { SCREENS } from '../support/screens.ts'
import { failBuild } from '../support/seeds.ts'
import { contentOf, follow } from '../support/waits.ts'
import { openServer, openWebScene, type WebScene } from '../support/web-scene.ts'

const PROBLEMS = {
  403: 'forbidden',
  404: 'not-found',
  429: 'rate-limited',
  500: 'internal',
} as const satisfies Readonly<Record<number, FaultCode>>
const STATUSES = [403, 404, 429, 500] as const
type Status = (typeof STATUSES)[number]

const ANSWERED = /The test answers \d+ here\./
const sentenceOf = (status: Status): string => `The test answers ${status} here.`

/** Returns the answer with a problem, as the server writes it. */
function problemOf(status: Status): { status: number; contentType: string; headers: Record<string, string>; body: string } {
  const code = PROBLEMS[status]
  const { text: title, hint } = faults[code]
  const sentence = sentenceOf(status)
  const problem = { type: `urn:windlass:fault:${code}`, title, status, detail: sentence, message: sentence, code, hint }
  return {
    status,
    contentType: 'application/problem+json',
    headers: status === 429 ? { 'retry-after': '60' } : {},
    body: JSON.stringify({ ...problem, requestId: 'request-of-the-test' }),
  }
}

let web: WebScene
let bare: HttpScene
let build: string
let opened: WatchedPage
/** Addresses that the document in the tab has asked for. */
let asked: string[] = []
let openedOnBare: WatchedPage

beforeAll(async () => {
  web = await openWebScene()
  bare = await openServer()
  build = (await failBuild(web.server, { pipeline: 'demo/app', document: undefined })).id
  opened = await web.open()
  opened.page.on('request', (request) => asked.push(request.url()))
  openedOnBare = await openPage(web.browser, { url: bare.server.url, key: bare.adminToken })
  await openedOnBare.page.goto('/nothing-here')
})
afterEach(() => opened.page.unrouteAll())
afterAll(async () => {
  await opened[Symbol.asyncDispose]()
  await openedOnBare[Symbol.asyncDispose]()
  await bare[Symbol.asyncDispose]()
  await web[Symbol.asyncDispose]()
})

describe.each(SCREENS)('the screen "$name"', (screen) => {
  const { path, call, empty } = screen

  /** Loads the page unless the document in the tab has no answer for the screen. A test that routes calls does so later: it turns the cache off. */
  const haveDocument = async (): Promise<void> => {
    if (asked.length > 0 && !asked.some((url) => call.test(url))) return
    asked = []
    await opened.page.goto('/nothing-here')
  }

  test('shows bars while its answer is on the way, and the content after it (W014)', async () => {
    const { page } = opened
    await haveDocument()
    const held = Promise.withResolvers<void>()
    await page.route(call, async (route) => {
      await held.promise
      await route.continue()
    })
    await follow(page, path({ build }))
    await page.getByRole('status', { name: /^Loading/ }).waitFor()
    await expect
      .poll(() =>
        page
          .getByRole('status', { name: /^Loading/ })
          .locator('div')
          .count(),
      )
      .toBeGreaterThan(0)
    expect(await contentOf(page, screen).isVisible()).toBe(false)
    held.resolve()
    await contentOf(page, screen).waitFor()
    expect(opened.seen).toEqual([])
  })

  test('says what the answers 403, 404, 429 and 500 mean, and tries again (W014)', async () => {
    const { page } = opened
    const main = page.locator('main')
    await haveDocument()
    // A call that is repeated gets the answer of the moment.
    let answered: Status = STATUSES[0]
    await page.route(call, (route) => route.fulfill(problemOf(answered)))
    const retry = main.getByRole('alert').filter({ hasText: ANSWERED }).first().getByRole('button', { name: 'Try again' })
    await follow(page, path({ build }))
    for (const status of STATUSES) {
      if (status !== answered) {
        answered = status
        await retry.click()
      }
      const alert = main
        .getByRole('alert')
        .filter({ hasText: sentenceOf(status) })
        .first()
      await alert.waitFor()
      await expect.poll(() => alert.textContent()).toContain(faults[PROBLEMS[status]].hint.split('`')[0])
      if (status === 429) expect(await alert.textContent()).toContain('60 s')
      if (status === 500) expect(await alert.textContent()).toContain('request-of-the-test')
      if (empty !== undefined) expect(await page.getByText(empty).count()).toBe(0)
    }
    await page.unroute(call)
    await retry.click()
    await contentOf(page, screen).waitFor()
    expect(opened.seen).toEqual([])
  })

  // A screen of one thing is never empty.
  if (empty === undefined) return

  test('says in one sentence that there is nothing, and what changes it (W014)', async () => {
    const { page, seen } = openedOnBare
    await follow(page, path({ build }))
    const main = page.locator('main')
    await main.getByText(empty).waitFor()
    await main.locator('code, button, a').first().waitFor()
    expect(seen).toEqual([])
  })
})
