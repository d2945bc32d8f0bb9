import { expect, test } from 'vitest'
import { growth, LINEAR } from '../../../plan/test/cpu-time.ts'
import { namesValue } from './context-use.ts'

test.each([
  ['registry: my_registry', true],
  ['registry:my_registry', false],
  ['  - my_registry', true],
  ['-\n  "my_registry" # ours', true],
  ['[other, my_registry]', true],
  ['{"registry":"my_registry"}', true],
  ['registry: my_registry2', false],
  ['title: pushes to my_registry at night', false],
])('whether %j names a context', (text, isNamed) => {
  expect(namesValue(text, 'my_registry')).toBe(isNamed)
})

test('a search takes linear time in blank lines and in values that look like the name', () => {
  const evil = ['\n', '- \n', ':  ', "- 'a' b\n"]
  for (const part of evil) expect(growth(8_000, (n) => void namesValue(part.repeat(n), 'a'))).toBeLessThan(LINEAR)
})
