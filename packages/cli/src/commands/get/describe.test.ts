import { openClient } from '@windlass/client'
import { expect, test } from 'vitest'
import { styleFor } from '../../format/style.ts'
import { toRecord } from '../../follow/record.ts'
import { summarize } from '../../follow/summary.ts'
import { hasEnded } from '../../follow/until-final.ts'
import { describe } from './describe.ts'

/** A build of a newer server, whose lists have further values. */
const NEWER = {
  id: '65a1b2c3d4e5f60718293a4b',
  number: 7,
  status: 'evicted',
  reason: 'quota-exceeded',
  initiator: 'admin',
  trigger: { kind: 'pigeon' },
  attempt: 1,
  retries: 0,
  createdAt: 1,
  startedAt: 1,
  finishedAt: 1_001,
  steps: [{ name: 'a', title: 'A', type: 'freestyle', status: 'napping', reason: 'tired', try: 1 }],
  attempts: [{ number: 1, status: 'floating', reason: 'solar-flare', createdAt: 1, retryDecision: 'delegated' }],
  approvals: [{ step: 'a', waitingSince: 1, expiresAt: 2, decision: 'deferred', by: { name: 'ann', type: 'user' } }],
}

const read = (): ReturnType<ReturnType<typeof openClient>['builds']['get']> => {
  const text = JSON.stringify(NEWER)
  const answer = { status: 200, headers: {}, text: async () => text, body: (async function* () {})() }
  return openClient({ url: 'http://server', transport: async () => answer }).builds.get(NEWER.id)
}

test('shows states, reasons and decisions of a newer server as text', async () => {
  const text = describe(await read(), { style: styleFor(false), now: 2_000 }).join('\n')
  expect(text).toMatch(/^Status: +evicted \(quota-exceeded\)$/m)
  expect(text).toMatch(/^Reason: +quota-exceeded$/m)
  expect(text).toMatch(/^a +freestyle +· napping +tired$/m)
  expect(text).toMatch(/^1 +floating +solar-flare \(delegated\)$/m)
  expect(text).toContain('Approval of a: deferred by ann')
})

test('a build with a further final status has ended, and its last line names the status', async () => {
  const build = await read()
  expect(hasEnded(build)).toBe(true)
  const terminal = { style: styleFor(false), columns: 120 } as Parameters<typeof summarize>[1]['terminal']
  const summary = summarize(toRecord(build), { terminal } as Parameters<typeof summarize>[1])
  expect(summary.join('\n')).toMatch(/^· Build \w+ ended with the status evicted after .*: quota-exceeded$/m)
})
