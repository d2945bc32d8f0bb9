/** Ports for the servers of the tests of the page. */
import { createServer } from 'node:net'

/** Below the ports that Linux gives to calls. Processes that run at the same time have other ones: two could find the same port free in the same moment. */
const FIRST = 20_000 + 10 * (process.pid % 1_000)
const taken = new Set<number>()

/**
 * Takes the first port that no running server of this process has. Servers that follow each other have the same address, so Chromium loads and compiles
 * the page once for all of them.
 */
export async function takePort(): Promise<Disposable & { readonly port: number }> {
  for (let port = FIRST; ; port += 1) {
    if (taken.has(port)) continue
    taken.add(port)
    if (await isFree(port)) return { port, [Symbol.dispose]: () => void taken.delete(port) }
  }
}

/** Returns whether no other process has a port. */
async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<boolean>()
  server.once('error', () => resolve(false))
  server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  return promise
}
