import { manualClock, silentLog } from '@windlass/kit'
import { expect, test } from 'vitest'
import type { Executor, Fact } from './executor.ts'
import { openSilentEngines, type SilentRef } from './silent-engines.ts'

const ref = (n: number): SilentRef => ({ buildId: String(n).padStart(24, '0'), attempt: 1, runtime: 'local' })

function open(log: (ref: { buildId: string }) => string | Error) {
  const read: number[] = []
  const facts: Fact[] = []
  const executor: Executor = {
    kind: 'fake',
    start: async () => undefined,
    stop: async () => undefined,
    attempts: async () => [],
    async lastLog({ buildId }) {
      read.push(Number(buildId))
      const said = log({ buildId })
      if (said instanceof Error) throw said
      return { object: `engine-${Number(buildId)}`, text: said }
    },
    close: async () => undefined,
  }
  const clock = manualClock()
  const stop = new AbortController()
  const silent = openSilentEngines({
    executor,
    report: (fact) => facts.push(fact),
    clock,
    log: silentLog,
    signal: stop.signal,
  })
  return { silent, read, facts, clock, stop }
}

test('reads each log again after 30 s, even after a failed read, and at once for an engine that is named again', async () => {
  const { silent, read, facts, clock } = open(({ buildId }) =>
    buildId === ref(2).buildId ? new Error('no such pod') : 'no route',
  )
  const name = async (...refs: number[]): Promise<number[]> => {
    read.length = 0
    silent.read(refs.map(ref))
    await silent.idle()
    return read.toSorted((a, b) => a - b)
  }
  expect(await name(1, 2)).toEqual([1, 2])
  expect(facts).toMatchObject([{ ...pod(1), state: 'waiting', reason: 'engine-silent', message: 'no route' }])
  clock.advance(29_999)
  expect(await name(1, 2, 3)).toEqual([3])
  clock.advance(1)
  expect(await name(1, 2, 3)).toEqual([1, 2])
  expect(await name(2, 3)).toEqual([])
  expect(await name(1, 2, 3)).toEqual([1])
})

test('reads the logs first that were read longest ago', async () => {
  const { silent, read, clock } = open(() => 'no route')
  silent.read([1, 2, 3].map(ref))
  await silent.idle()
  clock.advance(30_000)
  silent.read([1, 2, 3, 4, 5, 6, 7].map(ref))
  await silent.idle()
  expect(read.slice(3, 7)).toEqual([4, 5, 6, 7])
})

test('reads and reports nothing after the agent has stopped', async () => {
  const { silent, read, facts, stop } = open(() => 'no route')
  silent.read([ref(1)])
  stop.abort()
  await silent.idle()
  silent.read([ref(2)])
  await silent.idle()
  expect(read).toEqual([1])
  expect(facts).toEqual([])
})

function pod(n: number): Pick<Fact, 'buildId' | 'attempt' | 'object'> {
  return { buildId: ref(n).buildId, attempt: 1, object: `engine-${n}/log` }
}
