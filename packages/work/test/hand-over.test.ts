/** Units of a process that loses the lease. How two replicas hand the lease over is shown in `packages/agent/test/v1-loop.test.ts`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock, silentLog, systemClock } from '@windlass/kit'
import { openLeadership, type Leadership } from '@windlass/kube'
import { expect, test } from 'vitest'
import { recordPauses } from '../../../e2e/support/clocks.ts'
import { openFakeKube } from '../../agent/test/support/fake-kube.ts'
import { openWork } from '../src/index.ts'

const leaseMs = 15_000
const ref = { kind: 'Lease', namespace: 'runner', name: 'puller' } as const

test('ends a term when another process takes the lease, and finishes the units that it has accepted', async () => {
  await using api = await openFakeKube()
  const kube = api.kube()
  const clock = recordPauses(manualClock())
  const lease = { kube, namespace: ref.namespace, name: ref.name, clock, log: silentLog, leaseMs }
  const leadership: Leadership = openLeadership({ ...lease, holder: 'a' })
  const dir = mkdtempSync(join(tmpdir(), 'work-'))
  const held = Promise.withResolvers<void>()
  const reports: string[] = []
  const work = openWork<string, string>({
    dir,
    setting: 'DIR',
    encode: String,
    decode: String,
    decodeReport: String,
    clock: systemClock,
    log: silentLog,
    limits: () => ({ concurrency: 1, buffer: 10 }),
    failure: (_, error) => String(error),
    isRefusal: () => false,
    async run({ units }, { signal, finish }) {
      await held.promise
      for (const unit of units) await finish(unit, signal.aborted ? 'aborted' : 'done')
    },
    report: async (key, report) => void reports.push(`${key} ${report}`),
  })
  const stop = new AbortController()
  const terms: boolean[] = []
  const leading = leadership.lead(async (term) => {
    terms.push(term.aborted)
    if (terms.length === 1) await work.accept([{ group: '', lane: '', units: [{ key: 'unit', task: '' }] }])
    await systemClock.sleep(60_000, AbortSignal.any([term, stop.signal])).catch(() => undefined)
    terms.push(term.aborted)
  }, stop.signal)
  while (work.running === 0) await systemClock.sleep(10)
  await kube.patch(ref, { spec: { holderIdentity: 'b', leaseTransitions: 1 } })
  let passed = clock.pauses.length
  clock.advance(leaseMs / 5)
  while (terms.length < 2) await systemClock.sleep(10)
  expect(terms).toEqual([false, true])
  held.resolve()
  await work.idle()
  expect(reports).toEqual(['unit done'])
  // The other process never renews, so this one gets the lease again when it has expired.
  while (terms.length < 3) {
    // Time passes only between the calls.
    for (const ms of clock.pauses.slice(passed)) clock.advance(ms)
    passed = clock.pauses.length
    await systemClock.sleep(10)
  }
  stop.abort()
  await leading
  expect(terms).toEqual([false, true, false, false])
  expect((await kube.find(ref))?.['spec']).toMatchObject({ holderIdentity: '' })
  await work.close()
  rmSync(dir, { recursive: true })
})
