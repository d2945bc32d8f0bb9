import { expect, test } from 'vitest'
import { runHook } from './hooks.ts'
import type { StoredBuild } from './stored-release.ts'
import type { World } from './world.ts'

const ID = 'a'.repeat(24)

/** Looks at the hook of a build that has succeeded. */
function look(builds: StoredBuild[], context: World['context'], handed: Record<string, unknown>): ReturnType<typeof runHook> {
  const world: World = {
    now: 0,
    targetsOf: () => [],
    applications: new Map(),
    errands: new Map(),
    builds: new Map([[ID, { id: ID, status: 'success', reason: undefined, context: handed }]]),
    newId: () => ID,
    context,
    effects: { created: [], deleted: [], postponed: [], versions: [] },
  }
  return runHook({ builds, hook: 'onStart', pipeline: 'shop/check', variables: {} }, world)
}

const running = (): StoredBuild[] => [{ hook: 'onStart', pipeline: 'shop/check', buildId: ID, state: 'running', variables: {} }]

test('values of builds are handed on, and a hook that makes them too long fails', () => {
  const context: Record<string, unknown> = { a: 'x'.repeat(15_000) }
  expect(look(running(), context, { b: 1 })).toBe('succeeded')
  expect(context).toMatchObject({ b: 1 })
  expect(look(running(), context, { c: 'x'.repeat(10_000) })).toEqual({
    why: expect.stringContaining('makes PROMOTION_CONTEXT longer than 20000 characters'),
  })
  expect(Object.keys(context)).toEqual(['a', 'b'])
})
