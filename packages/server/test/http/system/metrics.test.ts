/** `/metrics`: with a credential on the API port, without one on a separate port. Scrapes do not load the database. */
import { manualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { freePort } from '../../../../../e2e/support/process.ts'
import { openHttpScene } from '../../support/http-scene.ts'

/** Returns the number of builds that have not ended. */
function liveBuilds(text: string): number {
  const counts = [...text.matchAll(/^windlass_builds\{.*\} (\d+)$/gm)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

test('the metrics port serves only metrics, without a credential', async () => {
  const metricsPort = await freePort()
  await using scene = await openHttpScene({ metricsPort })
  await scene.submit()
  const at = `http://127.0.0.1:${metricsPort}`
  const answer = await fetch(`${at}/metrics`)
  expect([answer.status, liveBuilds(await answer.text())]).toEqual([200, 1])
  for (const path of ['/', '/v1/builds', '/v1/status', '/healthz']) expect((await fetch(at + path)).status).toBe(404)
  expect((await fetch(`${scene.server.url}/metrics`)).status).toBe(401)
})

test('queries the database at most once per second for any number of scrapes', async () => {
  const clock = manualClock(Date.now())
  await using scene = await openHttpScene({ clock })
  const scrape = async (): Promise<number> => liveBuilds(await scene.admin.text('GET', '/metrics'))
  const all = await Promise.all(Array.from({ length: 10 }, scrape))
  expect(all).toEqual(Array.from({ length: 10 }, () => 0))
  await scene.submit()
  expect(await scrape()).toBe(0)
  clock.advance(1000)
  expect(await scrape()).toBe(1)
})
