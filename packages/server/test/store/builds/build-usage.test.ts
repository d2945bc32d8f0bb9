/** Memory, processors and phases of steps over time. */
import type { EngineEventBody } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readUsage } from '../../../src/builds/usage/build-usage.ts'
import { openScene, runAttempt, say, started, submit } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const used = (step: string, usage: object): EngineEventBody => ({ type: 'step.usage', step, usage })

describe.each(DATABASES)('usage of steps on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('returns points and phases of new engines, and the peaks of older ones', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    // The events of this scene have their numbers as times, from 1.
    await say(
      app,
      key,
      started,
      { type: 'step.started', step: 'one', try: 1 },
      { type: 'step.phase', step: 'one', phase: 'pull', since: 2 },
    )
    expect((await readUsage(app, build.id, {})).steps).toEqual([
      { step: 'one', attempt: 1, points: [], phases: [{ phase: 'pull', from: 2 }] },
    ])
    await say(
      app,
      key,
      used('one', { memoryBytes: 500, memoryPeakBytes: 900, memoryLimitBytes: 1_000, cpuMs: 1 }),
      used('one', { memoryBytes: 300, memoryPeakBytes: 900, memoryLimitBytes: 1_000, cpuMs: 3 }),
      { type: 'step.started', step: 'two', try: 1 },
      used('two', { memoryPeakBytes: 70, cpuMs: 0 }),
      {
        type: 'step.finished',
        step: 'one',
        try: 1,
        status: 'success',
        members: {},
        exports: [],
        phases: [
          { phase: 'pull', at: 2 },
          { phase: 'run', at: 3 },
        ],
      },
    )
    expect(await readUsage(app, build.id, {})).toEqual({
      isCut: false,
      steps: [
        {
          step: 'one',
          attempt: 1,
          memoryLimitBytes: 1_000,
          points: [
            { at: 4, memoryBytes: 500, processors: 0.5 },
            { at: 5, memoryBytes: 300, processors: 2 },
          ],
          phases: [
            { phase: 'pull', from: 2, to: 3 },
            { phase: 'run', from: 3, to: 8 },
          ],
        },
        { step: 'two', attempt: 1, points: [{ at: 7, memoryBytes: 70, processors: 0 }], phases: [] },
      ],
    })
    expect((await readUsage(app, build.id, { step: 'two' })).steps).toHaveLength(1)
  })

  test('returns when the debugger held a step, and none for approvals', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    await say(
      app,
      key,
      started,
      { type: 'step.started', step: 'one', try: 1 },
      { type: 'step.waiting', step: 'one', reason: 'debugger', phase: 'before' },
      { type: 'step.started', step: 'one', try: 1 },
      { type: 'step.started', step: 'two', try: 1 },
      { type: 'step.waiting', step: 'two', reason: 'approval' },
      { type: 'step.waiting', step: 'one', reason: 'debugger', phase: 'after' },
    )
    const expected = { step: 'one', attempt: 1, points: [], phases: [] }
    expect((await readUsage(app, build.id, {})).steps).toEqual([{ ...expected, holds: [{ from: 3, to: 4 }, { from: 7 }] }])
    await say(app, key, { type: 'step.finished', step: 'one', try: 1, status: 'success', members: {}, exports: [] })
    expect((await readUsage(app, build.id, {})).steps).toEqual([
      {
        ...expected,
        holds: [
          { from: 3, to: 4 },
          { from: 7, to: 8 },
        ],
      },
    ])
  })

  test('joins points so that at most 200 remain, and keeps the highest memory', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    await say(app, key, started, { type: 'step.started', step: 'one', try: 1 })
    const events = Array.from({ length: 1_301 }, (_, index) =>
      used('one', { memoryBytes: index === 700 ? 9_999 : index, cpuMs: index }),
    )
    for (let at = 0; at < events.length; at += 400) await say(app, key, ...events.slice(at, at + 400))
    const [step] = (await readUsage(app, build.id, {})).steps
    expect(step?.points.length).toBeLessThanOrEqual(200)
    expect(step?.points.length).toBeGreaterThan(150)
    expect(step?.points.some(({ memoryBytes }) => memoryBytes === 9_999)).toBe(true)
    expect(step?.points.at(-1)).toMatchObject({ memoryBytes: 1_300, processors: 1 })
  })
})
