/** The promises of the pool under thousands of random histories, and that each promise notices when it is broken. */
import type { Kube } from '@windlass/kube'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { playHistory, type Act, type Mutant, type Told } from './model/history.ts'

const HISTORIES = 2_000
/** A mutant is caught within so many. */
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

test('no two builds on one disk, no live disk removed, a warm disk before a new one: over random histories with crashes and two provisioners', async () => {
  let played = 0
  const sum = { reused: 0, created: 0, removed: 0, crashes: 0 }
  await fc.assert(
    fc.asyncProperty(acts, fc.nat(), async (script, seed) => {
      const told = await playHistory(script, seed)
      played += 1
      for (const key of ['reused', 'created', 'removed', 'crashes'] as const) sum[key] += told[key]
      expect(told.breaches).toEqual([])
    }),
    // A busy machine plays fewer.
    { numRuns: HISTORIES, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: false },
  )
  process.stdout.write(`disk histories: ${played}, ${JSON.stringify(sum)}\n`)
  // The histories are worth their name.
  expect(Math.min(...Object.values(sum))).toBeGreaterThan(played / 10)
})

/** The writes of a process, changed. */
function patching(change: (patch: object) => Record<string, unknown>): Mutant {
  return { kube: (kube) => ({ ...kube, patch: (ref, patch, options) => kube.patch(ref, change(patch), options) }) }
}

const withoutVersion = (patch: object): Record<string, unknown> => {
  const metadata = { ...Object('metadata' in patch ? patch.metadata : {}) }
  delete metadata.resourceVersion
  return { ...patch, metadata }
}

/** Says of every claim that it is gone. */
const blind = (kube: Kube): Kube => ({
  ...kube,
  find: async (ref, signal) => (ref.kind === 'PersistentVolumeClaim' ? undefined : kube.find(ref, signal)),
})

test.each<[string, Mutant, RegExp]>([
  ['who comes second is not refused', patching(withoutVersion), /has two builds|removed under/],
  ['a disk whose claim lives is taken for free', { kube: blind }, /has two builds|removed under/],
  [
    'the list is not read again before a disk is made',
    { parts: (parts) => ({ ...parts, kube: { ...parts.kube, list: async () => [] } }) },
    /though .* fits/,
  ],
])('a provisioner in which %s is found out', async (_what, mutant, breach) => {
  const random = fc.sample(fc.tuple(acts, fc.nat()), { numRuns: MUTANT_HISTORIES, seed: 1 })
  let caught: Told | undefined
  for (const [script, seed] of random) {
    const told = await playHistory(script, seed, mutant)
    if (told.breaches.some((words) => breach.test(words))) {
      caught = told
      break
    }
  }
  expect(caught?.breaches.join('; ')).toMatch(breach)
})
