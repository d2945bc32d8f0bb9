/** Waits for what a page does, instead of a fixed time. */
import type { Locator, Page, Response } from 'playwright-core'
import type { Screen } from './screens.ts'

/** Resolves when no part of the screen waits for an answer of the server. */
export async function loaded(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelector('[aria-label^="Loading "]') === null)
}

/** Resolves after the page has drawn what it knows now. */
export function drawn(page: Page): Promise<void> {
  return page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise((next) => requestAnimationFrame(next))
  })
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
