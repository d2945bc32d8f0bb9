/** The floor of a handover: one small POST and its response over a kept-alive loopback connection. */
import http from 'node:http'
import { nodeTransport } from '@windlass/kit'
import { sample, type Spread } from '../row.ts'

/** Round trips between two event loops of this process are faster than between two processes; the difference is below 0.1 ms here. */
export async function loopbackRoundTrip(n: number): Promise<Spread> {
  const server = http.createServer((request, response) => {
    request.resume()
    request.once('end', () => response.end('{}'))
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const transport = nodeTransport()
  try {
    return await sample(n, 20, async () => {
      const answer = await transport({ method: 'POST', url: `http://127.0.0.1:${port}/`, headers: {}, body: 'x'.repeat(2_000) })
      await answer.text()
    })
  } finally {
    server.closeAllConnections()
    server.close()
  }
}
