import { MAX_PAYLOADS } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { nextBatch, type Found } from './batch.ts'
import { Queue, type Entry } from './queue.ts'

function filled(entries: readonly (Pick<Entry, 'name' | 'state'> & Partial<Entry>)[]): Queue {
  const queue = new Queue({ maxCharacters: 100_000_000, maxEntries: 1_000 }, () => undefined)
  for (const entry of entries) queue.add({ kind: 'Application', namespace: 'argocd', uid: 'u', at: 0, ...entry })
  return queue
}

const none = async (): Promise<Found> => Promise.resolve({ manifest: undefined })

test('a body has at most so many payloads and characters, and at least one (O058)', async () => {
  const small = Array.from({ length: MAX_PAYLOADS + 5 }, (_, n) => ({ name: `a-${n}`, state: { manifest: '{}' } }))
  expect((await nextBatch(filled(small), { read: none })).payloads).toHaveLength(MAX_PAYLOADS)
  const large = Array.from({ length: 3 }, (_, n) => ({ name: `a-${n}`, state: { manifest: 'x'.repeat(600_000) } }))
  expect((await nextBatch(filled(large), { read: none })).payloads).toHaveLength(1)
  const huge = [{ name: 'a', state: { manifest: 'x'.repeat(3_000_000) } }]
  expect((await nextBatch(filled(huge), { read: none })).entries).toHaveLength(1)
  expect(await nextBatch(filled([]), { read: none })).toEqual({ entries: [], payloads: [], failed: [] })
})

test('a deletion has an empty manifest, and an application without a manifest is read or left out (O059)', async () => {
  const queue = filled([
    { name: 'gone', state: 'gone' },
    { name: 'there', state: 'wanted' },
    { name: 'left', state: 'wanted' },
    { kind: 'Workflow', name: 'over', state: 'gone' },
  ])
  const batch = await nextBatch(queue, {
    read: async ({ name }) => Promise.resolve({ manifest: name === 'there' ? '{"kind":"x"}' : undefined }),
  })
  expect(batch.entries.map(({ name }) => name)).toEqual(['gone', 'there', 'left', 'over'])
  expect(batch.payloads).toEqual([
    {
      timestamp: '1970-01-01T00:00:00.000Z',
      actualManifest: '',
      source: { appName: 'gone', appNamespace: 'argocd', appUID: 'u' },
    },
    { timestamp: '1970-01-01T00:00:00.000Z', actualManifest: '{"kind":"x"}' },
    {
      timestamp: '1970-01-01T00:00:00.000Z',
      actualManifest: '',
      desiredManifest:
        '{"apiVersion":"argoproj.io/v1alpha1","kind":"Workflow","metadata":{"name":"over","namespace":"argocd","uid":"u"}}',
    },
  ])
})

test('an object that cannot be read, or for which there is no time, holds up none behind it', async () => {
  const queue = filled([
    { kind: 'Rollout', name: 'broken', state: 'wanted' },
    { kind: 'Rollout', name: 'slow', state: 'wanted' },
    { kind: 'Rollout', name: 'shop', state: { manifest: '{}' } },
    { kind: 'Workflow', name: 'over', state: 'gone' },
  ])
  const error = new Error('500')
  const read = async ({ name }: Entry): Promise<Found> => Promise.resolve(name === 'broken' ? { error } : 'later')
  // Also if the objects of a body are sent one by one.
  for (const [count, names] of [
    [1, ['shop']],
    [undefined, ['shop', 'over']],
  ] as const) {
    const { entries, payloads, failed } = await nextBatch(queue, { ...(count !== undefined && { count }), read })
    expect([entries.map(({ name }) => name), payloads.length]).toEqual([names, names.length])
    expect(failed).toMatchObject([{ entry: { name: 'broken' }, error }])
  }
})
