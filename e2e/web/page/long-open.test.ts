/** A page that stays open while much happens. */
import { pathOf } from '@windlass/client'
import { ENGINE_ROUTES } from '@windlass/client/engine'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CDPSession } from 'playwright-core'
import { EventAck } from '@windlass/protocol'
import { runBuild } from '../support/seeds.ts'
import { live } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

const UPDATES = 10_000
const BATCH = 250
const MAX_GROWTH_BYTES = 20_000_000

let web: WebScene

beforeAll(async () => {
  web = await openWebScene()
})
afterAll(() => web[Symbol.asyncDispose]())

interface Size {
  readonly heap: number
  readonly elements: number
}

/** Returns what a page holds after a collection of what it no longer needs. */
async function sizeOf(session: CDPSession): Promise<Size> {
  await session.send('HeapProfiler.collectGarbage')
  const { metrics } = await session.send('Performance.getMetrics')
  const { result } = await session.send('Runtime.evaluate', { expression: 'document.querySelectorAll("*").length' })
  return {
    heap: metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? 0,
    elements: Number(result.value),
  }
}

test('10,000 updates leave the heap within 20 MB and the elements within 5 %, on the list and on the build (W095)', async () => {
  const { build, engine } = await runBuild(web.server, { pipeline: 'demo/app', document: undefined })
  await using list = await web.open()
  await using one = await web.open()
  await list.page.goto('/builds')
  await one.page.goto(`/builds/${build.id}`)
  await list.page.locator('[data-build]').first().waitFor()
  await one.page.getByRole('link', { name: 'install' }).first().waitFor()
  const sessions: CDPSession[] = []
  for (const { page } of [list, one]) {
    await live(page)
    const session = await page.context().newCDPSession(page)
    await session.send('Performance.enable')
    sessions.push(session)
  }
  let seq = 1_000_000
  let known = 0
  const send = async (count: number): Promise<void> => {
    const events = Array.from({ length: count }, () => {
      seq += 1
      known += 1
      const usage = { memoryPeakBytes: 1_000_000 + known, memoryLimitBytes: 2_147_483_648, cpuMs: known }
      return { type: 'step.usage', step: 'install', usage, seq, at: Date.now() }
    })
    await engine.client.call('POST', pathOf(ENGINE_ROUTES.sendEvents), EventAck, { body: { events } })
  }
  // The numbers of an engine have no gaps.
  seq =
    (await engine.event({ type: 'step.usage', step: 'install', usage: { memoryPeakBytes: 1, memoryLimitBytes: 2, cpuMs: 1 } })) ??
    0
  await send(BATCH * 2)
  const before = await Promise.all(sessions.map(sizeOf))
  const documents = [list, one].map(({ page }) => {
    let count = 0
    page.on('request', (request) => {
      if (request.isNavigationRequest()) count += 1
    })
    return () => count
  })
  for (let sent = 0; sent < UPDATES; sent += BATCH) {
    await send(BATCH)
    // Builds that start and end change the list as well.
    if (sent % 1_000 === 0) {
      await web.server.admin.annotations.put('build', build.id, { values: { update: String(sent) }, display: 'update' })
      await one.page.waitForTimeout(50)
    }
  }
  // The server has taken the last of them.
  const { steps: used } = await web.server.admin.builds.usage(build.id)
  const points = used.find(({ step }) => step === 'install')?.points ?? []
  expect(Math.max(...points.map(({ memoryBytes = 0 }) => memoryBytes))).toBe(1_000_000 + known)
  await one.page.waitForTimeout(1_500)
  const after = await Promise.all(sessions.map(sizeOf))
  for (const [index, { heap, elements }] of after.entries()) {
    const first = before[index] ?? { heap: 0, elements: 0 }
    expect(heap - first.heap).toBeLessThan(MAX_GROWTH_BYTES)
    expect(Math.abs(elements - first.elements)).toBeLessThanOrEqual(first.elements * 0.05)
  }
  expect(documents.map((count) => count())).toEqual([0, 0])
  expect([...list.seen, ...one.seen]).toEqual([])
})
