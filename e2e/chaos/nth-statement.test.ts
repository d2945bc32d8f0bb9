import { REASONS, type Reason } from '@windlass/plan'
import { expect, test } from 'vitest'
import { chaosConfig } from './config.ts'
import { openLab } from './driver/lab.ts'
import { failStatements } from './faults/nth-statement.ts'
import { seededRandom } from './faults/random.ts'
import { checkInvariants } from './history/invariants.ts'
import { startPostgres } from '../support/postgres.ts'

interface Loop {
  readonly driver: 'sqlite' | 'postgres'
  readonly when: 'before' | 'after'
  readonly databaseUrl?: string
  /** Chance that an n is tried. */
  readonly share: number
}

/** Fails statement n of a build for growing n, until a whole build passes untouched. Answers how many faults struck. */
async function failEach({ driver, when, databaseUrl, share }: Loop): Promise<{ struck: number; last: number }> {
  const random = seededRandom(chaosConfig.seed)
  await using lab = await openLab({
    ...(databaseUrl !== undefined && { databaseUrl }),
    script: { stepMs: [5, 5], logBytes: [100, 1_500] },
  })
  using fault = failStatements(driver, when)
  let struck = 0
  for (let n = 1; ; n += 1) {
    if (!random.chance(share)) continue
    fault.arm(n)
    const id = await lab.trigger('clone', 'test')
    const build = await lab.finished(id)
    if (fault.struck !== undefined) struck += 1
    const isInfra = build.reason !== undefined && blame(build.reason) === 'infra'
    expect(
      build.status === 'success' || isInfra,
      `n = ${n} (${fault.struck}): ${build.status}, ${build.reason}, ${build.message}`,
    ).toBe(true)
    if (fault.struck !== undefined) continue
    fault.arm(0)
    expect(checkInvariants(await lab.history())).toEqual([])
    return { struck, last: n }
  }
}

function blame(reason: Reason): string {
  return REASONS[reason].blame
}

test('any statement on SQLite may fail: the build ends well or for a named cause, and no promise is broken', async () => {
  const { struck, last } = await failEach({ driver: 'sqlite', when: 'before', share: chaosConfig.thorough ? 1 : 0.25 })
  console.log(
    `n-th statement on SQLite: seed ${chaosConfig.seed}, ${struck} faults struck, a build of ${last} statements passed untouched`,
  )
  expect(struck).toBeGreaterThan(10)
})

for (const when of ['before', 'after'] as const) {
  const title = when === 'before' ? 'may be lost' : 'may lose its answer'
  test(`any statement on PostgreSQL ${title}: the build ends well or for a named cause, and no promise is broken`, async () => {
    await using postgres = await startPostgres()
    const share = chaosConfig.thorough ? 1 : 0.15
    const { struck, last } = await failEach({ driver: 'postgres', when, databaseUrl: postgres.url, share })
    console.log(`n-th statement on PostgreSQL (${when}): seed ${chaosConfig.seed}, ${struck} struck, untouched at ${last}`)
    expect(struck).toBeGreaterThan(8)
  })
}
