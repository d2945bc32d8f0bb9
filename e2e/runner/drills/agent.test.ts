/** How builds end when their agent is killed at random times, or is frozen beyond its lease. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, rounds, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage('drill-agent')
})
afterAll(() => stage?.[Symbol.asyncDispose]())

test('an agent that is killed while it creates the objects of a build continues after a restart (R-02)', async () => {
  const { agent } = stage.installation
  for (let round = 0; round < rounds(10); round += 1) {
    const id = await stage.trigger()
    // From before its first object to after its last.
    await sleep(stage.random.between(0, 900))
    const before = await stage.pods(id)
    await agent.kill9()
    stage.landed(`agent killed with ${before.length} pods made`)
    await agent.start()
    expect(await stage.finished(id)).toMatchObject({ status: 'success', attempt: 1 })
  }
  expect(await stage.check()).toEqual([])
})

test('an agent that is killed while it removes a build removes the rest after a restart (R-02)', async () => {
  const { agent } = stage.installation
  for (let round = 0; round < rounds(10); round += 1) {
    const id = await stage.trigger([{ name: 'short', lines: 1, pauseMs: 0 }])
    const build = await stage.finished(id)
    await sleep(stage.random.between(0, 600))
    await agent.kill9()
    stage.landed(`agent killed with ${(await stage.pods(id)).length} pods to remove`)
    await agent.start()
    expect(build).toMatchObject({ status: 'success', attempt: 1 })
  }
  expect(await stage.check()).toEqual([])
})

test('an agent that is frozen beyond its lease exits because another one has replaced it (R-07)', async () => {
  for (let round = 0; round < rounds(5); round += 1) {
    const { agent } = stage.installation
    const id = await stage.trigger()
    await stage.speaks(id)
    agent.signal('SIGSTOP')
    try {
      const newer = await stage.installation.addAgent()
      const other = await stage.trigger()
      expect(await stage.finished(other)).toMatchObject({ status: 'success', attempt: 1 })
      expect(await stage.finished(id)).toMatchObject({ status: 'success', attempt: 1 })
      agent.signal('SIGCONT')
      expect(await agent.ended(), agent.log().slice(-1_000)).toBe(3)
      stage.landed('agent frozen')
      await newer.kill9()
    } finally {
      agent.signal('SIGCONT')
    }
    await agent.start()
  }
  expect(await stage.check()).toEqual([])
})
