/** A build and its agent on a cluster: the pods that it makes, and how it ends when a second agent replaces it, or when it is stopped. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../support/installation.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage('drill-one-agent')
})
afterAll(() => stage?.[Symbol.asyncDispose]())

test('a build has two pods named after its id, and neither is left at the end (R077)', async () => {
  // Long enough for its pods to be listed on a busy machine.
  const id = await stage.trigger([{ name: 'count', lines: 150, pauseMs: 100 }])
  await stage.speaks(id)
  expect((await stage.pods(id)).toSorted()).toEqual([`dind-${id}`, `engine-${id}`])
  await stage.finished(id)
  await eventually('both are gone', async () => ((await stage.pods(id)).length === 0 ? true : undefined), 180_000)
})

test('of two agents with one identity the older one exits, without effect on the running build', async () => {
  const { agent } = stage.installation
  const id = await stage.trigger()
  await stage.speaks(id)
  const newer = await stage.installation.addAgent()
  expect(await agent.ended(), agent.log().slice(-1_000)).toBe(3)
  stage.landed('second agent')
  expect(await stage.finished(id)).toMatchObject({ status: 'success', attempt: 1 })
  await newer.kill9()
  await agent.start()
  expect(await stage.check()).toEqual([])
})

test('an agent that is stopped finishes its task and exits with 0, without effect on running builds', async () => {
  const { agent } = stage.installation
  const running = await stage.trigger()
  await stage.speaks(running)
  const begun = await stage.trigger([{ name: 'short', lines: 1, pauseMs: 0 }])
  await eventually('something of it is made', async () => ((await stage.pods(begun)).length > 0 ? true : undefined))
  agent.signal('SIGTERM')
  expect(await agent.ended(), agent.log().slice(-1_000)).toBe(0)
  stage.landed('agent stopped')
  expect(await stage.pods(begun)).toHaveLength(2)
  expect(await stage.finished(running)).toMatchObject({ status: 'success', attempt: 1 })
  await agent.start()
  const build = await stage.finished(begun)
  expect(build, JSON.stringify(build.attempts)).toMatchObject({ status: 'success', attempt: 1 })
  expect(await stage.check()).toEqual([])
})
