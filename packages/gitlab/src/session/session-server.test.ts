/** The server of terminals with real clients. A shell of this machine stands in for that of a pod. */
import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { get } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { connect } from 'node:tls'
import { systemClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { keptLog } from '../../../../e2e/gitlab/support/coordinator-pair.ts'
import { mustOpenTerminal, openTerminal, type TerminalClient } from '../../../../e2e/gitlab/support/terminal-client.ts'
import { freePort } from '../../../../e2e/support/process.ts'
import type { SessionOffer } from '../coordinator/job-request.ts'
import { openSessionServer, type SessionServer } from './session-server.ts'
import type { Session } from './session.ts'
import type { Terminal } from './terminal.ts'

interface LocalTerminal extends Terminal {
  /** Numbers of shells that were opened, closed and released. */
  readonly counts: { opened: number; closed: number; released: number }
  /** Ends the job. */
  end(): void
}

function localTerminal(): LocalTerminal {
  const over = new AbortController()
  const counts = { opened: 0, closed: 0, released: 0 }
  return {
    over: over.signal,
    counts,
    end: () => over.abort(),
    async open() {
      counts.opened += 1
      const child = spawn('sh', [], { stdio: ['pipe', 'pipe', 'ignore'] })
      child.stdin.on('error', () => undefined)
      return {
        input: child.stdin,
        output: child.stdout,
        async close() {
          counts.closed += 1
          child.kill('SIGKILL')
        },
      }
    },
    async release() {
      counts.released += 1
    },
  }
}

interface Scene {
  readonly server: SessionServer
  readonly session: Session
  readonly terminal: LocalTerminal
  readonly log: ReturnType<typeof keptLog>
}

/** Starts a server with one session, whose job runs. */
async function openScene(): Promise<Scene> {
  const port = await freePort()
  const log = keptLog()
  const settings = { host: '127.0.0.1', port, advertised: `127.0.0.1:${port}`, name: '127.0.0.1', timeoutS: 60 }
  const server = await openSessionServer({ settings, clock: systemClock, log })
  onTestFinished(() => server.close())
  const session = server.open(60)
  const terminal = localTerminal()
  session.attach(7, terminal)
  return { server, session, terminal, log }
}

const shows = (client: TerminalClient, text: string): Promise<void> => expect.poll(() => client.output).toContain(text)

test('the offer has an address below the advertised one, and the certificate of that host', async () => {
  const { server, session } = await openScene()
  const { url, certificate, authorization } = session.offer
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/session\/[0-9a-f]{32}$/)
  expect(authorization).toMatch(/^[\w-]{43}$/)
  const parsed = new X509Certificate(certificate)
  expect([parsed.checkIP('127.0.0.1'), parsed.publicKey.asymmetricKeyType]).toEqual(['127.0.0.1', 'ec'])
  const other = server.open(60).offer
  expect([other.url === url, other.authorization === authorization]).toEqual([false, false])
})

test.each(['terminal.gitlab.com', 'base64.terminal.gitlab.com'])(
  'a user types commands and sees their output, in %s',
  async (subprotocol) => {
    const { server, session, terminal } = await openScene()
    const client = await mustOpenTerminal(session.offer, { subprotocols: ['other', subprotocol] })
    expect(client.subprotocol).toBe(subprotocol)
    client.type('echo "sum $((40 + 2)) grüße"\n')
    await shows(client, 'sum 42 grüße\n')
    expect(server.terminals()).toBe(1)
    client.type('exit\n')
    expect(await client.closed).toBe(1_000)
    await expect.poll(() => terminal.counts).toEqual({ opened: 1, closed: 1, released: 0 })
    expect(server.terminals()).toBe(0)
  },
)

test('a large output reaches a user whole', async () => {
  const { session } = await openScene()
  const client = await mustOpenTerminal(session.offer)
  client.type('seq 1 200000; echo done\n')
  await shows(client, 'done')
  expect(client.output).toBe(`${Array.from({ length: 200_000 }, (_, n) => `${n + 1}\n`).join('')}done\n`)
})

test('wrong tokens, other addresses and a second user are refused, and each refusal has its status', async () => {
  const { server, session } = await openScene()
  const { offer } = session
  expect(await openTerminal(offer, { token: 'wrong' })).toBe(401)
  expect(await openTerminal(offer, { token: '' })).toBe(401)
  expect(await openTerminal(offer, { path: '/proxy/8080' })).toBe(404)
  expect(await openTerminal({ ...offer, url: offer.url.replace(/\w{8}$/, '00000000') })).toBe(404)
  expect(await openTerminal(offer, { subprotocols: ['channel.k8s.io'] })).toBe(400)
  const waiting = server.open(60)
  expect(await openTerminal(waiting.offer)).toBe(503)
  expect(await openTerminal({ ...waiting.offer, authorization: offer.authorization })).toBe(401)

  const together = await Promise.all([openTerminal(offer), openTerminal(offer)])
  const opened = together.filter((one) => typeof one !== 'number')
  expect([opened.length, together.filter((one) => one === 423).length]).toEqual([1, 1])
  for (const client of opened) client.leave()
  await expect.poll(() => server.terminals()).toBe(0)
  // The page is loaded again.
  ;(await mustOpenTerminal(offer)).leave()

  session.close()
  expect(await openTerminal(offer)).toBe(404)
})

test('a request without an upgrade is answered, and says nothing without the token', async () => {
  const { session } = await openScene()
  const status = ({ url, certificate }: SessionOffer, authorization: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      get(`${url}/exec`, { ca: certificate, headers: { authorization } }, (response) => {
        response.resume()
        resolve(response.statusCode)
      }).on('error', reject)
    })
  expect(await status(session.offer, session.offer.authorization)).toBe(426)
  expect(await status(session.offer, 'wrong')).toBe(401)
})

test('messages of the wrong kind and too long ones end the connection', async () => {
  const { session, terminal } = await openScene()
  const text = await mustOpenTerminal(session.offer)
  text.socket.send('not binary')
  expect(await text.closed).toBe(1_003)
  const long = await mustOpenTerminal(session.offer)
  long.socket.send(Buffer.alloc(300_000))
  expect(await long.closed).toBe(1_009)
  await expect.poll(() => terminal.counts.closed).toBe(2)
})

test('the end of the job closes the terminal, and tells the user', async () => {
  const { session, terminal } = await openScene()
  const client = await mustOpenTerminal(session.offer)
  client.type('echo ready\n')
  await shows(client, 'ready')
  terminal.end()
  expect(await client.closed).toBe(1_000)
  expect(client.output).toContain('The job has ended.')
  expect(await openTerminal(session.offer)).toBe(503)
})

test('a manager that drains lets the job end and refuses other terminals; one that stops closes them', async () => {
  const { server, session, terminal } = await openScene()
  const client = await mustOpenTerminal(session.offer)
  client.type('echo ready\n')
  await shows(client, 'ready')
  await server.release()
  expect(terminal.counts.released).toBe(1)
  client.type('echo "still $((1 + 1))"\n')
  await shows(client, 'still 2')
  expect(await openTerminal(session.offer)).toBe(503)
  await server.close()
  expect(await client.closed).toBe(1_001)
  expect(client.output).toContain('The runner stops.')
  expect(terminal.counts.closed).toBe(1)
  await expect(openTerminal(session.offer)).rejects.toThrow(/ECONNREFUSED/)
})

test('a server that stops waits neither for refused upgrades nor for connections without a request', async () => {
  const { server, session } = await openScene()
  const { url, certificate } = session.offer
  const address = { host: '127.0.0.1', port: Number(new URL(url).port) }
  const refused = connect({ ...address, ca: certificate })
  const silent = connectPlain(address)
  for (const socket of [refused, silent]) {
    socket.on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
  }
  await once(silent, 'connect')
  // Nothing reads the answer, so the client does not see that the server has ended.
  const answered = once(refused, 'readable')
  refused.write(`GET ${new URL(url).pathname}/exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
  await answered
  const left = once(silent, 'close')
  silent.resume()
  await server.close()
  await left
})

test('a shell that cannot be opened is told to the user, and its cause is in the log; tokens are not', async () => {
  const { session, terminal, log } = await openScene()
  session.attach(7, { ...terminal, open: () => Promise.reject(new Error('no such container')) })
  const client = await mustOpenTerminal(session.offer)
  expect(await client.closed).toBe(1_011)
  expect(client.output).toContain('The terminal cannot be opened')
  await expect.poll(() => log.lines.map(({ message }) => message)).toContain('the terminal is closed')
  expect(log.lines.find(({ level }) => level === 'warn')?.fields).toMatchObject({ job: 7, err: { message: 'no such container' } })
  expect(JSON.stringify(log.lines)).not.toContain(session.offer.authorization)
  expect(JSON.stringify(log.lines)).not.toContain(session.id)
})

test('a port that is in use is a fault of the configuration', async () => {
  const { session } = await openScene()
  const { port } = new URL(session.offer.url)
  const settings = { host: '127.0.0.1', port: Number(port), advertised: 'x', name: 'x', timeoutS: 60 }
  await expect(openSessionServer({ settings, clock: systemClock, log: keptLog() })).rejects.toThrow(
    `cannot listen on port ${port} for terminals`,
  )
})
