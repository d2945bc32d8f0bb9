import { expect, test } from 'vitest'
import { blankMasked, keepValues, withoutSecrets } from './masked-values.ts'

const document = (a: string, b: string): string =>
  `kind: pipeline\nspec:\n  variables:\n    - {key: A, value: ${a}, encrypted: true}\n    - {key: B, value: ${b}}\n  steps: {}\n`

test('documents that differ only in secret values are equal', () => {
  expect(withoutSecrets(document("'*****'", 'x'))).toBe(withoutSecrets(document('"real"', 'x')))
  expect(withoutSecrets(document("''", 'x'))).toBe(withoutSecrets(document('real', 'x')))
  expect(withoutSecrets(document("''", 'x'))).not.toBe(withoutSecrets(document("''", 'y')))
})

test('keeps only encrypted variables that the server has', () => {
  expect(keepValues(document("''", "''"), new Set(['A', 'B']))).toBe(document("'*****'", "''"))
  expect(keepValues(document("''", "''"), new Set(['B']))).toBe(document("''", "''"))
})

test('an alias of a masked value is replaced with its anchor', () => {
  const text =
    "kind: pipeline\nspec:\n  variables:\n    - {key: A, value: &a '*****', encrypted: true}\n    - {key: B, value: *a}\n"
  expect(blankMasked(text).text).not.toContain("'*****'")
})

test('a document that is not YAML is not changed', () => {
  expect(blankMasked('a: b: c\n')).toEqual({ text: 'a: b: c\n', paths: [], emptyPaths: [], variables: [] })
})
