/**
 * Hostile documents that are expensive to process, from several viewers at once: the latency of the health check meanwhile, and the memory of the
 * server.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { nodeTransport } from '@windlass/kit'
import { openClient, type ApiClient } from '@windlass/client'
import { loopbackRoundTrip } from '../../floors/loopback.ts'
import { bareNodeMiB, familyRssMiB } from '../../floors/processes.ts'
import { single, spread, type Line, type Row } from '../../row.ts'
import { openFakeStack } from '../../stack/fake.ts'
import type { SenderData } from './hostile-senders.ts'

const VIEWERS = 4
const CALLS_EACH = 12
const RUN_MS = 20_000
const LOOK_MS = 50
/** Every response counts, including refusals. */
export const hostileDocuments: Line = { name: 'hostile-documents', measure }

async function measure(): Promise<Row[]> {
  const loopback = await loopbackRoundTrip(200)
  const bare = await bareNodeMiB()
  await using stack = await openFakeStack()
  const url = stack.server.ready[0] ?? ''
  const plain = openClient({ url, transport: nodeTransport() })
  const tokens = await Promise.all(Array.from({ length: VIEWERS }, (_, n) => viewer(stack.client, n)))
  // Runs in its own thread, so that the cost of the senders does not count as time of /healthz.
  const senders = new Worker(new URL('./hostile-senders.ts', import.meta.url), {
    workerData: { url, tokens, callsEach: CALLS_EACH } satisfies SenderData,
  })
  const times: number[] = []
  const memory: number[] = []
  const until = performance.now() + RUN_MS
  while (performance.now() < until) {
    const startedAt = performance.now()
    await plain.text('GET', '/healthz')
    times.push(performance.now() - startedAt)
    memory.push(await familyRssMiB(stack.server.pid ?? 0))
    await sleep(LOOK_MS)
  }
  senders.postMessage('stop')
  const [answers] = (await once(senders, 'message')) as [ReadonlyMap<string, number>]
  await senders.terminate()
  const note = [...answers].map(([what, count]) => `${count} ${what}`).join(', ')
  const health = spread(times)
  return [
    {
      name: 'hostile-health',
      figure: `slowest /healthz during ${VIEWERS * CALLS_EACH} calls with hostile documents`,
      unit: 'ms',
      value: { ...health, median: health.max },
      warmUp: 0,
      floor: { what: 'a POST over loopback', value: loopback },
      goal: 100,
      note,
    },
    {
      name: 'hostile-memory',
      figure: 'highest resident memory of the server and its document process during these calls',
      unit: 'MiB',
      value: single(Math.max(...memory)),
      warmUp: 0,
      floor: { what: 'a Node process that only waits', value: single(bare) },
      goal: 400,
    },
  ]
}

async function viewer(admin: ApiClient, n: number): Promise<string> {
  const { token } = await admin.keys.create({ name: `viewer-${n}`, role: 'viewer' })
  return token
}
