/** Sessions in requests for jobs, at a fake coordinator. */
import { systemClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { openPair } from '../../../../e2e/gitlab/support/coordinator-pair.ts'
import { openTerminal } from '../../../../e2e/gitlab/support/terminal-client.ts'
import { freePort } from '../../../../e2e/support/process.ts'
import { RunnerConfig } from '../config/schema.ts'
import { openTerminals } from './terminals.ts'

const Body = z.object({ session: z.object({ url: z.string(), certificate: z.string(), authorization: z.string() }) })

test('each request for a job has a session of its own, and only that of a job stays (G096)', async () => {
  const { fake, client, log } = await openPair({ clock: systemClock })
  const port = await freePort()
  const configOf = (timeout: number): RunnerConfig =>
    RunnerConfig.parse({ session_server: { listen_address: `127.0.0.1:${port}`, session_timeout: timeout } })
  let config = configOf(60)
  const terminals = await openTerminals(() => config, { clock: systemClock, log })
  onTestFinished(() => terminals.close())
  const request = (): Promise<unknown> =>
    terminals.request('entry', (session) => client.requestJob({ systemId: 'r_one', session }))
  await request()
  config = configOf(90)
  fake.enqueue({ id: 7, token: 'glcbt-seven' })
  await request()
  const offers = fake.of('request').map(({ json }) => Body.parse(json).session)
  const session = terminals.take('entry', 7)
  expect(offers).toEqual([expect.anything(), session?.offer])
  expect([offers[0]?.url === offers[1]?.url, session?.timeoutS]).toEqual([false, 90])
  expect(terminals.take('entry', 7)).toBeUndefined()
  expect(await Promise.all(offers.map((offer) => openTerminal(offer)))).toEqual([404, 503])
  expect(terminals.count()).toBe(0)
})

test('without an address to listen on, requests have no session', async () => {
  const { fake, client, log } = await openPair({ clock: systemClock })
  const terminals = await openTerminals(() => RunnerConfig.parse({}), { clock: systemClock, log })
  await terminals.request('entry', (session) => client.requestJob({ systemId: 'r_one', session }))
  expect(fake.of('request').map(({ json }) => json)).toEqual([expect.not.objectContaining({ session: expect.anything() })])
  expect([terminals.hasServer, terminals.count()]).toEqual([false, undefined])
})
