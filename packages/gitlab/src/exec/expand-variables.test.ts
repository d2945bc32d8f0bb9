import { expect, test } from 'vitest'
import { expandVariables } from './expand-variables.ts'

const tooLong = (name: string): Error => new Error(`${name} is too long`)

function expanded(values: Readonly<Record<string, string>>, raw: readonly string[] = []): Record<string, string> {
  const given = Object.entries(values).map(([key, value]) => ({ key, value, raw: raw.includes(key) }))
  return Object.fromEntries(expandVariables(given, tooLong).map(({ key, value }) => [key, value ?? '']))
}

test('references are followed to any depth, in any order', () => {
  expect(expanded({ A: '$B/a', B: '${C}/b', C: 'c' })).toEqual({ A: 'c/b/a', B: 'c/b', C: 'c' })
})

test('what only the runner knows, escaped dollars and raw values with references stay', () => {
  expect(expanded({ A: '$CI_PROJECT_DIR/$$B', B: '1', C: '$R-$S', R: '$B', S: 'raw' }, ['R', 'S'])).toEqual({
    A: '$CI_PROJECT_DIR/$$B',
    B: '1',
    C: '$R-raw',
    R: '$B',
    S: 'raw',
  })
})

test('references that contain each other stay, and the rest is expanded', () => {
  expect(expanded({ A: '$B$X', B: '$A', X: 'x', PATH: '$PATH:/y', USES: '$A' })).toEqual({
    A: '$Bx',
    B: '$A',
    X: 'x',
    PATH: '$PATH:/y',
    USES: '$A',
  })
})

test('a later variable replaces an earlier one', () => {
  const given = [
    { key: 'A', value: '1' },
    { key: 'B', value: '$A' },
    { key: 'A', value: '2' },
  ]
  expect(expandVariables(given, tooLong)).toEqual([
    { key: 'B', value: '2' },
    { key: 'A', value: '2' },
  ])
})

test('values that double with each variable are refused', () => {
  const doubling = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`V${n}`, n === 0 ? 'x' : `$V${n - 1}$V${n - 1}`]))
  expect(() => expanded(doubling)).toThrow(/is too long/)
  expect(expanded({ ...doubling, V0: '' })['V63']).toBe('')
})
