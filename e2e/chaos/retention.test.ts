import { expect, test } from 'vitest'
import { chaosConfig } from './config.ts'
import { retentionOnSqlite } from './driver/plans.ts'
import { expectSound } from './driver/expect-sound.ts'

test('retention deletes nothing of a live build and nothing that is too young, while processes are killed', async () => {
  const plan = retentionOnSqlite(chaosConfig.seed + 5, chaosConfig.scale)
  const result = await expectSound('retention on SQLite', plan)
  const { builds = 0, 'builds read too late': late = 0, 'builds unseen': unseen } = result.landed
  // Nothing is known of these. A run that does not see a quarter of its builds proves too little.
  expect(unseen).toBeLessThanOrEqual((builds + late) / 4)
})
