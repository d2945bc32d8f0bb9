import { expect, test } from 'vitest'
import { idsInTitles, readRows } from './features.ts'

test('rows are read from a feature page', () => {
  expect(readRows('| id | feature |\n|---|---|\n| P001 | minimal freestyle |\n', 'pipelines')).toEqual([
    { id: 'P001', feature: 'minimal freestyle', page: 'pipelines' },
  ])
})

test('a title may carry one id, several, or a range', () => {
  const ids = (text: string): string[] => idsInTitles(text).map(({ id }) => id)
  expect(ids("test('P001: a', async () => {})")).toEqual(['P001'])
  expect(ids("test('P001, P004: a', () => {})")).toEqual(['P001', 'P004'])
  expect(ids('test(`P005-P007: ${x}`, () => {})')).toEqual(['P005', 'P006', 'P007'])
  expect(ids("test('shows P001', () => {})")).toEqual([])
})
