import { expect, test } from 'vitest'
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
  // Processor time, because others share the processor. Milliseconds.
  const timeOf = (text: string): number =>
    Math.min(
      ...Array.from({ length: 3 }, () => {
        const before = process.cpuUsage()
        namesValue(text, 'a')
        return process.cpuUsage(before).user / 1_000
      }),
    )
  // Eight times the text takes 8 times as long, or 64 times if the time were quadratic.
  for (const part of evil) expect(timeOf(part.repeat(64_000))).toBeLessThan(30 * Math.max(timeOf(part.repeat(8_000)), 5))
})
