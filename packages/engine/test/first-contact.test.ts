/** Tests the log of an engine while its server is unreachable: the process of a pod against real sockets. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer as createTlsServer } from 'node:https'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort, runProgram } from '../../../e2e/support/process.ts'
import { programFile } from '../../../e2e/support/programs.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'first-contact-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

interface Line {
  readonly msg: string
  readonly seconds?: number
}

/** Starts an engine process with the settings of a pod and reads its log. */
function startEngine(url: string, env: Record<string, string> = {}): AsyncDisposable & { next(text: RegExp): Promise<Line> } {
  const child = spawn(process.execPath, [programFile('engine')], {
    env: {
      PATH: process.env['PATH'],
      WINDLASS_ENGINE_SERVER_URL: url,
      WINDLASS_ENGINE_BOOTSTRAP: 'id.secret',
      WINDLASS_ENGINE_SPOOL_DIR: join(folder, `spool-${String(performance.now())}`),
      ...env,
    },
    // Not piped to this process: an engine that outlives a test would delay the end of the run.
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  process.once('exit', () => child.kill('SIGKILL'))
  const lines: Line[] = []
  let news = Promise.withResolvers<void>()
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    for (const line of text.split('\n').filter((part) => part.startsWith('{'))) lines.push(JSON.parse(line))
    news.resolve()
    news = Promise.withResolvers()
  })
  return {
    async next(text) {
      for (;;) {
        const at = lines.findIndex(({ msg }) => text.test(msg))
        const [found] = at < 0 ? [] : lines.splice(0, at + 1).slice(-1)
        if (found !== undefined) return found
        await news.promise
      }
    },
    [Symbol.asyncDispose]: () => end(child),
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server on TCP has an address of this kind
  return (server.address() as AddressInfo).port
}

test('logs a refused connection at once with address, cause and hint, and again at growing intervals', async () => {
  const url = `http://127.0.0.1:${await freePort()}`
  await using engine = startEngine(url)
  const first = await engine.next(/cannot be reached/)
  expect(first.msg).toContain(`The server at ${url} cannot be reached: connection refused by ${new URL(url).host}.`)
  expect(first.msg).toContain('Give the agent an address that pods can reach')
  const second = await engine.next(/cannot be reached/)
  const third = await engine.next(/cannot be reached/)
  expect((second.seconds ?? 0) - (first.seconds ?? 0)).toBeGreaterThanOrEqual(4)
  expect((third.seconds ?? 0) - (second.seconds ?? 0)).toBeGreaterThanOrEqual(9)
})

test('logs an address that drops packets after 3 s without an answer, and later what happened', async () => {
  await using hole = await startBlackHole()
  await using engine = startEngine(`http://127.0.0.1:${hole.port}`)
  const { msg } = await engine.next(/cannot be reached/)
  expect(msg).toMatch(/no answer within 3 s\. .*Check DNS, firewalls/)
  expect((await engine.next(/cannot be reached/)).msg).toMatch(
    /no connection to 127\.0\.0\.1:\d+ \(no connection within 25000 ms\)\. Check firewalls/,
  )
})

test('reaches a server whose DNS lookup takes 5 s', async () => {
  const slow = join(folder, 'slow-dns.mjs')
  await writeFile(slow, SLOW_DNS)
  const called = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    called.resolve()
  })
  const port = await listen(server)
  try {
    await using engine = startEngine(`http://windlass.test:${port}`, { NODE_OPTIONS: `--import=${slow}` })
    expect((await engine.next(/cannot be reached/)).msg).toContain('no answer within 3 s')
    await called.promise
  } finally {
    server.close()
  }
})

/** Simulates a machine whose first name server is down: lookups take 5 s. */
const SLOW_DNS = `
import dns from 'node:dns'
const lookup = dns.lookup
dns.lookup = (name, options, done) => void setTimeout(() => lookup('127.0.0.1', options, done), 5_000)
`

test('logs a server that accepts the connection and sends nothing, and its first response', async () => {
  let isAwake = false
  const held: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    if (isAwake) socket.end('HTTP/1.1 503 Unavailable\r\ncontent-length: 0\r\n\r\n')
    else held.push(socket)
  })
  const port = await listen(server)
  try {
    await using engine = startEngine(`http://127.0.0.1:${port}`)
    const { msg } = await engine.next(/cannot be reached/)
    expect(msg).toContain('no answer within 3 s')
    isAwake = true
    for (const socket of held) socket.destroy()
    expect((await engine.next(/something else/)).msg).toContain('The server answered 503')
  } finally {
    server.close()
  }
})

test('reports an unknown CA as the cause with the setting for it', async () => {
  const [key, cert] = [join(folder, 'tls.key'), join(folder, 'tls.crt')]
  const made = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=127.0.0.1']
  await runProgram('openssl', ['req', ...made, '-keyout', key, '-out', cert])
  const server = createTlsServer({ key: await readFile(key), cert: await readFile(cert) })
  const port = await listen(server)
  try {
    await using engine = startEngine(`https://127.0.0.1:${port}`)
    const { msg } = await engine.next(/cannot be reached/)
    expect(msg).toMatch(/TLS: .*self-signed certificate.*\. Set the CA of the server certificate: WINDLASS_SERVER_TLS_CA_PATH/)
  } finally {
    server.close()
  }
})

test('distinguishes an unknown host name from a proxy that refuses', async () => {
  await using engine = startEngine('http://windlass.invalid')
  expect((await engine.next(/cannot be reached/)).msg).toContain('no such host: windlass.invalid does not resolve')
  const proxy = createServer((socket) => void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'))
  const port = await listen(proxy)
  try {
    await using behind = startEngine('https://windlass.invalid', { HTTPS_PROXY: `http://robot:hidden@127.0.0.1:${port}` })
    const { msg } = await behind.next(/cannot be reached/)
    expect(msg).toMatch(/the proxy refused the connection: .*407.* Check the user name and password in HTTPS_PROXY/)
    expect(msg).not.toContain('hidden')
  } finally {
    proxy.close()
  }
})

test('logs a response that is not from a server and keeps trying', async () => {
  let asked = 0
  const server = createServer((socket) => {
    asked += 1
    socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\n\r\nhello')
  })
  const url = `http://127.0.0.1:${await listen(server)}`
  try {
    await using engine = startEngine(url)
    const { msg } = await engine.next(/something else/)
    expect(msg).toContain(
      `The server at ${url} does not answer, but something else does at this address: The server answered 404: hello.`,
    )
    await engine.next(/something else/)
    expect(asked).toBeGreaterThan(1)
  } finally {
    server.close()
  }
})

/** Listens on a port with a full backlog: the kernel silently drops further connections, like a firewall. */
async function startBlackHole(): Promise<AsyncDisposable & { port: number }> {
  const script = `const server = require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port))`
  const child = spawn(process.execPath, ['--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [text] = await once(child.stdout, 'data')
  const port = Number(String(text))
  child.kill('SIGSTOP')
  const sockets: Socket[] = []
  for (let isFull = false; !isFull;) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    sockets.push(socket)
    const late = new Promise<void>((resolve) => void setTimeout(resolve, 500))
    await Promise.race([once(socket, 'connect'), late])
    // After a pause of this process the timer comes before the sockets, which the kernel may have connected long before.
    await turn()
    isFull = socket.connecting
  }
  return {
    port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await end(child)
    },
  }
}
