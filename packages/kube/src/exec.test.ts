/** How commands in containers use the two subprotocols, against a server that speaks them. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { Readable } from 'node:stream'
import { manualClock, silentLog, systemClock, type Clock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { WebSocketServer, type WebSocket } from 'ws'
import { openKube, type Kube } from './index.ts'

const V4 = 'v4.channel.k8s.io'
const V5 = 'v5.channel.k8s.io'
const pod = { kind: 'Pod', namespace: 'ci', name: 'build' } as const
const SUCCESS = '{"metadata":{},"status":"Success"}'

interface Far {
  readonly kube: Kube
  /** The other end of the next connection, and the request that opened it. */
  next(): Promise<{ readonly socket: WebSocket; readonly request: IncomingMessage; readonly heard: Buffer[] }>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts an API server that supports these subprotocols. */
async function openFar(protocols: readonly string[], clock: Clock = systemClock): Promise<Far> {
  const server = createServer()
  const sockets = new WebSocketServer({
    server,
    handleProtocols: (asked) => [...asked].find((each) => protocols.includes(each)) ?? false,
    perMessageDeflate: false,
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const access = { server: `http://127.0.0.1:${port}/base`, insecure: false, namespace: 'ci', token: () => 'the-token' }
  const kube = openKube({ access, log: silentLog, clock })
  return {
    kube,
    async next() {
      const [socket, request] = (await once(sockets, 'connection')) as [WebSocket, IncomingMessage]
      const heard: Buffer[] = []
      socket.on('message', (data: Buffer) => void heard.push(data))
      return { socket, request, heard }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.clients) socket.terminate()
      kube.close()
      server.close()
    },
  }
}

const message = (channel: number, bytes: string | Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([channel]), typeof bytes === 'string' ? Buffer.from(bytes) : bytes])

async function until(is: () => boolean): Promise<void> {
  for (let i = 0; !is(); i += 1) {
    if (i > 2_000) throw new Error('timed out')
    await systemClock.sleep(5)
  }
}

test('asks for v5 and v4 with the credentials, path and arguments of the call', async () => {
  await using far = await openFar([V5])
  const connected = far.next()
  const command = ['sh', '-c', 'echo "a & b"']
  const { exit } = await far.kube.exec(pod, { command, container: 'engine', stdin: true })
  const { socket, request } = await connected
  const url = new URL(request.url ?? '', 'http://x')
  expect(url.pathname).toBe('/base/api/v1/namespaces/ci/pods/build/exec')
  expect(url.searchParams.getAll('command')).toEqual(command)
  expect(Object.fromEntries(url.searchParams)).toMatchObject({
    container: 'engine',
    stdin: 'true',
    stdout: 'true',
    stderr: 'true',
    tty: 'false',
  })
  expect(request.headers).toMatchObject({ authorization: 'Bearer the-token', 'sec-websocket-protocol': `${V5},${V4}` })
  socket.send(message(3, SUCCESS))
  await expect(exit).resolves.toBe(0)
})

test('splits output into its streams, and takes results and messages that come in parts', async () => {
  await using far = await openFar([V5, V4])
  const connected = far.next()
  const { stdout, stderr, exit } = await far.kube.exec(pod, { command: ['x'] })
  const { socket } = await connected
  const letters = Buffer.from('grüße')
  socket.send(message(1, ''))
  socket.send(message(1, letters.subarray(0, 3)))
  socket.send(message(2, 'oh'))
  // A message in three frames, the first of which ends after the channel.
  socket.send(Buffer.from([1]), { fin: false })
  socket.send(letters.subarray(3, 5), { fin: false })
  socket.send(letters.subarray(5), { fin: true })
  socket.send(message(9, 'of a channel that does not exist'))
  socket.send(message(3, SUCCESS.slice(0, 10)))
  socket.send(message(3, SUCCESS.slice(10)))
  expect(await Promise.all([text(stdout), text(stderr), exit])).toEqual(['grüße', 'oh', 0])
})

const failure = (fields: object): string => JSON.stringify({ metadata: {}, status: 'Failure', ...fields })
const causes = [{ reason: 'ExitCode', message: '42' }]

test.each([
  [{ reason: 'NonZeroExitCode', message: 'exit', details: { causes } }, 42],
  [
    { reason: 'NonZeroExitCode', message: 'exit', details: {} },
    { code: 'cluster-refused', message: 'exit' },
  ],
  [
    { reason: 'InternalError', message: 'executable file not found in $PATH', code: 500 },
    { code: 'cluster-refused', message: 'executable file not found in $PATH', details: { kubeReason: 'InternalError' } },
  ],
])('reads the result %j', async (fields, expected) => {
  await using far = await openFar([V4])
  const connected = far.next()
  const { stdout, exit } = await far.kube.exec(pod, { command: ['x'] })
  const { socket } = await connected
  socket.send(message(3, failure(fields)))
  expect(await exit.catch((error: unknown) => error)).toEqual(
    typeof expected === 'number'
      ? expected
      : expect.objectContaining({
          ...expected,
          ...('details' in expected && { details: expect.objectContaining(expected.details) }),
        }),
  )
  expect(await text(stdout)).toBe('')
})

test('takes a result that comes byte by byte, with braces and quotes in its message', async () => {
  await using far = await openFar([V5])
  const connected = far.next()
  const { exit } = await far.kube.exec(pod, { command: ['x'] })
  const { socket } = await connected
  const result = Buffer.from(`${failure({ reason: 'NonZeroExitCode', message: '} \\" {"é\\', details: { causes } })}\n`)
  for (const byte of result) socket.send(message(3, new Uint8Array([byte])))
  await expect(exit).resolves.toBe(42)
})

test.each([
  ['never ends', (socket: WebSocket) => socket.send(message(3, `{"message":"${'x'.repeat(32_768)}`)), 'more than 64 KiB'],
  ['is not JSON', (socket: WebSocket) => socket.send(message(3, '{not json}')), 'is not JSON'],
])('fails if the result %s', async (_, send, expected) => {
  await using far = await openFar([V5])
  const connected = far.next()
  const { stdout, exit } = await far.kube.exec(pod, { command: ['x'] })
  const { socket } = await connected
  for (let n = 0; n < 4; n += 1) send(socket)
  await expect(exit).rejects.toMatchObject({ code: 'cluster-unreachable', message: expect.stringContaining(expected) })
  await expect(text(stdout)).rejects.toMatchObject({ code: 'cluster-unreachable' })
})

test.each([
  ['closes', (socket: WebSocket) => socket.close(1000)],
  ['is cut', (socket: WebSocket) => socket.terminate()],
])('does not take output for complete if the connection %s before the result', async (_, end) => {
  await using far = await openFar([V5])
  const connected = far.next()
  const { stdin, stdout, exit } = await far.kube.exec(pod, { command: ['x'], stdin: true })
  const { socket } = await connected
  socket.send(message(1, 'half'), () => end(socket))
  await expect(text(stdout)).rejects.toMatchObject({ code: 'cluster-unreachable', retryable: true })
  await expect(exit).rejects.toMatchObject({ code: 'cluster-unreachable' })
  expect(stdin.destroyed).toBe(true)
})

test('sends stdin in frames and closes it with the signal of v5', async () => {
  await using far = await openFar([V5])
  const connected = far.next()
  const { stdin, exit } = await far.kube.exec(pod, { command: ['cat'], stdin: true })
  const { socket, heard } = await connected
  const bytes = Buffer.alloc(150_000, 'windlass')
  await pipeline(Readable.from([bytes]), stdin)
  await until(() => heard.at(-1)?.equals(Buffer.from([255, 0])) === true)
  const frames = heard.slice(0, -1)
  expect(frames.every((frame) => frame[0] === 0)).toBe(true)
  expect(Buffer.concat(frames.map((frame) => frame.subarray(1))).equals(bytes)).toBe(true)
  expect(frames.length).toBeGreaterThan(1)
  socket.send(message(3, SUCCESS))
  await expect(exit).resolves.toBe(0)
})

test('fails on v4 when stdin is closed, because the command would wait forever', async () => {
  await using far = await openFar([V4])
  const connected = far.next()
  const { stdin, exit } = await far.kube.exec(pod, { command: ['cat'], stdin: true })
  await connected
  stdin.end('text')
  await expect(exit).rejects.toMatchObject({ code: 'cluster-refused', message: expect.stringContaining('close the stdin') })
})

test('pauses the connection for a slow reader, and continues where it was', async () => {
  await using far = await openFar([V5])
  const connected = far.next()
  const { stdout, stderr, exit } = await far.kube.exec(pod, { command: ['x'] })
  const { socket } = await connected
  stderr.destroy()
  const part = Buffer.alloc(32_768)
  const total = 1_000
  for (let n = 0; n < total; n += 1) {
    part.fill(n % 251)
    socket.send(message(1, part))
    socket.send(message(2, part))
  }
  socket.send(message(3, SUCCESS))
  await systemClock.sleep(100)
  // What the kernel and the two buffers hold is far less than 64 MB.
  expect(socket.bufferedAmount).toBeGreaterThan(30_000_000)
  expect(stdout.readableLength).toBeLessThan(1_000_000)
  const bytes = await buffer(stdout)
  expect(bytes.length).toBe(total * part.length)
  expect(Array.from({ length: total }, (_, n) => bytes[n * part.length + 7]).every((byte, n) => byte === n % 251)).toBe(true)
  await expect(exit).resolves.toBe(0)
})

test('resizes the terminal, and gets all output of one on stdout', async () => {
  await using far = await openFar([V5])
  const connected = far.next()
  const attached = await far.kube.attach(pod, { tty: true, stdin: true })
  const { socket, request, heard } = await connected
  expect(request.url).toContain('/attach?')
  expect(request.url).toContain('stderr=false')
  attached.resize({ columns: 120, rows: 40 })
  await until(() => heard.length > 0)
  expect(heard[0]).toEqual(message(4, '{"Width":120,"Height":40}'))
  socket.send(message(3, SUCCESS))
  await expect(attached.ended).resolves.toBeUndefined()
})

test('disconnects when the signal is aborted, before and after the connection is open', async () => {
  await using far = await openFar([V5])
  const stop = new AbortController()
  const connected = far.next()
  const { stdout, exit } = await far.kube.exec(pod, { command: ['x'], signal: stop.signal })
  const { socket } = await connected
  const closed = once(socket, 'close')
  stop.abort()
  await expect(exit).rejects.toMatchObject({ name: 'AbortError' })
  await expect(text(stdout)).rejects.toMatchObject({ name: 'AbortError' })
  await closed
  await expect(far.kube.exec(pod, { command: ['x'], signal: stop.signal })).rejects.toMatchObject({ name: 'AbortError' })
})

test('pings, and gives up a connection that does not answer unless it waits for stdin to be read', async () => {
  const clock = manualClock()
  await using far = await openFar([V5], clock)
  const connected = far.next()
  const { stdin, stdout, exit } = await far.kube.exec(pod, { command: ['x'], stdin: true })
  const { socket } = await connected
  let pings = 0
  socket.on('ping', () => void (pings += 1))
  /** Resolves when the client has everything that the server sent before, including its answers to pings. */
  const heardAll = async (): Promise<void> => {
    const heard = once(stdout, 'data')
    socket.send(message(1, '.'))
    await heard
  }
  const passDeaf = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 10_000) {
      clock.advance(10_000)
      await new Promise(setImmediate)
    }
  }
  for (let n = 1; n <= 10; n += 1) {
    clock.advance(10_000)
    await until(() => pings === n)
  }
  await heardAll()
  socket.pause()
  await new Promise((resolve) => stdin.write('nobody reads this', resolve))
  await passDeaf(100_000)
  socket.resume()
  await until(() => pings === 20)
  await heardAll()
  socket.pause()
  await passDeaf(80_000)
  await expect(exit).rejects.toMatchObject({ message: expect.stringContaining('no answer to a ping within 60 s') })
})
