import { expect, test } from 'vitest'
import { CHECKED_INVARIANTS, checkInvariants } from './invariants.ts'
import { MUTANTS } from './mutants.ts'
import { syntheticHistory } from './synthetic.ts'

const SEEDS = Array.from({ length: 8 }, (_, n) => n + 1)

test('the history of a correct system has no violation', () => {
  for (const seed of SEEDS) expect(checkInvariants(syntheticHistory(seed))).toEqual([])
})

test('there are at least twenty mutants and every invariant has one', () => {
  expect(MUTANTS.length).toBeGreaterThanOrEqual(20)
  expect(new Set(MUTANTS.map(({ invariant }) => invariant))).toEqual(new Set(CHECKED_INVARIANTS))
})

for (const { name, invariant, mutate } of MUTANTS) {
  test(`the checker detects, by invariant ${invariant}: ${name}`, () => {
    for (const seed of SEEDS) {
      const caught = checkInvariants(mutate(syntheticHistory(seed))).map((violation) => violation.invariant)
      expect(caught, `seed ${seed}`).toContain(invariant)
    }
  })
}
