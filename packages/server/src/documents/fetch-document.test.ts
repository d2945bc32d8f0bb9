import { createServer, type RequestListener } from 'node:http'
import { expect, test } from 'vitest'
import { fetchDocument, isRefused } from './fetch-document.ts'

async function serve(listener: RequestListener): Promise<AsyncDisposable & { url: string }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const allowed = { hosts: ['127.0.0.1'] }

test.each([
  '127.0.0.1',
  '169.254.169.254',
  '::1',
  '::ffff:169.254.169.254',
  '::ffff:7f00:1',
  'fe80::1',
  '0.0.0.0',
  '100.100.100.200',
  'not an address',
])('no document comes from %s', (address) => expect(isRefused(address)).toBe(true))

test.each(['10.0.0.7', '192.168.1.1', '93.184.216.34', '2606:4700::1'])('documents may come from %s', (address) => {
  expect(isRefused(address)).toBe(false)
})

test('forbidden addresses, other schemes and logins are refused before anything is asked', async () => {
  let asked = 0
  await using server = await serve((_request, response) => {
    asked += 1
    response.end('steps')
  })
  const anywhere = { hosts: [] }
  await expect(fetchDocument(server.url, anywhere)).rejects.toThrow('127.0.0.1 is not allowed')
  await expect(fetchDocument(server.url.replace('127.0.0.1', 'localhost'), anywhere)).rejects.toThrow('not allowed')
  await expect(fetchDocument(server.url.replace('127.0.0.1', '2130706433'), anywhere)).rejects.toThrow('not allowed')
  await expect(fetchDocument(server.url, { hosts: ['example.com'] })).rejects.toThrow('not among those that are allowed')
  await expect(fetchDocument('file:///etc/passwd', allowed)).rejects.toThrow('file:// is not allowed')
  await expect(fetchDocument('http://me:secret@127.0.0.1/', allowed)).rejects.toThrow('login')
  expect(asked).toBe(0)
})

test('redirects are followed a few times, and checked like the first URL', async () => {
  await using server = await serve((request, response) => {
    if (request.url === '/plain') response.end('text')
    else if (request.url === '/away') response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end()
    else response.writeHead(302, { location: request.url === '/once' ? '/plain' : '/loop' }).end()
  })
  expect(await fetchDocument(`${server.url}/once`, allowed)).toBe('text')
  await expect(fetchDocument(`${server.url}/loop`, allowed)).rejects.toThrow('redirects')
  await expect(fetchDocument(`${server.url}/away`, allowed)).rejects.toThrow('not among those that are allowed')
})

test('a document that is too large or not there is told', async () => {
  await using server = await serve((request, response) => {
    if (request.url === '/large') response.end('x'.repeat(2_000_000))
    else response.writeHead(404).end()
  })
  await expect(fetchDocument(`${server.url}/large`, allowed)).rejects.toThrow('larger than 1 MiB')
  await expect(fetchDocument(`${server.url}/gone`, allowed)).rejects.toThrow('answered 404')
})
