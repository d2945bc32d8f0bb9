/** `node tunnel-router.ts`: the router of a GitOps runtime, with a short answer and one of a gigabyte. Prints `ready <port>`. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'

const GIGABYTE = 1024 ** 3
const BLOCK = Buffer.alloc(65_536, 'x')

async function sendGigabyte(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-length': String(GIGABYTE) })
  for (let sent = 0; sent < GIGABYTE && !response.destroyed; sent += BLOCK.length)
    if (!response.write(BLOCK)) await Promise.race([once(response, 'drain'), once(response, 'close')])
  response.end()
}

const server = createServer((request, response) => {
  if (request.url === '/app-proxy/gigabyte') void sendGigabyte(response)
  else response.end('ok')
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(`ready ${typeof address === 'object' && address !== null ? address.port : 0}`)
})
