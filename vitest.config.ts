import { defineConfig } from 'vitest/config'
import { GROUPS } from './scripts/testing/groups.ts'

/**
 * One project per group of tests; `scripts/test` prepares the parts of each. Vitest tries no test twice, unless it names its own reason:
 * `test('…', { retry: 1 }, …)` below a comment that says what of the kernel or of a fake cloud is to blame. In the groups `chaos` and `drills` a
 * second try is still a failure (`scripts/testing/outcome.ts`).
 */
export default defineConfig({
  test: {
    projects: GROUPS.filter(({ include }) => include !== undefined).map((group, index) => ({
      test: {
        name: group.name,
        include: [...(group.include ?? [])],
        exclude: ['**/node_modules/**', ...(group.exclude ?? [])],
        testTimeout: group.timeoutMs ?? 600_000,
        hookTimeout: 600_000,
        globalSetup: [...(group.setup ?? [])],
        isolate: group.sharesProcess !== true,
        // Node starts with 1 MiB for new objects and copies what survives each time that it is full. Test files create many more.
        execArgv: ['--min-semi-space-size=16'],
        // The default of 1 s is too short for real I/O on a busy machine.
        expect: { poll: { timeout: 60_000 } },
        // A log of CI has only the message of a failure, and the default shortens both values to a few characters.
        chaiConfig: { truncateThreshold: 1_000 },
        restoreMocks: true,
        unstubEnvs: true,
        unstubGlobals: true,
        maxWorkers: group.workers ?? 1,
        fileParallelism: (group.workers ?? 1) > 1,
        // Projects of different width run one after the other where several are asked for at once.
        sequence: { groupOrder: index },
      },
    })),
  },
})
