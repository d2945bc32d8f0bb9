import { createServer, type RequestListener } from 'node:http'
import { expect, test } from 'vitest'
import { fetchDocument } from './fetch-document.ts'
import { isRefused, openNetworks } from '../outbound/networks.ts'

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
  '10.0.0.7',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  '169.254.169.254',
  '168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
  '198.18.0.1',
  '192.88.99.1',
  '224.0.0.1',
  '255.255.255.255',
  '0.0.0.0',
  '::',
  '::1',
  '::ffff:169.254.169.254',
  '::ffff:7f00:1',
  '::ffff:a00:7',
  '::127.0.0.1',
  '0:0:0:0:0:ffff:a9fe:a9fe',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::1',
  '2002:7f00:1::',
  '2001:0:1::1',
  '2001:db8::1',
  'fd00:ec2::254',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  'not an address',
])('refuses to fetch documents from %s', (address) => expect(isRefused(address)).toBe(true))

test.each(['93.184.216.34', '100.128.0.1', '172.32.0.1', '168.63.129.17', '2606:4700::1', '2a00:1450::1'])(
  'allows documents from %s',
  (address) => expect(isRefused(address)).toBe(false),
)

test('allows the ranges of the setting and no others', () => {
  const open = openNetworks(['10.1.0.0/16', '168.63.129.16', 'fd00:1::/32'])
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '168.63.129.16', 'fd00:1::5'])
    expect(isRefused(address, open)).toBe(false)
  for (const address of ['10.2.0.1', '127.0.0.1', '::ffff:10.2.0.1', 'fd00:2::5']) expect(isRefused(address, open)).toBe(true)
  for (const wrong of ['10.0.0.0/33', 'intranet', '10.0.0.0/x', '/8', 'fd00::/129'])
    expect(() => openNetworks([wrong]), wrong).toThrow(wrong)
})

test('refuses forbidden addresses, other schemes and logins before it sends a request', async () => {
  let asked = 0
  await using server = await serve((_request, response) => {
    asked += 1
    response.end('steps')
  })
  const anywhere = { hosts: [] }
  await expect(fetchDocument(server.url, anywhere)).rejects.toThrow('127.0.0.1 is not allowed')
  await expect(fetchDocument(server.url.replace('127.0.0.1', 'localhost'), anywhere)).rejects.toThrow('cannot be reached')
  for (const spelling of ['2130706433', '0x7f.1', '0177.0.0.1', '127.1', '[::ffff:127.0.0.1]', '[::1]'])
    await expect(fetchDocument(server.url.replace('127.0.0.1', spelling), anywhere), spelling).rejects.toThrow('is not allowed')
  await expect(fetchDocument(server.url, { hosts: ['example.com'] })).rejects.toThrow('is not in the list of allowed hosts')
  await expect(fetchDocument('file:///etc/passwd', allowed)).rejects.toThrow('file:// is not allowed')
  await expect(fetchDocument('http://me:secret@127.0.0.1/', allowed)).rejects.toThrow('login')
  expect(asked).toBe(0)
  expect(await fetchDocument(server.url, { hosts: [], networks: openNetworks(['127.0.0.0/8']) })).toBe('steps')
})

test('reports the same message for every reason why a host does not respond', async () => {
  await using unresponsive = await serve((request) => request.socket.destroy())
  await using closed = await serve(() => undefined)
  await closed[Symbol.asyncDispose]()
  const failureOf = async (url: string, networks: string[]): Promise<string> =>
    fetchDocument(url, { hosts: [], networks: openNetworks(networks) }).then(
      () => 'fetched',
      (error: Error) => error.message.replaceAll(new URL(url).host, 'HOST'),
    )
  const all = ['127.0.0.0/8', '::1']
  const failures = [
    await failureOf(closed.url, all),
    await failureOf(unresponsive.url, all),
    await failureOf(unresponsive.url.replace('http:', 'https:'), all),
    await failureOf('http://no-such-host.invalid/', all),
    await failureOf(closed.url.replace('127.0.0.1', 'localhost'), []),
  ]
  expect(new Set(failures)).toEqual(new Set(['HOST cannot be reached from the server, or no setting allows its address']))
})

test('follows a few redirects, and checks them like the first URL', async () => {
  await using server = await serve((request, response) => {
    if (request.url === '/plain') response.end('text')
    else if (request.url === '/away') response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end()
    else response.writeHead(302, { location: request.url === '/once' ? '/plain' : '/loop' }).end()
  })
  expect(await fetchDocument(`${server.url}/once`, allowed)).toBe('text')
  await expect(fetchDocument(`${server.url}/loop`, allowed)).rejects.toThrow('redirects')
  await expect(fetchDocument(`${server.url}/away`, allowed)).rejects.toThrow('is not in the list of allowed hosts')
})

test('reports a document that is too large or missing', async () => {
  await using server = await serve((request, response) => {
    if (request.url === '/large') response.end('x'.repeat(2_000_000))
    else response.writeHead(404).end()
  })
  await expect(fetchDocument(`${server.url}/large`, allowed)).rejects.toThrow('larger than 1 MiB')
  await expect(fetchDocument(`${server.url}/gone`, allowed)).rejects.toThrow('answered 404')
})
