/** The invariants of the pool under many random histories, and mutants that must violate them. */
import type { Kube } from '@windlass/kube'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isLong } from '../../../e2e/support/long.ts'
import { playHistory, type Act, type Mutant, type Outcome } from './model/history.ts'

const HISTORIES = isLong ? 2_000 : 600
/** A mutant is caught within this number of histories. */
const MUTANT_HISTORIES = 400

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('build' as const), pipeline: fc.nat({ max: 1 }) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat({ max: 9 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('vanish' as const, 'doom', 'spare', 'crash'), which: fc.nat({ max: 9 }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('sync' as const), which: fc.nat({ max: 1 }) }) },
)
const acts = fc.array(act, { minLength: 4, maxLength: 24 })

test('keeps its invariants over random histories with crashes and two provisioners: one build per disk, no removal of a used disk, warm disks first', async () => {
  let played = 0
  const sum = { reused: 0, created: 0, removed: 0, crashes: 0 }
  await fc.assert(
    fc.asyncProperty(acts, fc.nat(), async (script, seed) => {
      const outcome = await playHistory(script, seed)
      played += 1
      for (const key of ['reused', 'created', 'removed', 'crashes'] as const) sum[key] += outcome[key]
      expect(outcome.breaches).toEqual([])
    }),
    // A busy machine runs fewer.
    { numRuns: HISTORIES, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: false },
  )
  process.stdout.write(`disk histories: ${played}, ${JSON.stringify(sum)}\n`)
  // The histories must contain enough work.
  expect(Math.min(...Object.values(sum))).toBeGreaterThan(played / 10)
})

/** Changes the writes of a process. */
function patching(change: (patch: object) => Record<string, unknown>): Mutant {
  return { kube: (kube) => ({ ...kube, patch: (ref, patch, options) => kube.patch(ref, change(patch), options) }) }
}

const withoutVersion = (patch: object): Record<string, unknown> => {
  const metadata = { ...Object('metadata' in patch ? patch.metadata : {}) }
  delete metadata.resourceVersion
  return { ...patch, metadata }
}

/** Reports every claim as gone. */
const blind = (kube: Kube): Kube => ({
  ...kube,
  find: async (ref, signal) => (ref.kind === 'PersistentVolumeClaim' ? undefined : kube.find(ref, signal)),
})

test.each<[string, Mutant, RegExp]>([
  ['the second writer is not refused', patching(withoutVersion), /has two builds|removed under/],
  ['a disk whose claim exists counts as free', { kube: blind }, /has two builds|removed under/],
  [
    'the list is not read again before a disk is created',
    { parts: (parts) => ({ ...parts, kube: { ...parts.kube, list: async () => [] } }) },
    /though .* fits/,
  ],
])('detects a provisioner in which %s', async (_what, mutant, breach) => {
  const random = fc.sample(fc.tuple(acts, fc.nat()), { numRuns: MUTANT_HISTORIES, seed: 1 })
  let caught: Outcome | undefined
  for (const [script, seed] of random) {
    const outcome = await playHistory(script, seed, mutant)
    if (outcome.breaches.some((message) => breach.test(message))) {
      caught = outcome
      break
    }
  }
  expect(caught?.breaches.join('; ')).toMatch(breach)
})
