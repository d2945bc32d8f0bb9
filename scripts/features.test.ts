import { expect, test } from 'vitest'
import { idsInTitles, readRows } from './features.ts'

test('reads rows from a feature page', () => {
  expect(readRows('| id | feature |\n|---|---|\n| P001 | minimal freestyle |\n', 'pipelines')).toEqual([
    { id: 'P001', feature: 'minimal freestyle', page: 'pipelines' },
  ])
})

test('a title can have one id, several, or a range', () => {
  const ids = (text: string): string[] => idsInTitles(text).map(({ id }) => id)
  expect(ids("test('a (P001)', async () => {})")).toEqual(['P001'])
  expect(ids("test('a (P001, V12, P004)', () => {})")).toEqual(['P001', 'P004'])
  expect(ids('test(`${x} (P005-P007)`, () => {})')).toEqual(['P005', 'P006', 'P007'])
  expect(ids("test('shows P001', () => {})")).toEqual([])
})
