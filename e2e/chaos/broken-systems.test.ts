/** Mutants of the running system, not of its history. Seams of the fake engines are broken on purpose, and the checker must detect it. */
import type { OpenExecutor } from '@windlass/agent'
import { isCallOf } from '@windlass/client'
import { ENGINE_ROUTES } from '@windlass/client/engine'
import { sha256 } from '@windlass/kit'
import type { HttpResponse, Transport } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { checkInvariants } from './history/invariants.ts'
import { openLab, type Lab } from './driver/lab.ts'

async function caught(lab: Lab): Promise<number[]> {
  return [...new Set(checkInvariants(await lab.history()).map(({ invariant }) => invariant))]
}

function answer(body: unknown): HttpResponse {
  return { status: 200, headers: {}, body: (async function* () {})(), text: async () => JSON.stringify(body) }
}

/** Stores only the first half of the first frame of every step and reports a wrong length, so that the server cannot detect it. */
function dropLogEnd(inner: Transport): Transport {
  const cut = new Set<string>()
  return async (request) => {
    const stream = decodeURIComponent(request.headers['x-windlass-stream'] ?? '')
    if (isCallOf(ENGINE_ROUTES.sendFrame, request) && stream.startsWith('step/') && request.body instanceof Uint8Array) {
      const end = Number(request.headers['x-windlass-offset']) + request.body.byteLength
      const body = request.body.slice(0, request.body.byteLength / 2)
      if (!cut.has(stream)) await inner({ ...request, body, headers: { ...request.headers, 'x-windlass-sha256': sha256(body) } })
      cut.add(stream)
      return answer({ offset: end })
    }
    if (!isCallOf(ENGINE_ROUTES.sendEvents, request) || typeof request.body !== 'string') return inner(request)
    return inner({ ...request, body: shortened(request.body, cut) })
  }
}

function shortened(body: string, cut: ReadonlySet<string>): string {
  const batch: unknown = JSON.parse(body, (key, value: unknown) => {
    if (key !== 'streams' || typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).filter(([stream]) => !cut.has(stream)))
  })
  return JSON.stringify(batch)
}

/** Hides commands from the engine. Counts its calls for them. */
function ignoreCancel(calls: { count: number }): (inner: Transport) => Transport {
  return (inner) => async (request) => {
    if (!isCallOf(ENGINE_ROUTES.commands, request)) return inner(request)
    calls.count += 1
    await new Promise((resolve) => setTimeout(resolve, 200))
    return answer({ commands: [] })
  }
}

/** The agent reports that an attempt is gone while its engine is running. */
function stopNothing(inner: OpenExecutor): OpenExecutor {
  return (context) => ({ ...inner(context), stop: async () => undefined })
}

/** Drops heartbeats, so that the server declares the engine lost. */
function loseHeartbeats(inner: Transport): Transport {
  return (request) => {
    const isSign = /heartbeat|commands|events|logs/.test(request.url)
    return isSign ? new Promise((_, reject) => setTimeout(() => reject(new Error('cut')), 100)) : inner(request)
  }
}

test('the checker detects a system that drops the end of a log', async () => {
  await using lab = await openLab({ transport: dropLogEnd, script: { logBytes: [1_500, 1_500] } })
  await lab.finished(await lab.trigger('test'))
  expect(await caught(lab)).toContain(7)
})

test('the checker detects a system whose termination does not reach the engine', async () => {
  const calls = { count: 0 }
  const told = Promise.withResolvers<void>()
  await using lab = await openLab({
    transport: ignoreCancel(calls),
    holdStep: ({ step }) => (step === 'one' ? told.promise : Promise.resolve()),
    timings: { terminatingMs: 120_000, terminatingSilentMs: 120_000 },
  })
  const id = await lab.trigger('one', 'two', 'three', 'four')
  await lab.seen(({ type }) => type === 'step-started')
  await lab.requests.terminate(id)
  // A call that began after the answer to the cancel has its answer when the one after it begins.
  const before = calls.count
  await expect.poll(() => calls.count).toBeGreaterThan(before + 2)
  told.resolve()
  await lab.finished(id)
  expect(await caught(lab)).toContain(5)
})

test('the checker detects a system that starts the next attempt while the old engine is running', async () => {
  const script = { stepMs: [3_600_000, 3_600_000] } as const
  await using lab = await openLab({ transport: loseHeartbeats, executor: stopNothing, script })
  await lab.trigger('test')
  await lab.seen(({ type, attempt }) => type === 'claimed' && attempt === 2)
  expect(await caught(lab)).toContain(4)
})
