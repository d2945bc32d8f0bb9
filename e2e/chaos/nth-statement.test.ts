import { defined } from '@windlass/kit/defined'
import { REASONS, type Reason } from '@windlass/plan'
import { expect, test } from 'vitest'
import { chaosConfig } from './config.ts'
import { openLab } from './driver/lab.ts'
import { failStatements, type When } from './faults/nth-statement.ts'
import { seededRandom } from './faults/random.ts'
import { checkInvariants } from './history/invariants.ts'
import { startPostgres } from '../support/postgres.ts'

interface Loop {
  readonly driver: 'sqlite' | 'postgres'
  readonly when: When
  readonly databaseUrl?: string
  /** Probability that an n is tried. */
  readonly share: number
}

/** Fails statement n of a build for growing n, until a build completes without a fault. Returns the number of faults. */
async function failEach({ driver, when, databaseUrl, share }: Loop): Promise<{ struck: number; last: number }> {
  const random = seededRandom(chaosConfig.seed)
  using fault = failStatements(driver, when)
  await using lab = await openLab({
    ...defined({ databaseUrl }),
    isQuiet: when === 'unknown',
    script: { stepMs: [5, 5], logBytes: [100, 1_500] },
  })
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

/** How a statement fails, and the share of the statements that is tried. */
const SQLITE = [
  { when: 'before', title: 'may fail', share: 0.1 },
  { when: 'rolled back', title: 'may roll back its transaction', share: 0.1 },
  { when: 'unknown', title: 'may fail with an unknown error', share: 0.1 },
] as const

for (const { when, title, share } of SQLITE)
  test(`any statement on SQLite ${title}: the build succeeds or fails with a named cause, and no invariant is violated`, async () => {
    const { struck, last } = await failEach({ driver: 'sqlite', when, share: chaosConfig.thorough ? 1 : share })
    console.log(`n-th statement on SQLite (${when}): seed ${chaosConfig.seed}, ${struck} struck, untouched at ${last}`)
    expect(struck).toBeGreaterThan(4)
  })

const POSTGRES = [
  { when: 'before', title: 'may be lost' },
  { when: 'after', title: 'may lose its response' },
  { when: 'unknown', title: 'may fail with an unknown error' },
] as const

for (const { when, title } of POSTGRES) {
  test(`any statement on PostgreSQL ${title}: the build succeeds or fails with a named cause, and no invariant is violated`, async () => {
    await using postgres = await startPostgres({ isInMemory: true })
    const share = chaosConfig.thorough ? 1 : 0.1
    const { struck, last } = await failEach({ driver: 'postgres', when, databaseUrl: postgres.url, share })
    console.log(`n-th statement on PostgreSQL (${when}): seed ${chaosConfig.seed}, ${struck} struck, untouched at ${last}`)
    expect(struck).toBeGreaterThan(4)
  })
}
