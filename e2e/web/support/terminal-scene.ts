/** A build with a held step, and the terminal of it in a page. */
import { engineCalls } from '@windlass/client/engine'
import type { Build, Command } from '@windlass/protocol'
import type { Frame, FrameLocator, Page } from 'playwright-core'
import type { TestEngine } from '../../../packages/server/test/support/fakes/fake-agent.ts'
import { holdStep, serveTerminal, type FakeTerminal } from '../../../packages/server/test/support/fakes/fake-terminal.ts'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { runBuild } from './seeds.ts'

export interface HeldBuild {
  readonly build: Build
  readonly engine: TestEngine
  /** Resolves with the next command of a type that the engine gets. */
  next<T extends Command['type']>(type: T): Promise<Extract<Command, { type: T }>>
}

/** Runs a build up to its step `install`, which the debugger holds. */
export async function holdBuild(scene: HttpScene, input: object = {}): Promise<HeldBuild> {
  const { build, engine } = await runBuild(scene, { debug: { steps: { install: ['override'] } }, ...input })
  await holdStep(engine, 'install')
  return { build, engine, next: commandsOf(engine) }
}

/** Returns a function that waits for the next command of a type. Others before it are dropped. */
export function commandsOf(engine: TestEngine): HeldBuild['next'] {
  let after = 0
  return async <T extends Command['type']>(type: T) => {
    const late = AbortSignal.timeout(60_000)
    for (;;) {
      const { commands } = await engineCalls(engine.client).commands({ query: { after, waitMs: 1_000 }, signal: late })
      for (const command of commands) {
        after = command.id
        if (command.type === type) return command as Extract<Command, { type: T }>
      }
    }
  }
}

/** Opens a terminal in the held step through the card of the page, and serves it. */
export async function openTerminal(
  page: Page,
  { build, engine, next }: HeldBuild,
  answer?: (keys: string) => string,
): Promise<{ readonly shell: FakeTerminal; readonly id: string; readonly frame: FrameLocator }> {
  await page.goto(`/builds/${build.id}`)
  await page.getByRole('region', { name: 'Held step install' }).getByRole('button', { name: 'Open a terminal' }).click()
  const { terminal: id } = await next('terminal')
  const shell = serveTerminal(engine, id, answer)
  const frame = page.frameLocator('iframe')
  // The field is not visible, because the screen draws what is typed.
  await frame.getByRole('textbox').waitFor({ state: 'attached' })
  return { shell, id, frame }
}

/** Returns the lines on the screen of a terminal, without empty ones at the end. */
export async function screenOf(frame: FrameLocator | Frame | Page): Promise<string> {
  const rows = await frame.locator('.xterm-rows > div').allTextContents()
  return rows
    .map((row) => row.replaceAll('\u00A0', ' ').trimEnd())
    .join('\n')
    .trim()
}

/** Pastes a text into the terminal. */
export async function paste(frame: FrameLocator, text: string): Promise<void> {
  await frame.getByRole('textbox').evaluate((field, pasted) => {
    const clipboardData = new DataTransfer()
    clipboardData.setData('text/plain', pasted)
    field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
  }, text)
}
