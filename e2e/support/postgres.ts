import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { freePort, runProgram, type Service, startService } from './process.ts'

export type Postgres = {
  /** `postgres://` URL of an empty database, with the password in it. */
  readonly url: string
  /** Folder of the unix socket. */
  readonly socket: string
  /** Ends it as an administrator would: connections are cut, data is written. The data is removed by `close`. */
  stop(): Promise<void>
  /** Power cut: the server and its children are gone at once, the data stays. */
  kill9(): Promise<void>
  /** Starts it again on the same data and port after `stop` or `kill9`. */
  start(): Promise<void>
  /** Stops it and removes everything. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts a PostgreSQL server of its own (Debian's packages, as the user postgres where we are root) on a loopback port,
 * with fsync on. About two seconds, most of it initdb.
 */
export async function startPostgres(): Promise<Postgres> {
  const programs = await findPrograms()
  const folder = await mkdtemp(join(tmpdir(), 'windlass-postgres-'))
  const data = join(folder, 'data')
  const password = randomBytes(12).toString('hex')
  await writeFile(join(folder, 'password'), password)
  if (isRoot()) await runProgram('chown', ['-R', 'postgres:postgres', folder])
  await chmod(folder, 0o755)
  const choices = { pgdata: data, username: 'windlass', pwfile: join(folder, 'password'), encoding: 'UTF8', locale: 'C.UTF-8' }
  const flags = Object.entries(choices).map(([name, value]) => `--${name}=${value}`)
  const [initdb, ...initdbArgs] = asPostgres(join(programs, 'initdb'), [
    ...flags,
    '--no-sync',
    '--auth-local=trust',
    '--auth-host=scram-sha-256',
  ])
  await runProgram(initdb, initdbArgs, { cwd: '/' })
  const port = await freePort()
  const settings = [`port=${port}`, `unix_socket_directories=${folder}`, 'listen_addresses=127.0.0.1', 'fsync=on']
  const [command, ...args] = asPostgres(join(programs, 'postgres'), [
    '-D',
    data,
    ...[...settings, 'max_connections=200', 'shared_buffers=64MB'].flatMap((setting) => ['-c', setting]),
  ])
  const launch = (): Promise<Service> =>
    startService({ command, args, cwd: '/', ready: (log) => log.includes('ready to accept connections'), readyMs: 60_000 })
  let service = await launch()
  const stop = (): Promise<void> => service.stop('SIGINT')
  const close = async (): Promise<void> => {
    await service.stop('SIGQUIT')
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
  return {
    url: `postgres://windlass:${password}@127.0.0.1:${port}/postgres`,
    socket: folder,
    stop,
    kill9: () => cutPower(service),
    start: async () => {
      service = await launch()
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Ends the server and its workers at once: a worker that outlived it would keep the shared memory and block the next start. */
async function cutPower(service: Service): Promise<void> {
  const children = await readFile(`/proc/${service.pid}/task/${service.pid}/children`, 'utf8').catch(() => '')
  const end = service.stop('SIGKILL')
  for (const pid of children.split(' ').filter((word) => word !== '')) {
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It was faster than we were.
    }
  }
  await end
}

function isRoot(): boolean {
  return userInfo().uid === 0
}

/** The command as it is run: PostgreSQL refuses root, so root becomes the package's user. */
function asPostgres(command: string, args: string[]): [string, ...string[]] {
  if (!isRoot()) return [command, ...args]
  return ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--pdeathsig', 'KILL', command, ...args]
}

/** The folder of the newest PostgreSQL of this machine (`/usr/lib/postgresql/<major>/bin`). */
async function findPrograms(): Promise<string> {
  const base = '/usr/lib/postgresql'
  const versions = existsSync(base) ? await readdir(base) : []
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0]
  if (newest === undefined) throw new Error(`no PostgreSQL in ${base}: run scripts/setup packages`)
  return join(base, newest, 'bin')
}
