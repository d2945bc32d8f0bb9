import { expect, test } from 'vitest'
import type { ApplicationFacts } from './stored-facts.ts'
import { fitFacts, fitResources, MAX_FACTS_BYTES, MAX_RESOURCES_BYTES } from './fit.ts'

/** Three bytes per character. */
const long = (length: number): string => '€'.repeat(length)
const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

const small: ApplicationFacts = {
  sources: [{ repo: 'https://git.test/shop.git' }],
  destination: {},
  revisions: ['abc'],
  isAutomatic: true,
  conditions: [{ type: 'Warning', message: 'one' }],
  images: ['shop:1'],
  resourceCount: 1,
  isDeleting: false,
  longSyncMinutes: 30,
}

test('facts that fit stay, and otherwise messages are cut before lists', () => {
  expect(fitFacts(small)).toEqual(small)
  const chatty = { ...small, conditions: Array.from({ length: 20 }, () => ({ type: 'Warning', message: 'x'.repeat(2_000) })) }
  const fitted = fitFacts(chatty)
  expect(bytes(fitted)).toBeLessThanOrEqual(MAX_FACTS_BYTES)
  expect(fitted.conditions.map(({ message }) => message.length)).toEqual(Array.from({ length: 20 }, () => 500))
})

test('the longest texts of a manifest fit', () => {
  const source = { repo: long(500), path: long(500), revision: long(253), chart: long(253), name: long(253) }
  const facts: ApplicationFacts = {
    ...small,
    sources: Array.from({ length: 20 }, () => source),
    destination: { server: long(500), name: long(253), namespace: long(253) },
    revisions: Array.from({ length: 20 }, () => long(253)),
    conditions: Array.from({ length: 20 }, () => ({ type: long(100), message: long(2_000), at: 1e12 })),
    images: Array.from({ length: 100 }, () => long(500)),
    healthMessage: long(2_000),
    why: long(5_000),
    operation: { phase: 'failed', message: long(2_000), by: long(253), revisions: Array.from({ length: 20 }, () => long(253)) },
  }
  const fitted = fitFacts(facts)
  expect(bytes(fitted)).toBeLessThanOrEqual(MAX_FACTS_BYTES)
  expect(fitted).toMatchObject({ sources: [source], destination: facts.destination, resourceCount: 1 })
})

test('of resources that do not fit, messages are cut, and then the last ones are left out', () => {
  const named = (n: number, message: string) => ({ kind: 'Pod', name: `pod-${n}`, message })
  const chatty = Array.from({ length: 1_000 }, (_, n) => named(n, 'x'.repeat(2_000)))
  const cut = fitResources(chatty)
  expect(cut).toHaveLength(1_000)
  expect(bytes(cut)).toBeLessThanOrEqual(MAX_RESOURCES_BYTES)
  const wide = Array.from({ length: 1_000 }, (_, n) => ({ ...named(n, 'bad'), namespace: long(253), group: long(253) }))
  const left = fitResources(wide)
  expect(bytes(left)).toBeLessThanOrEqual(MAX_RESOURCES_BYTES)
  expect(bytes(wide.slice(0, left.length + 1))).toBeGreaterThan(MAX_RESOURCES_BYTES)
})
