import { expect, test } from 'vitest'
import { chaosConfig } from './config.ts'
import { retentionOnSqlite } from './driver/plans.ts'
import { missedFaults, report } from './driver/report.ts'
import { runChaos } from './driver/run.ts'

test('retention deletes nothing of a live build and nothing that is too young, while processes are killed', async () => {
  const plan = retentionOnSqlite(chaosConfig.seed + 5, chaosConfig.scale)
  const result = await runChaos(plan)
  console.log(report('retention on SQLite', result))
  expect(result.violations).toEqual([])
  expect(result.crashes).toEqual([])
  // Nothing is known of these. A run that does not see a quarter of its builds proves too little.
  expect(result.landed['builds unseen']).toBeLessThanOrEqual(plan.builds / 4)
  expect(missedFaults(result, plan.least)).toEqual([])
})
