/** The developer whose build failed gets a shell in its step: in Chromium, with a real engine on real Docker. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FrameLocator, Page } from 'playwright-core'
import { ensureImages } from '../../support/images.ts'
import { startDockerEngine, type DockerEngine } from '../../../packages/server/test/support/fakes/docker-engine.ts'
import { fastest } from '../support/fastest.ts'
import { screenOf } from '../support/terminal-scene.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

/** Time from the click to a prompt. Milliseconds. */
const PROMPT_MS = 20_000
/** Time for each thing that is not measured. Milliseconds. */
const WAIT_MS = 60_000

let web: WebScene
let images: Readonly<Record<string, string>>

beforeAll(async () => {
  images = await ensureImages('shell', 'tools')
  web = await openWebScene()
})

afterAll(() => web[Symbol.asyncDispose]())

async function type(page: Page, line: string): Promise<void> {
  await page.keyboard.type(line)
  await page.keyboard.press('Enter')
}

/** Waits until a line of the screen matches. */
async function sees(frame: FrameLocator, pattern: RegExp): Promise<void> {
  await expect.poll(() => screenOf(frame), { timeout: WAIT_MS }).toMatch(pattern)
}

test('from Debug on a failed build to a prompt in its container; Ctrl-C, colors, an editor and resizing work; again, fail and go on do what they say (W038)', async () => {
  const { server } = web
  const tools = { toolsImage: images['TOOLS_IMAGE'] }
  const document = JSON.stringify({
    version: '1.0',
    steps: {
      flaky: {
        image: images['SHELL_IMAGE'],
        environment: ['WORD=from-the-step'],
        commands: ['echo looking', 'test -e mended'],
      },
    },
  })
  const failed = await server.submit({ document })
  {
    await using first = await startDockerEngine(server, tools)
    await first.engine.ended
  }
  await using opened = await web.open({ viewport: { width: 1_280, height: 900 } })
  const { page, seen } = opened
  const debug = page.getByRole('button', { name: 'Debug: run again and stop there' })
  const frame = page.frameLocator('iframe')
  const engines: DockerEngine[] = []
  const stopEngines = async (): Promise<void> => {
    for (const engine of engines.splice(0)) await engine[Symbol.asyncDispose]()
  }
  await using _engines = { [Symbol.asyncDispose]: stopEngines }
  const took = await fastest(PROMPT_MS, async (start) => {
    for (const { buildId } of engines) await server.admin.builds.terminate(buildId)
    await stopEngines()
    await page.goto(`/builds/${failed.id}`)
    await debug.waitFor()
    start()
    await debug.click()
    await page.waitForURL(/\/debug\?stop=flaky$/)
    engines.push(await startDockerEngine(server, tools))
    await sees(frame, /[$#]$/)
  })
  expect(took).toBeLessThan(PROMPT_MS)
  const [running] = engines
  if (running === undefined) throw new Error('no engine runs')

  await frame.getByRole('textbox').focus()
  await type(page, 'echo "$WORD $((6 * 7))"')
  await sees(frame, /^from-the-step 42$/m)
  // A shell that still reads its line takes Ctrl-C as a character.
  await type(page, 'echo begun "here"; sleep 1000')
  await sees(frame, /^begun here$/m)
  await page.keyboard.press('Control+c')
  await type(page, 'echo still "here"')
  await sees(frame, /^still here$/m)
  await type(page, String.raw`printf '\033[31mred\033[0m\n'`)
  await sees(frame, /^red$/m)
  const red = frame.locator('.xterm-rows span').filter({ hasText: /^red$/ })
  await expect.poll(() => red.evaluate((span) => span.className)).toContain('xterm-fg-1')

  const sizeNow = async (): Promise<string> => {
    await type(page, 'clear; echo "size $(stty size)"')
    await sees(frame, /^size \d+ \d+$/m)
    return /^size (\d+ \d+)$/m.exec(await screenOf(frame))?.[1] ?? ''
  }
  const before = await sizeNow()
  await page.setViewportSize({ width: 1_000, height: 700 })
  await expect.poll(sizeNow, { timeout: WAIT_MS, interval: 500 }).not.toBe(before)

  await type(page, 'vi mended')
  // The editor tells its mode in its last row: `-` for commands, `I` for text. An Escape with a key behind it is another key to it.
  // A change of size that reaches it late erases this row, and Ctrl-G draws it again.
  const askMode = async (): Promise<string> => {
    await page.keyboard.press('Control+g')
    return screenOf(frame)
  }
  await expect.poll(askMode, { timeout: WAIT_MS, interval: 500 }).toMatch(/^- mended /m)
  await page.keyboard.type('iwritten in an editor')
  await sees(frame, /^I mended /m)
  await page.keyboard.press('Escape')
  await sees(frame, /^- mended /m)
  await type(page, ':wq')
  await sees(frame, /[$#]$/)
  await type(page, 'clear; cat mended')
  await sees(frame, /^written in an editor$/m)

  const card = page.getByRole('region', { name: 'Held step flaky' })
  await card.getByRole('button', { name: 'Retry' }).click()
  await running.engine.ended
  expect(await server.admin.builds.get(running.buildId)).toMatchObject({
    status: 'success',
    steps: [{ name: 'flaky', try: 2 }],
  })

  await page.goto(`/builds/${running.buildId}/debug`)
  await page.getByLabel('flaky: after').check()
  await page.getByLabel('flaky: in place').check()
  await page.getByRole('button', { name: 'Restart with 2 breakpoints' }).click()
  await page.waitForURL((url) => url.pathname.endsWith('/debug') && !url.pathname.includes(running.buildId))
  await using third = await startDockerEngine(server, tools)
  await page.getByText('instead of the step').waitFor({ timeout: WAIT_MS })
  await card.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('when the step has ended, since').waitFor({ timeout: WAIT_MS })
  await card.getByRole('button', { name: 'Fail' }).click()
  await third.engine.ended
  expect(await server.admin.builds.get(third.buildId)).toMatchObject({ steps: [{ name: 'flaky', reason: 'debug-failed' }] })
  expect(seen).toEqual([])
})
