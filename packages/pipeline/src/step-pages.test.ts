/** The pages of docs/guides/steps: every type has one, with example pipelines. `docs.test.ts` compiles them. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { STEP_TYPES } from './actions/index.ts'

const folder = join(import.meta.dirname, '../../../docs/guides/steps')
/** Documented on the page of compositions. */
const TOLD_ELSEWHERE = ['travis', 'simple_travis', 'integration-test']
const types = Object.keys(STEP_TYPES).filter((type) => !TOLD_ELSEWHERE.includes(type))

test.each(types)('the page of %s has at least two pipelines', (type) => {
  const path = join(folder, `${type}.md`)
  expect(existsSync(path), path).toBe(true)
  const pipelines = [...readFileSync(path, 'utf8').matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text]) => text ?? '')
  expect(pipelines.length).toBeGreaterThanOrEqual(2)
  expect(pipelines.some((text) => type === 'freestyle' || text.includes(`type: ${type}`))).toBe(true)
  expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain(`(${type}.md)`)
})
