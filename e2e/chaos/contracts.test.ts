import { isFault, nodeTransport } from '@windlass/kit'
import { createClient, EngineClaimed, PROTOCOL_VERSION, type Transport } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { checkInvariants } from './history/invariants.ts'
import { openLab } from './driver/lab.ts'

/** Notes the bootstrap credentials and attempt tokens that pass. */
function eavesdrop(heard: { bootstraps: string[]; tokens: string[] }): (inner: Transport) => Transport {
  return (inner) => (request) => {
    const token = (request.headers['authorization'] ?? '').slice('Bearer '.length)
    const list = request.url.endsWith('/v1/engine/claim') ? heard.bootstraps : heard.tokens
    if (!list.includes(token)) list.push(token)
    return inner(request)
  }
}

test('resume: a second attempt goes on after the steps whose end was stored', async () => {
  await using lab = await openLab({ script: { stepMs: [300, 300] } })
  const id = await lab.trigger('clone', 'test', 'image')
  await lab.seen(
    ({ type, buildId, ...rest }) => type === 'step-started' && buildId === id && 'step' in rest && rest.step === 'test',
  )
  // The end of the step before is told with the start of this one.
  await lab.stored(id, 'step.started', 2)
  lab.recorder.expectKill(id, 1)
  expect(lab.cluster.kill({ buildId: id, attempt: 1 })).toBe(true)
  const build = await lab.finished(id)
  expect(build.status).toBe('success')
  const started = lab.observations.flatMap((seen) => (seen.type === 'step-started' ? [`${seen.attempt} ${seen.step}`] : []))
  expect(started).toEqual(['1 clone', '1 test', '2 test', '2 image'])
  expect(checkInvariants(await lab.history())).toEqual([])
})

test('engine by claim: a credential is good for one exchange, whose lost answer may be asked for again', async () => {
  const heard = { bootstraps: [] as string[], tokens: [] as string[] }
  await using lab = await openLab({ script: { stepMs: [1_000, 1_000] }, transport: eavesdrop(heard) })
  const id = await lab.trigger('test')
  await lab.seen(({ type }) => type === 'claimed')
  const thief = createClient({ url: lab.url, token: heard.bootstraps[0], transport: nodeTransport() })
  const hello = { protocol: PROTOCOL_VERSION, version: 'test', features: [] }
  const claim = (claimKey: string): Promise<EngineClaimed> =>
    thief.call('POST', '/v1/engine/claim', EngineClaimed, { body: { ...hello, claimKey } })
  const again = await claim(`fake-${id}-1`)
  expect(again).toMatchObject({ buildId: id, attempt: 1 })
  expect(`Bearer ${again.token}`).toContain(heard.tokens[0])
  await expect(claim('somebody-elses-claim-key')).rejects.toSatisfy((error) => isFault(error, 'claim-used'))
  expect((await lab.finished(id)).status).toBe('success')
  await expect(claim('somebody-elses-claim-key')).rejects.toSatisfy((error) =>
    isFault(error, 'claim-used', 'attempt-stale', 'unauthenticated'),
  )
})

test('command channel: a cancel ends a step that says nothing within one second', async () => {
  await using lab = await openLab({ script: { stepMs: [60_000, 60_000] } })
  const id = await lab.trigger('sleep')
  await lab.seen(({ type }) => type === 'step-started')
  await new Promise((resolve) => setTimeout(resolve, 500))
  const askedAt = performance.now()
  await lab.requests.terminate(id)
  const end = await lab.seen(({ type }) => type === 'step-ended')
  const tookMs = performance.now() - askedAt
  expect(end).toMatchObject({ status: 'terminated' })
  expect(tookMs).toBeLessThan(1_000)
  expect(await lab.finished(id)).toMatchObject({ status: 'terminated', reason: 'cancelled' })
  expect(checkInvariants(await lab.history())).toEqual([])
})

test('attempt apart from retry: a loss makes a new attempt and counts as a retry, and the old attempt is fenced off', async () => {
  const heard = { bootstraps: [] as string[], tokens: [] as string[] }
  await using lab = await openLab({ script: { stepMs: [400, 400] }, transport: eavesdrop(heard) })
  const id = await lab.trigger('test')
  await lab.seen(({ type }) => type === 'step-started')
  lab.recorder.expectKill(id, 1)
  lab.cluster.kill({ buildId: id, attempt: 1 })
  await lab.seen(({ type, attempt }) => type === 'claimed' && attempt === 2)
  const old = createClient({ url: lab.url, token: heard.tokens[0], transport: nodeTransport() })
  await expect(old.text('POST', '/v1/engine/heartbeat', { body: {} })).rejects.toSatisfy((error) =>
    isFault(error, 'attempt-stale'),
  )
  const build = await lab.finished(id)
  expect(build).toMatchObject({ status: 'success', attempt: 2, retries: 1 })
  expect(build.attempts).toMatchObject([
    { number: 1, status: 'ended', result: 'lost' },
    { number: 2, status: 'ended', result: 'success' },
  ])
})

test('a build that loses its engine for ever ends as infra-poison or with an infra reason, never in a loop', async () => {
  await using lab = await openLab({ script: { crashChance: { 'in-step': 1 } } })
  const build = await lab.finished(await lab.trigger('test'))
  expect(build.status).toBe('error')
  expect(build.reason).toBe('infra-poison')
  expect(build.attempt).toBe(3)
  expect(checkInvariants(await lab.history())).toEqual([])
})
