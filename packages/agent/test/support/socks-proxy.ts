import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface SocksProxy extends AsyncDisposable {
  readonly port: number
  /** `host:port` of connections that were let through. */
  readonly passed: string[]
  /** Number of connections with another name or password than required. */
  refused(): number
}

/** Opens a SOCKS 5 proxy (RFC 1928, 1929) that requires a login and resolves only these names. */
export async function openSocksProxy(login: string, hosts: Readonly<Record<string, string>>): Promise<SocksProxy> {
  const passed: string[] = []
  const sockets = new Set<Socket>()
  let refused = 0
  const serve = async (near: Socket): Promise<void> => {
    const read = readerOf(near)
    const [, methods = 0] = await read(2)
    const offered = await read(methods)
    if (!offered.includes(2)) return void near.end(Buffer.from([5, 0xff]))
    near.write(Buffer.from([5, 2]))
    const [, nameLength = 0] = await read(2)
    const name = (await read(nameLength)).toString()
    const [passwordLength = 0] = await read(1)
    const isKnown = `${name}:${(await read(passwordLength)).toString()}` === login
    near.write(Buffer.from([1, isKnown ? 0 : 1]))
    if (!isKnown) {
      refused += 1
      return void near.end()
    }
    const [, , , type] = await read(4)
    const host = type === 1 ? (await read(4)).join('.') : (await read((await read(1))[0] ?? 0)).toString()
    const port = (await read(2)).readUInt16BE()
    const address = type === 1 ? host : hosts[host]
    if (address === undefined) return void near.end(Buffer.from([5, 4, 0, 1, 0, 0, 0, 0, 0, 0]))
    passed.push(`${host}:${port}`)
    const far = connect(port, address, () => {
      near.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
      near.pipe(far).pipe(near)
    })
    keep(far)
  }
  const keep = (socket: Socket): void =>
    void sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)))
  const server = createServer((near) => {
    keep(near)
    serve(near).catch(() => near.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    passed,
    refused: () => refused,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Returns a function that resolves with the next bytes of a socket, and leaves the others in it. */
function readerOf(socket: Socket): (size: number) => Promise<Buffer> {
  return async (size) => {
    if (size === 0) return Buffer.alloc(0)
    for (;;) {
      const bytes: Buffer | null = socket.read(size)
      if (bytes !== null) return bytes
      await once(socket, 'readable')
    }
  }
}
