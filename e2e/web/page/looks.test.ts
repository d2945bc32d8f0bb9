/** Themes, forced colors and reduced motion on every screen. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { SCREENS } from '../support/screens.ts'
import { failBuild, runBuild } from '../support/seeds.ts'
import { contentOf, loaded, show } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene
let build: string

beforeAll(async () => {
  web = await openWebScene()
  build = (await failBuild(web.server, { pipeline: 'demo/app', document: undefined })).id
  await runBuild(web.server)
})
afterAll(() => web[Symbol.asyncDispose]())

/** Notes the color of the ground each time the browser is about to paint, from the first frame on. */
const NOTE_GROUNDS = `
  window.__grounds = new Set()
  const note = () => {
    if (document.documentElement !== null) window.__grounds.add(getComputedStyle(document.documentElement).backgroundColor)
    requestAnimationFrame(note)
  }
  requestAnimationFrame(note)
`
const LIGHT = 'rgb(249, 250, 252)'
const DARK = 'rgb(15, 19, 25)'
/** Before the styles are there, the ground has no color of its own: the browser paints that of the color scheme. */
const NONE = 'rgba(0, 0, 0, 0)'

async function groundsOf(page: Page): Promise<string[]> {
  const grounds = await page.evaluate(() => [...(window as unknown as { __grounds: Set<string> }).__grounds])
  return grounds.filter((ground) => ground !== NONE)
}

test.each([
  { colorScheme: 'light', theme: undefined, expected: LIGHT },
  { colorScheme: 'dark', theme: undefined, expected: DARK },
  { colorScheme: 'light', theme: 'dark', expected: DARK },
  { colorScheme: 'dark', theme: 'light', expected: LIGHT },
] as const)('in a $colorScheme system with the choice $theme no screen paints the other theme (W091)', async (way) => {
  const { colorScheme, theme, expected } = way
  await using opened = await web.open({ colorScheme })
  const { page } = opened
  await page.addInitScript(NOTE_GROUNDS)
  if (theme !== undefined) await page.addInitScript(`localStorage.setItem('windlass.looks', '${JSON.stringify({ theme })}')`)
  // The theme is set before the first screen of a document. The others come into the same document.
  const [first = '', ...others] = SCREENS.map((screen) => screen.path({ build }))
  await page.goto(first)
  await page.getByRole('heading', { level: 1 }).waitFor()
  expect(await groundsOf(page)).toEqual([expected])
  for (const path of others) {
    await show(page, path)
    expect({ path, grounds: await groundsOf(page) }).toEqual({ path, grounds: [expected] })
  }
})

test('the theme and the density can be chosen, and are kept (W091)', async () => {
  await using opened = await web.open({ colorScheme: 'light' })
  const { page } = opened
  await page.goto('/builds')
  await page.getByRole('button', { name: 'Theme: system' }).click()
  await page.getByRole('menuitem', { name: 'Dark' }).click()
  const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
  await expect.poll(ground).toBe(DARK)
  await page.reload()
  await page.getByRole('button', { name: 'Theme: dark' }).click()
  await page.getByRole('menuitem', { name: 'Like the system' }).click()
  await expect.poll(ground).toBe(LIGHT)
  await page.emulateMedia({ colorScheme: 'dark' })
  await expect.poll(ground).toBe(DARK)
})

test('without reduced motion the arc of a running build turns (W091)', async () => {
  await using opened = await web.open({ reducedMotion: 'no-preference' })
  await opened.page.goto('/builds')
  await opened.page.getByText('Running', { exact: true }).first().waitFor()
  await expect.poll(() => opened.page.evaluate(() => document.getAnimations().length)).toBeGreaterThan(0)
})

test('with reduced motion nothing moves on any screen; with forced colors states keep their shape and their word, and what is current is marked (W091)', async () => {
  await using opened = await web.open({ reducedMotion: 'reduce', forcedColors: 'active' })
  const { page } = opened
  await page.goto('/nothing-here')
  for (const screen of SCREENS) {
    await show(page, screen.path({ build }))
    const moving = await page.evaluate(() => document.getAnimations().length)
    expect({ screen: screen.name, moving }).toEqual({ screen: screen.name, moving: 0 })
    await contentOf(page, screen).waitFor()
    await loaded(page)
    const unseen = await page.evaluate(() => {
      const ground = getComputedStyle(document.body).backgroundColor
      return [...document.querySelectorAll('svg[data-tone]')].flatMap((mark) =>
        [...mark.querySelectorAll('path:not([class*="over"]), circle, rect')].flatMap((part) => {
          const { stroke, fill } = getComputedStyle(part)
          const isSeen = [stroke, fill].some((color) => color !== 'none' && color !== 'rgba(0, 0, 0, 0)' && color !== ground)
          return isSeen ? [] : [part.outerHTML]
        }),
      )
    })
    expect({ screen: screen.name, unseen }).toEqual({ screen: screen.name, unseen: [] })
    const current = page.locator('nav [aria-current="page"]').first()
    if ((await current.count()) === 0) continue
    const isMarked = await current.evaluate((element) => {
      const other = element.parentElement?.querySelector(':scope > a:not([aria-current])')
      if (other === null || other === undefined) return true
      const looksOf = (one: Element): string => {
        const { outlineStyle, borderBottomColor, borderBottomStyle, borderLeftStyle, textDecorationLine, fontWeight } =
          getComputedStyle(one)
        return [
          outlineStyle,
          borderBottomStyle === 'none' ? '' : borderBottomColor,
          borderLeftStyle,
          textDecorationLine,
          fontWeight,
        ].join()
      }
      return looksOf(element) !== looksOf(other)
    })
    expect({ screen: screen.name, isMarked }).toEqual({ screen: screen.name, isMarked: true })
  }
})
