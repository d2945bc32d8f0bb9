import { expect, test } from 'vitest'
import { choose, MAX_ENTRIES, readTyped, type PaletteEntry } from './palette-entries.ts'

const entry = (group: string, label: string, note?: string): PaletteEntry => ({
  id: label,
  group,
  label,
  note,
  run: () => undefined,
})
const ENTRIES = [
  entry('Pages', 'Builds'),
  entry('Names', 'demo/app', 'pipeline'),
  entry('Builds', '#12', 'demo/app · main'),
  entry('Actions', 'Restart'),
  entry('People', 'mira'),
  entry('Lines', 'Line 40 of the log'),
  entry('Keys', 'Next build', 'j'),
]
const labels = (typed: string): string[] => choose(ENTRIES, typed).map(({ label }) => label)

test('a prefix shows the entries of its group only', () => {
  expect(labels('>')).toEqual(['Restart'])
  expect(labels('> rest')).toEqual(['Restart'])
  expect(labels('#12')).toEqual(['#12'])
  expect(labels('@mi')).toEqual(['mira'])
  expect(labels('@jo')).toEqual([])
  expect(labels(':40')).toEqual(['Line 40 of the log'])
  expect(labels('? next')).toEqual(['Next build'])
  expect(readTyped(' > restart from')).toEqual({ group: 'Actions', text: 'restart from' })
})

test('without a prefix people, lines and keys are not offered', () => {
  expect(labels('')).toEqual(['Builds', 'demo/app', '#12', 'Restart'])
  expect(labels('mira')).toEqual([])
})

test('a fuzzy part finds a name, and the closest comes first', () => {
  expect(labels('dmapp')).toEqual(['demo/app', '#12'])
  expect(labels('app')[0]).toBe('demo/app')
})

test('shows at most 12 entries', () => {
  const many = Array.from({ length: 40 }, (_, n) => entry('Names', `service-${n}`))
  expect(choose(many, 'service')).toHaveLength(MAX_ENTRIES)
})
