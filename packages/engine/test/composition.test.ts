/** Compositions on a real daemon, by the real compose of the tools image. */
import { afterEach, expect, test } from 'vitest'
import { leftOf } from './support/left-of.ts'
import { runPipeline } from './support/run-pipeline.ts'

const seen: string[] = []
afterEach(async () => {
  for (const buildId of seen.splice(0)) expect(await leftOf(buildId)).toEqual([])
})

async function run(text: string, options: Parameters<typeof runPipeline>[1] = {}) {
  const result = await runPipeline(`version: '1.0'\nsteps:\n${text}`, options)
  seen.push(result.buildId)
  return result
}

test('P066: the exit codes of the candidates decide, those of other services do not', async () => {
  const good = await run(`
  it:
    type: composition
    composition:
      version: '3.8'
      services:
        db: { image: $SHELL, command: ['sh', '-c', 'echo db is here; exit 7'] }
    composition_candidates:
      test: { image: $SHELL, command: sh -c "echo fine && exit 0" }
`)
  expect(good.status('it')).toBe('success')
  expect(good.output('it')).toMatch(/^test_1 {2}\| fine$/m)
  expect(good.output('it')).toMatch(/^db_1 {4}\| db is here$/m)

  const bad = await run(`
  it:
    type: composition
    composition:
      services:
        db: { image: $SHELL, command: ['sleep', '100'] }
    composition_candidates:
      test: { image: $SHELL, command: ['sh', '-c', 'nslookup db >/dev/null && echo found; echo no good; exit 3'] }
`)
  expect(bad.snapshot.steps['it']).toMatchObject({ status: 'error', reason: 'composition-failed', exitCode: 3 })
  expect(bad.snapshot.steps['it']?.message).toContain('Candidate "test" ended with exit code 3; its last lines: found ⏎ no good')
})
