/** Jobs of GitLab among random faults, on a real Kubernetes. The seed is printed; WINDLASS_SEED repeats its choices. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { chaosConfig } from '../../chaos/config.ts'
import { isLong } from '../../support/long.ts'
import { openRunnerScene } from '../support/runner-scene.ts'
import { checkHistory } from './check.ts'
import type { History } from './history.ts'
import { runChaos } from './run.ts'

const SEEDS = Array.from({ length: isLong ? 5 : 1 }, (_, n) => chaosConfig.seed + n)

test.each(SEEDS)('jobs end once, with whole traces and without remains, whatever fails: seed %i (G084, G099)', async (seed) => {
  const scene = await openRunnerScene(`gitlab-chaos-${process.pid}-${seed}`)
  try {
    const { history, landed } = await runChaos({
      scene,
      seed,
      jobs: isLong ? 40 : 14,
      faults: isLong ? [10, 8, 4] : [3, 3, 1],
    })
    console.log(`chaos with GitLab jobs, WINDLASS_SEED=${seed}: ${JSON.stringify({ jobs: history.jobs.length, ...landed })}`)
    const violations = checkHistory(history)
    if (violations.length > 0) console.log(`the history is in ${keep(history)}\n${scene.log()}`)
    expect(violations).toEqual([])
  } finally {
    await scene.close()
  }
})

/** Writes the history to a file, with bytes as text. */
function keep(history: History): string {
  const folder = join(tmpdir(), 'windlass-gitlab-chaos')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `history-${history.seed}.json`)
  // Buffers convert themselves before a replacer sees them.
  const readable = (_: string, value: unknown): unknown => {
    const isBytes = typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer' && 'data' in value
    return isBytes && Array.isArray(value.data) ? Buffer.from(value.data).toString('utf8') : value
  }
  writeFileSync(file, JSON.stringify(history, readable, 1))
  return file
}
