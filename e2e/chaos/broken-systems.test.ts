/** Mutants of the running system, not of its history: seams of the fake engines are broken on purpose, and the checker must see it. */
import type { OpenExecutor } from '@windlass/agent'
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

/** Drops the last frame of every step and lies about the length, so that the server cannot notice. */
function dropLastFrame(inner: Transport): Transport {
  const stored = new Map<string, number>()
  return (request) => {
    const stream = request.headers['x-windlass-stream'] ?? ''
    if (request.url.endsWith('/v1/engine/logs') && stream.startsWith('step/') && request.body instanceof Uint8Array) {
      const offset = Number(request.headers['x-windlass-offset'])
      if (request.body.byteLength < 1_024) {
        stored.set(stream, offset)
        return Promise.resolve(answer({ offset: offset + request.body.byteLength }))
      }
    }
    if (!request.url.endsWith('/v1/engine/events') || typeof request.body !== 'string') return inner(request)
    return inner({ ...request, body: shortened(request.body, stored) })
  }
}

function shortened(body: string, stored: ReadonlyMap<string, number>): string {
  const batch: unknown = JSON.parse(body, (key, value: unknown) => {
    if (key !== 'streams' || typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).filter(([stream]) => !stored.has(stream)))
  })
  return JSON.stringify(batch)
}

/** Keeps commands from the engine. */
function ignoreCancel(inner: Transport): Transport {
  return async (request) => {
    if (!request.url.includes('/v1/engine/commands')) return inner(request)
    await new Promise((resolve) => setTimeout(resolve, 200))
    return answer({ commands: [] })
  }
}

/** The agent says that an attempt is gone while its engine goes on. */
function stopNothing(inner: OpenExecutor): OpenExecutor {
  return (context) => ({ ...inner(context), stop: async () => undefined })
}

/** Heartbeats never arrive: the server takes the engine for dead. */
function loseHeartbeats(inner: Transport): Transport {
  return (request) => {
    const isSign = /heartbeat|commands|events|logs/.test(request.url)
    return isSign ? new Promise((_, reject) => setTimeout(() => reject(new Error('cut')), 100)) : inner(request)
  }
}

test('the checker sees a system that drops the last chunk of a log', async () => {
  await using lab = await openLab({ transport: dropLastFrame, script: { logBytes: [1_500, 1_500] } })
  await lab.finished(await lab.trigger('test'))
  expect(await caught(lab)).toContain(7)
})

test('the checker sees a system whose cancel does not reach the engine', async () => {
  await using lab = await openLab({
    transport: ignoreCancel,
    script: { stepMs: [700, 700] },
    timings: { terminatingMs: 20_000, terminatingSilentMs: 20_000 },
  })
  const id = await lab.trigger('one', 'two', 'three', 'four')
  await lab.seen(({ type }) => type === 'step-started')
  await lab.requests.terminate(id)
  await lab.finished(id)
  expect(await caught(lab)).toContain(5)
})

test('the checker sees a system that starts the next attempt while the old engine runs on', async () => {
  await using lab = await openLab({ transport: loseHeartbeats, executor: stopNothing, script: { stepMs: [8_000, 8_000] } })
  await lab.trigger('test')
  await lab.seen(({ type, attempt }) => type === 'claimed' && attempt === 2)
  expect(await caught(lab)).toContain(4)
})
