/**
 * A TCP proxy that simulates the network between two processes. It balances over targets and, on request, drops connections, delays bytes, and leaves
 * connections half open (bytes are discarded silently). It counts its faults, because a run without effective faults does not count.
 */
import net from 'node:net'
import type { Random } from './random.ts'

export interface NetworkFaults {
  /** Probability per piece of data, in either direction. */
  readonly drop: number
  readonly delay: number
  /** From here on all data is discarded, until the connection is cut after `stallMs`. */
  readonly stall: number
  readonly delayMs: readonly [number, number]
  readonly stallMs: readonly [number, number]
}

export const CALM: NetworkFaults = { drop: 0, delay: 0, stall: 0, delayMs: [0, 0], stallMs: [0, 0] }
export const STORM: NetworkFaults = { drop: 0.02, delay: 0.1, stall: 0.005, delayMs: [5, 400], stallMs: [500, 3_000] }

export interface TcpProxyOptions {
  /** Loopback ports. Read for each connection and tried in turn. */
  readonly targets: () => readonly number[]
  readonly random: Random
  readonly port?: number
}

export interface TcpProxy extends AsyncDisposable {
  readonly port: number
  faults: NetworkFaults
  /** Cuts all connections, and refuses new ones until `heal`. */
  partition(): void
  heal(): void
  readonly counts: { connections: number; drops: number; delays: number; stalls: number; refused: number }
}

export async function openTcpProxy(options: TcpProxyOptions): Promise<TcpProxy> {
  const counts = { connections: 0, drops: 0, delays: 0, stalls: 0, refused: 0 }
  const open = new Set<net.Socket>()
  let isParted = false
  let turn = 0
  const proxy: TcpProxy = {
    port: 0,
    faults: CALM,
    counts,
    partition() {
      isParted = true
      for (const socket of open) socket.destroy()
    },
    heal() {
      isParted = false
    },
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>()
      server.close(() => closed.resolve())
      for (const socket of open) socket.destroy()
      await closed.promise
    },
  }
  const track = (socket: net.Socket): void => {
    open.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.once('close', () => open.delete(socket))
  }
  const server = net.createServer({ pauseOnConnect: true }, (client) => {
    track(client)
    counts.connections += 1
    turn += 1
    if (isParted) {
      counts.refused += 1
      client.destroy()
      return
    }
    void reach(options.targets(), turn).then((upstream) => {
      if (upstream === undefined || client.destroyed) {
        if (upstream === undefined) counts.refused += 1
        upstream?.destroy()
        client.destroy()
        return
      }
      track(upstream)
      join(client, upstream, { proxy, random: options.random })
    })
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(options.port ?? 0, '127.0.0.1', resolve)
  await promise
  const address = server.address()
  return Object.assign(proxy, { port: typeof address === 'object' && address !== null ? address.port : 0 })
}

/** Connects to the first target that accepts, starting with the next one in the rotation. */
async function reach(targets: readonly number[], turn: number): Promise<net.Socket | undefined> {
  for (let n = 0; n < targets.length; n += 1) {
    const port = targets[(turn + n) % targets.length]
    if (port === undefined) continue
    const socket = await connect(port).catch(() => undefined)
    if (socket !== undefined) return socket
  }
  return undefined
}

function connect(port: number): Promise<net.Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<net.Socket>()
  const socket = net.connect(port, '127.0.0.1')
  socket.once('connect', () => resolve(socket))
  socket.once('error', reject)
  return promise
}

interface Weather {
  readonly proxy: TcpProxy
  readonly random: Random
}

function join(client: net.Socket, upstream: net.Socket, weather: Weather): void {
  const link = { isStalled: false, cut: () => (client.destroy(), upstream.destroy()) }
  pump(client, upstream, link, weather)
  pump(upstream, client, link, weather)
  client.once('close', () => upstream.destroy())
  upstream.once('close', () => client.destroy())
}

interface Link {
  isStalled: boolean
  cut(): void
}

function pump(from: net.Socket, to: net.Socket, link: Link, { proxy, random }: Weather): void {
  const pass = async (data: Buffer): Promise<void> => {
    const { faults, counts } = proxy
    if (link.isStalled) return
    if (random.chance(faults.drop)) {
      counts.drops += 1
      link.cut()
      return
    }
    if (random.chance(faults.stall)) {
      counts.stalls += 1
      link.isStalled = true
      setTimeout(() => link.cut(), random.between(...faults.stallMs))
      return
    }
    if (random.chance(faults.delay)) {
      counts.delays += 1
      await new Promise((resolve) => setTimeout(resolve, random.between(...faults.delayMs)))
    }
    if (!to.destroyed && !to.write(data)) await new Promise<void>((resolve) => onceEither(to, resolve))
  }
  from.on('data', (data: Buffer) => {
    from.pause()
    void pass(data).then(() => from.resume())
  })
  from.once('end', () => to.end())
  from.resume()
}

function onceEither(socket: net.Socket, then: () => void): void {
  const done = (): void => {
    socket.off('drain', done)
    socket.off('close', done)
    then()
  }
  socket.once('drain', done)
  socket.once('close', done)
}
