import { isFault, nodeTransport } from '@windlass/kit'
import { isCallOf, openClient } from '@windlass/client'
import { engineCalls, ENGINE_ROUTES } from '@windlass/client/engine'
import { PROTOCOL_VERSION, type EngineClaimed, type Transport } from '@windlass/protocol'
import { expect, test } from 'vitest'
import type { HoldStep } from '../support/fake-engines/index.ts'
import { checkInvariants } from './history/invariants.ts'
import { openLab } from './driver/lab.ts'

/** Records the bootstrap credentials and attempt tokens of requests. */
function eavesdrop(heard: { bootstraps: string[]; tokens: string[] }): (inner: Transport) => Transport {
  return (inner) => (request) => {
    const token = (request.headers['authorization'] ?? '').slice('Bearer '.length)
    const list = isCallOf(ENGINE_ROUTES.claim, request) ? heard.bootstraps : heard.tokens
    if (!list.includes(token)) list.push(token)
    return inner(request)
  }
}

/** Holds the first run of a step until it is released or killed. */
function holdFirst(step: string): { holdStep: HoldStep; held: Promise<void>; letGo(): void } {
  const held = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  let isFirst = true
  return {
    held: held.promise,
    letGo: () => go.resolve(),
    async holdStep(run) {
      if (run.step !== step || !isFirst) return
      isFirst = false
      held.resolve()
      await go.promise
    },
  }
}

test('resume: a second attempt continues after the steps whose end was stored', async () => {
  const hold = holdFirst('test')
  await using lab = await openLab({ holdStep: hold.holdStep })
  const id = await lab.trigger('clone', 'test', 'image')
  await hold.held
  // The end of the previous step is reported before the start of this one.
  await lab.stored(id, 'step.started', 2)
  lab.recorder.expectKill(id, 1)
  expect(lab.cluster.kill({ buildId: id, attempt: 1 })).toBe(true)
  const build = await lab.finished(id)
  expect(build.status).toBe('success')
  const started = lab.observations.flatMap((seen) => (seen.type === 'step-started' ? [`${seen.attempt} ${seen.step}`] : []))
  expect(started).toEqual(['1 clone', '1 test', '2 test', '2 image'])
  expect(checkInvariants(await lab.history())).toEqual([])
})

test('engine claim: a credential can be exchanged once, and a lost response can be requested again', async () => {
  const heard = { bootstraps: [] as string[], tokens: [] as string[] }
  const hold = holdFirst('test')
  await using lab = await openLab({ transport: eavesdrop(heard), holdStep: hold.holdStep })
  const id = await lab.trigger('test')
  await hold.held
  const thief = openClient({ url: lab.url, token: heard.bootstraps[0], transport: nodeTransport() })
  const hello = { protocol: PROTOCOL_VERSION, version: 'test', features: [] }
  const claim = (claimKey: string): Promise<EngineClaimed> => engineCalls(thief).claim({ ...hello, claimKey })
  const again = await claim(`fake-${id}-1`)
  expect(again).toMatchObject({ buildId: id, attempt: 1 })
  expect(`Bearer ${again.token}`).toContain(heard.tokens[0])
  await expect(claim('somebody-elses-claim-key')).rejects.toSatisfy((error) => isFault(error, 'claim-used'))
  hold.letGo()
  expect((await lab.finished(id)).status).toBe('success')
  await expect(claim('somebody-elses-claim-key')).rejects.toSatisfy((error) =>
    isFault(error, 'claim-used', 'attempt-stale', 'unauthenticated'),
  )
})

test('command channel: a termination reaches a silent step through the held command call', async () => {
  let held = 0
  const answers: string[] = []
  const listen =
    (inner: Transport): Transport =>
    async (request) => {
      if (!isCallOf(ENGINE_ROUTES.commands, request)) return inner(request)
      held += 1
      const answer = await inner(request)
      const said = await answer.text()
      answers.push(said)
      return { ...answer, text: async () => said }
    }
  await using lab = await openLab({ script: { stepMs: [3_600_000, 3_600_000] }, transport: listen })
  const id = await lab.trigger('sleep')
  await lab.seen(({ type }) => type === 'step-started')
  while (held === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const before = answers.length
  await lab.requests.terminate(id)
  expect(await lab.seen(({ type }) => type === 'step-ended')).toMatchObject({ status: 'terminated' })
  expect(answers[before]).toContain('"terminate"')
  expect(await lab.finished(id)).toMatchObject({ status: 'terminated', reason: 'cancelled' })
  expect(checkInvariants(await lab.history())).toEqual([])
})

test('attempts and retries: a loss creates a new attempt, counts as a retry, and fences the old attempt', async () => {
  const heard = { bootstraps: [] as string[], tokens: [] as string[] }
  const hold = holdFirst('test')
  await using lab = await openLab({ transport: eavesdrop(heard), holdStep: hold.holdStep })
  const id = await lab.trigger('test')
  await hold.held
  lab.recorder.expectKill(id, 1)
  lab.cluster.kill({ buildId: id, attempt: 1 })
  await lab.seen(({ type, attempt }) => type === 'claimed' && attempt === 2)
  const old = openClient({ url: lab.url, token: heard.tokens[0], transport: nodeTransport() })
  await expect(engineCalls(old).heartbeat({})).rejects.toSatisfy((error) => isFault(error, 'attempt-stale'))
  const build = await lab.finished(id)
  expect(build).toMatchObject({ status: 'success', attempt: 2, retries: 1 })
  expect(build.attempts).toMatchObject([
    { number: 1, status: 'ended', result: 'lost' },
    { number: 2, status: 'ended', result: 'success' },
  ])
})

test('a build that loses every engine ends with an infra reason and does not retry forever', async () => {
  await using lab = await openLab({ script: { crashChance: { 'in-step': 1 } } })
  const build = await lab.finished(await lab.trigger('test'))
  expect(build.status).toBe('error')
  expect(build.reason).toBe('infra-poison')
  expect(build.attempt).toBe(3)
  expect(checkInvariants(await lab.history())).toEqual([])
})
