/** Calls through a tunnel: alone, beside a download of a gigabyte, and after the connection was cut. */
import { setTimeout as sleep } from 'node:timers/promises'
import { openWire } from '../../../packages/tunnel/test/support/scene.ts'
import { sample, spread, type Line, type Row } from '../../row.ts'
import { callOnce, openTunnelStack, type TunnelStack } from '../../stack/tunnel.ts'

/** Calls at the same time. */
const CALLS = 200
const ROUNDS = 10
const WARM_UP = 3
/** Cuts of the connection. */
const CUTS = 5
const LOOK_MS = 20

export const tunnel: Line = { name: 'tunnel', measure }

async function measure(): Promise<Row[]> {
  await using stack = await openTunnelStack()
  const client = await stack.startClient()
  const { alone, beside, direct } = await measureCalls(stack)
  await client.stop()
  const back = await sample(CUTS, 1, () => measureCut(stack))
  return [
    {
      name: 'tunnel-calls',
      figure: `a short call through a tunnel, ${CALLS} at once`,
      unit: 'ms',
      value: alone,
      warmUp: WARM_UP * CALLS,
      floor: { what: 'the same calls to the router without a tunnel', value: direct },
    },
    {
      name: 'tunnel-calls-beside-download',
      figure: `a short call through a tunnel, ${CALLS} at once, beside a download of a gigabyte through the same tunnel`,
      unit: 'ms',
      value: beside,
      warmUp: WARM_UP * CALLS,
      floor: { what: 'the same calls without the download', value: alone },
      goalRatio: 2,
    },
    {
      name: 'tunnel-back',
      figure: 'from the cut of the connection of a client to the first call that is answered again',
      unit: 's',
      value: back,
      warmUp: 1,
      goal: 5,
      note: 'the delay before the first try is 0.5 s to 1 s',
    },
  ]
}

async function measureCalls(stack: TunnelStack): Promise<Record<'alone' | 'beside' | 'direct', ReturnType<typeof spread>>> {
  const through = (): Promise<number[]> => callMany(stack.port, stack.host)
  const times = { alone: [] as number[], beside: [] as number[], direct: [] as number[] }
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const direct = await callMany(stack.routerPort, stack.host)
    const alone = await through()
    const download = await stack.startDownload()
    const beside = await through()
    await download.stop('SIGKILL')
    if (round < 0) continue
    times.direct.push(...direct)
    times.alone.push(...alone)
    times.beside.push(...beside)
  }
  return { alone: spread(times.alone), beside: spread(times.beside), direct: spread(times.direct) }
}

/** Makes calls at the same time. Returns how long each took, milliseconds. */
async function callMany(port: number, host: string): Promise<number[]> {
  return Promise.all(
    Array.from({ length: CALLS }, async () => {
      const startedAt = performance.now()
      const status = await callOnce(port, host)
      if (status !== 200) throw new Error(`a call was answered with ${status}`)
      return performance.now() - startedAt
    }),
  )
}

/** Returns the seconds from a cut to the first answer. Each cut has a client of its own, because the delays of one grow until it is stable. */
async function measureCut(stack: TunnelStack): Promise<number> {
  await using wire = await openWire(stack.port)
  const client = await stack.startClient(wire.port)
  const startedAt = performance.now()
  wire.cut()
  wire.repair()
  await sleep(LOOK_MS)
  while ((await stack.call()) !== 200) await sleep(LOOK_MS)
  const seconds = (performance.now() - startedAt) / 1_000
  await client.stop()
  return seconds
}
