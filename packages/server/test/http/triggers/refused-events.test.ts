/** Events with more content than the server accepts. The build continues, and its feed reports what is missing. */
import { Build, EventAck, FeedItem } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const Feed = z.object({ items: z.array(FeedItem) })

async function noticesOf(scene: HttpScene, id: string): Promise<unknown[]> {
  const { items } = await scene.admin.call('GET', `/v1/builds/${id}/feed`, Feed)
  return items.flatMap((item) => (item.kind === 'event' && item.type === 'notice' ? [item.data['message']] : []))
}

const started = { type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true }
const ended = { type: 'attempt.finished', outcome: { status: 'success' }, streams: {} }
const annotated = { type: 'annotated', step: 'hello', entity: 'build', kind: 'annotation', unset: [] }
const finished = { type: 'step.finished', step: 'hello', try: 1, status: 'success', exitCode: 0, members: {}, exports: [] }
const named = (count: number): [string, number][] => Array.from({ length: count }, (_, n) => [`name_${n}`, n])

test.each([
  [
    'a 1001st annotation',
    [
      { ...annotated, set: Object.fromEntries(named(1000)) },
      { ...annotated, set: { more: 1 } },
    ],
    'at most 1000',
  ],
  ['a member that is too long', [{ ...finished, members: { report: 'x'.repeat(70_000) } }], 'members.report'],
  ['too many exports', [{ ...finished, exports: named(1001).map(([name]) => ({ name, value: 'x', secret: false })) }], 'exports'],
  ['an output that is too long', [{ ...finished, outputs: { report: 'x'.repeat(1_100_000) } }], 'outputs.report'],
  ['an annotation with a name that is too long', [{ ...annotated, set: { ['n'.repeat(201)]: 1 } }], 'set.n'],
  [
    'an image with a name that is too long',
    [{ type: 'image', step: 'hello', imageId: 'i', name: 'n'.repeat(501), tags: [], pushed: true }],
    'name',
  ],
  ['an event of a later version', [{ type: 'step.painted', step: 'hello', colour: 'blue' }], 'step.painted'],
])('reports %s in the feed without a change of the build result', async (_what, events, notice) => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  const all = [started, { type: 'step.started', step: 'hello', try: 1 }, ...events]
  if (!events.some(({ type }) => type === 'step.finished')) all.push(finished)
  const batch = [...all, ended].map((event, index) => ({ ...event, seq: index + 1, at: 1 }))
  const { ackSeq } = await engine.client.call('POST', '/v1/engine/events', EventAck, { body: { events: batch } })
  expect(ackSeq).toBe(batch.length)
  const shown = await scene.admin.call('GET', `/v1/builds/${build.id}`, Build)
  expect(shown).toMatchObject({ status: 'success', attempt: 1, steps: [{ name: 'hello', status: 'success', exitCode: 0 }] })
  expect(await noticesOf(scene, build.id)).toEqual([expect.stringContaining(notice)])
})
