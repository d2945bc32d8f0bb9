import { expect, test } from 'vitest'
import { labelValue } from './labels.ts'

test.each([
  ['main', 'main'],
  ['feature/a b', 'feature-a-b'],
  ['/slash/', 'slash'],
  ['', ''],
  ['ünïcode', 'n-code'],
  ['x'.repeat(70), 'x'.repeat(63)],
  [`${'x'.repeat(62)}/y`, 'x'.repeat(62)],
])('turns %j into the label value %j', (text, value) => {
  expect(labelValue(text)).toBe(value)
})
