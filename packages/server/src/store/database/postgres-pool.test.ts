/** Timeouts of PostgreSQL connections, tested with a host that listens but does not answer, as after a network failure. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { silentLog, systemClock } from '@windlass/kit'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { readServerConfig, toServerOptions } from '../../config.ts'
import { openDialect } from './dialect.ts'
import { DATABASE_LIMITS, migrationOptions, openPool, poolOptions } from './postgres-pool.ts'

const URL = 'postgres://windlass@127.0.0.1:5432/windlass'

interface Host {
  readonly url: string
  /** Open connections. */
  readonly sockets: Set<Socket>
}

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const undo of cleanups.splice(0)) undo()
})

/** The messages of PostgreSQL after a successful login: AuthenticationOk, ReadyForQuery. */
const WELCOME = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])

/** Starts a host that accepts connections, logs clients in if `welcome` is set, and never answers a query. */
async function listen(welcome?: Buffer): Promise<Host> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket)).on('error', () => undefined)
    socket.once('data', () => welcome !== undefined && socket.write(welcome))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `postgres://windlass@127.0.0.1:${port}/windlass`, sockets }
}

async function until(is: () => boolean): Promise<void> {
  while (!is()) await systemClock.sleep(5)
}

test('opens connections with all timeouts', () => {
  const limits = { connections: 3, connectMs: 1, statementMs: 2000, lockMs: 3000, idleMs: 4000, keepAliveMs: 5000 }
  const options = poolOptions(URL, limits)
  expect(options).toMatchObject({
    max: 3,
    connectionTimeoutMillis: 1,
    query_timeout: 2400,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
  })
  const client = new pg.Client(options) as pg.Client & { getStartupConf(): object }
  expect(client.getStartupConf()).toMatchObject({
    statement_timeout: '2000',
    lock_timeout: '3000',
    idle_in_transaction_session_timeout: '4000',
    application_name: 'windlass',
  })
})

test('gives migrations no statement timeout, a short one for locks, and an idle timeout that releases their locks', () => {
  const options = migrationOptions(URL, DATABASE_LIMITS)
  const client = new pg.Client(options) as pg.Client & { getStartupConf(): object }
  expect(client.getStartupConf()).not.toHaveProperty('statement_timeout')
  expect(client.getStartupConf()).toMatchObject({ lock_timeout: '2000', application_name: 'windlass-migrate' })
  expect(client.getStartupConf()).toHaveProperty('idle_in_transaction_session_timeout')
  expect(options).toMatchObject({ query_timeout: 0, keepAlive: true })
})

test('reads the limits from the settings of the server', () => {
  const settings = { LOCK_MS: '1', STATEMENT_MS: '2', IDLE_MS: '3', CONNECT_MS: '4', KEEPALIVE_MS: '5', CONNECTIONS: '6' }
  const env = Object.fromEntries(Object.entries(settings).map(([key, value]) => [`WINDLASS_SERVER_DATABASE_${key}`, value]))
  expect(toServerOptions(readServerConfig(env)).databaseLimits).toEqual({
    lockMs: 1,
    statementMs: 2,
    idleMs: 3,
    connectMs: 4,
    keepAliveMs: 5,
    connections: 6,
  })
  expect(toServerOptions(readServerConfig({})).databaseLimits).toEqual(DATABASE_LIMITS)
})

test.each([
  ['never answers', undefined, { connectMs: 200 }, 'timeout'],
  ['answers only the login', WELCOME, { statementMs: 100 }, 'Query read timeout'],
])('fails within the timeout for a host that %s', async (_what, welcome, limits, cause) => {
  const host = await listen(welcome)
  const opening = openDialect({
    dataDir: '/nowhere',
    databaseUrl: host.url,
    databaseLimits: { ...DATABASE_LIMITS, ...limits },
    clock: systemClock,
    log: silentLog,
  })
  await expect(opening).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining(cause) })
  await until(() => host.sockets.size === 0)
})

test('closes a connection after a query timeout and does not reuse it', async () => {
  const host = await listen(WELCOME)
  const pool = openPool({ ...poolOptions(host.url, DATABASE_LIMITS), query_timeout: 50, max: 1 }, silentLog)
  const first = await pool.connect()
  const [socket] = host.sockets
  await expect(first.query('select 1')).rejects.toThrow('Query read timeout')
  first.release()
  await until(() => socket?.destroyed === true)
  const second = await pool.connect()
  expect(host.sockets.has(socket as Socket)).toBe(false)
  expect(host.sockets.size).toBe(1)
  second.release(true)
  await pool.end()
})
