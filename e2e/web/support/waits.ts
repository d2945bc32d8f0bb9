/** Waits for what a page does, instead of a fixed time. */
import type { Locator, Page, Response } from 'playwright-core'
import type { Screen } from './screens.ts'

/** Resolves when no part of the screen waits for an answer of the server. */
export async function loaded(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelector('[aria-label^="Loading "]') === null)
}

/** Goes to another screen in a loaded page, as its links do. To load the page anew takes six times the processor time. */
export function follow(page: Page, path: string): Promise<void> {
  return page.evaluate((to) => history.pushState(null, '', to), path)
}

/** Goes to another screen in a loaded page, and resolves when it has its answers. */
export async function show(page: Page, path: string): Promise<void> {
  await follow(page, path)
  await drawn(page)
  // A dialog hides the heading from roles.
  await page.locator('h1').first().waitFor()
  await loaded(page)
}

/** Resolves when changes arrive by themselves. */
export async function live(page: Page): Promise<void> {
  await page.getByText('live', { exact: true }).waitFor()
}

/** Resolves after the page has drawn what it knows now. */
export function drawn(page: Page): Promise<void> {
  return page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise((next) => requestAnimationFrame(next))
  })
}

/** Goes to the page of a build, and resolves when the build is seen and its keys work. While it loads, the page has the heading `Build` and none of the keys. */
export async function openBuild(page: Page, { id, number }: { readonly id: string; readonly number: number }): Promise<void> {
  await page.goto(`/builds/${id}`)
  await page.getByRole('heading', { level: 1, name: new RegExp(`#${number}$`) }).waitFor()
  // Parts of the page that are drawn after the heading have keys of their own.
  await drawn(page)
}

/** Two keys that are pressed within this time are one shortcut for the page, which gives them 1.2 s. Milliseconds. */
const SEQUENCE_MS = 1_000
const SEQUENCE_TRIES = 20

/** Presses two keys that are one shortcut. Presses them again if the machine was paused in between. The shortcut may act twice. */
export async function pressBoth(page: Page, first: string, second: string): Promise<void> {
  for (let tries = 0; tries < SEQUENCE_TRIES; tries += 1) {
    const from = performance.now()
    await page.keyboard.press(first)
    await page.keyboard.press(second)
    if (performance.now() - from < SEQUENCE_MS) return
  }
}

/** Runs `work`, and resolves with its result once the page has the answer of a call, and has drawn it. */
export async function withAnswer<T>(page: Page, path: string, work: () => Promise<T>): Promise<T> {
  const [answer, result] = await Promise.all([page.waitForResponse((one) => isOf(one, path)), work()])
  await answer.finished()
  await drawn(page)
  return result
}

function isOf(answer: Response, path: string): boolean {
  return new URL(answer.url()).pathname === path
}

/** Returns the text of a screen that has its answer. The titles of drawings are texts that nobody sees. */
export function contentOf(page: Page, { shows }: Pick<Screen, 'shows'>): Locator {
  return page.locator('main').getByText(shows).filter({ visible: true }).first()
}
