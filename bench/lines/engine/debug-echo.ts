/** Time from a key press in the debugger to its echo on the screen. */
import { createServer, connect } from 'node:net'
import { sample, spread, type Line, type Row } from '../../row.ts'
import { benchImages, openLocalStack, toDocument, type LocalStack } from '../../stack/local.ts'

const KEYS = 200
const WARM_UP = 10
const LOOK_MS = 50
const SETTLE_MS = 1_000

export const debugEcho: Line = { name: 'debug-echo', measure }

async function measure(): Promise<Row[]> {
  const { shell } = await benchImages()
  await using stack = await openLocalStack()
  const document = toDocument({ one: { image: shell, command: 'true' } })
  const { id } = await stack.client.builds.create({ document, debug: { steps: { one: ['override'] } } })
  await untilHeld(stack, id)
  const times = await pressKeys(stack, id)
  await stack.client.debug.act(id, 'one', 'continue')
  await stack.client.builds.wait(id, { query: { timeoutMs: 30_000 }, timeoutMs: 40_000 })
  return [
    {
      name: 'debug-echo',
      figure: 'a key pressed in a terminal of a held step -> its echo received, through the server and its database',
      unit: 'ms',
      value: spread(times),
      warmUp: WARM_UP,
      floor: { what: 'a round trip of one byte over loopback', value: await loopback() },
      goal: 50,
    },
  ]
}

async function untilHeld({ client }: LocalStack, id: string): Promise<void> {
  for (;;) {
    const { held } = await client.debug.get(id)
    if (held.length > 0) return
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

async function pressKeys({ client }: LocalStack, id: string): Promise<number[]> {
  const input = { columns: 200, rows: 50 }
  const { id: terminal } = await client.debug.openTerminal(id, input)
  const stop = new AbortController()
  let text = ''
  let wake = Promise.withResolvers<void>()
  let shown = 0
  const reading = (async () => {
    const output = client.debug.followTerminal(id, terminal, { query: { after: 0 }, signal: stop.signal })
    for await (const { data, id: seq, event } of output) {
      if (event === 'end') return
      text += Buffer.from(data, 'base64').toString()
      shown = Number(seq)
      wake.resolve()
    }
  })()
  reading.catch(() => undefined)
  let seq = 0
  const type = async (keys: string): Promise<void> => {
    const body = { seq: seq + 1, parts: [{ keys: Buffer.from(keys).toString('base64') }], ackSeq: shown }
    seq = (await client.debug.sendInput(id, terminal, body)).seq
  }
  const until = async (wanted: string): Promise<void> => {
    while (!text.includes(wanted)) {
      wake = Promise.withResolvers()
      await wake.promise
    }
  }
  await type('cat >/dev/null\r')
  // The shell echoes by itself until the program runs.
  await until('cat')
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  const times: number[] = []
  for (let n = -WARM_UP; n < KEYS; n += 1) {
    const from = text.length
    const started = performance.now()
    await type('x')
    while (text.length === from) {
      wake = Promise.withResolvers()
      await wake.promise
    }
    if (n >= 0) times.push(performance.now() - started)
  }
  stop.abort()
  return times
}

async function loopback(): ReturnType<typeof sample> {
  const server = createServer((socket) => socket.setNoDelay(true).pipe(socket)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  const socket = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1').setNoDelay(true)
  const times = await sample(100, 10, async () => {
    const echo = new Promise((resolve) => socket.once('data', resolve))
    socket.write('x')
    await echo
  })
  socket.destroy()
  server.close()
  return times
}
