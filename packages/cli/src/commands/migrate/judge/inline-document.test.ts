import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compile, documentKind } from '@windlass/pipeline'
import { expect, test } from 'vitest'
import { toManifest } from './inline-document.ts'

const CASES = globSync(join(import.meta.dirname, '../../../../../../e2e/conformance/cases/**/*.yml'))

/** Compiles to a plan without positions, which differ. */
function planOf(text: string): string | undefined {
  const { plan } = compile({ text, file: 'a.yml' })
  return JSON.stringify(plan, (key, value: unknown) =>
    key === 'line' || key === 'column' || key === 'position' ? undefined : value,
  )
}

test('every document of the conformance set that compiles has the same plan with a name as without', () => {
  const texts = CASES.map((file) => readFileSync(file, 'utf8')).filter(
    (text) => documentKind(text) === 'inline' && planOf(text) !== undefined,
  )
  expect(texts.length).toBeGreaterThan(100)
  for (const text of texts) expect(planOf(toManifest(text, 'demo/app'))).toBe(planOf(text))
})

test('keeps block scalars, quoted lines, comments and Windows line ends', () => {
  for (const text of [
    'version: 1\nsteps:\n  a:\n    image: x\n    commands:\n      - >-\n        one\n        two\n      - "three\n        four"\n',
    'version: 1\r\nsteps:\r\n  a: {image: x}\r\n',
    '{"version": "1.0", "steps": {"a": {"image": "x"}}}',
    '%YAML 1.2\n---\nversion: 1\nsteps: {a: {image: x}}\n',
  ]) {
    expect(compile({ text, file: 'a.yml' }).plan).toBeDefined()
    expect(planOf(toManifest(text, 'demo/app'))).toBe(planOf(text))
  }
})
