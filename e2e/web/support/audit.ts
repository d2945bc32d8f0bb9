/** Audits what a page shows for accessibility, and for content that is wider than its window. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { drawn, loaded } from './waits.ts'

/** The script of the audit. A debugger puts it into a page, which the policy would not allow: the page needs `bypassCSP`. */
export const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The looks in which each screen is audited. */
const LOOKS = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 1280 },
  { colorScheme: 'light', width: 360 },
] as const
/** The rules of the audit that depend on colors. In another color scheme, nothing else differs. */
const OF_COLORS = ['color-contrast', 'link-in-text-block']

/** Returns the serious breaches in each look, and where the page scrolls sideways. */
export async function auditLooks(page: Page, place: string): Promise<object[]> {
  const wrong: object[] = []
  for (const { colorScheme, width } of LOOKS) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 800 })
    await drawn(page)
    await loaded(page)
    const breaches = await breachesOf(page, colorScheme === 'dark' ? OF_COLORS : undefined)
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    if (breaches.length > 0 || wider !== 0) wrong.push({ place, colorScheme, width, breaches, wider })
  }
  return wrong
}

/** Audits a page that has the script of the audit, by all rules or by these. */
async function breachesOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  return page.evaluate(async (runOnly) => {
    const { axe } = window as unknown as {
      axe: { run(options: object): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> }
    }
    // Without this, half of the time is spent on naming the elements that are as they should be.
    const { violations } = await axe.run({ resultTypes: ['violations'], ...(runOnly !== undefined && { runOnly }) })
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
  }, rules)
}
