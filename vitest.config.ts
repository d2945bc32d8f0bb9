import { defineConfig } from 'vitest/config'

// On real parts a machine's moods can fail a test: it gets one more try, and the summary tells every one that needed it, and fails when they are many.
const slow = { testTimeout: 120_000, hookTimeout: 300_000, fileParallelism: false, retry: 1 }

/** One project per kind of real part a suite needs; `scripts/test` prepares the parts and runs them in order. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts', 'scripts/**/*.test.ts', 'bench/**/*.test.ts'],
          testTimeout: 20_000,
        },
      },
      { test: { name: 'parts', include: ['e2e/support/**/*.test.ts'], ...slow } },
      { test: { name: 'store', include: ['packages/server/test/store/**/*.test.ts'], ...slow } },
      {
        test: {
          name: 'docker',
          include: ['packages/engine/test/**/*.test.ts', 'e2e/examples/**/*.test.ts', 'e2e/conformance/local.test.ts'],
          ...slow,
        },
      },
      {
        test: {
          name: 'http',
          include: [
            'packages/server/test/http/**/*.test.ts',
            'packages/{agent,cli,local,journal,monitor,volumes}/test/**/*.test.ts',
          ],
          ...slow,
        },
      },
      { test: { name: 'chaos', include: ['e2e/chaos/**/*.test.ts'], ...slow, testTimeout: 600_000 } },
      {
        test: {
          name: 'cluster',
          include: ['e2e/cluster/**/*.test.ts', 'e2e/conformance/cluster.test.ts', 'packages/kube/test/**/*.test.ts'],
          ...slow,
          testTimeout: 600_000,
        },
      },
      { test: { name: 'runner', include: ['e2e/runner/**/*.test.ts'], ...slow, testTimeout: 600_000 } },
    ],
  },
})
