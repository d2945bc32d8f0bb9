/** Many slow reads at once. */
import http from 'node:http'
import { once } from 'node:events'
import { systemClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { parseS3Url } from './address.ts'
import { openS3 } from './client.ts'
import { s3Objects } from './objects.ts'

const KEY = '2026-11-23/04/0123456789abcdef01234567'

test('stores an object while all connections for reads are in use', async () => {
  const reads: http.ServerResponse[] = []
  const server = http.createServer((request, response) => {
    request.resume()
    if (request.method === 'GET') reads.push(response)
    else response.writeHead(200, { etag: '"e"' }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const found = server.address()
  const port = typeof found === 'object' && found !== null ? found.port : 0
  const objects = s3Objects(
    openS3({
      address: parseS3Url(`s3://logs/p?endpoint=http://127.0.0.1:${port}`, {}),
      clock: systemClock,
      credentials: async () => ({ accessKeyId: 'a', secretAccessKey: 'b' }),
    }),
  )
  const reading = Array.from({ length: 100 }, () => objects.get(KEY, { start: 0, bytes: 1 }))
  while (reads.length < 64) await systemClock.sleep(10)
  await objects.put(KEY, [Buffer.from('x')])
  expect(reads).toHaveLength(64)
  server.on('request', () => reads.at(-1)?.writeHead(206).end('x'))
  for (const response of reads) response.writeHead(206).end('x')
  expect(await Promise.all(reading)).toHaveLength(100)
})
