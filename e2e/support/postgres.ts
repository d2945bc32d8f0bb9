import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir, userInfo } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { systemClock } from '@windlass/kit'
import { memoryFolder } from './memory-folder.ts'
import { freePort, runProgram, type Service, startService } from './process.ts'

export type Postgres = {
  /** `postgres://` URL of an empty database, including the password. */
  readonly url: string
  /** Folder of the unix socket. */
  readonly socket: string
  /** Stops it as an administrator would: connections are cut, data is written. `close` removes the data. */
  stop(): Promise<void>
  /** Kills the server and its children; the data is kept. Data that they passed to the kernel is not lost, unlike in a power cut. */
  kill9(): Promise<void>
  /** Freezes it and its workers, with all their connections, until `thaw`. */
  freeze(): Promise<void>
  thaw(): Promise<void>
  /** Simulates a failover to a standby that is not promoted yet: it dies, restarts on the same port, and refuses writes until `promote`. */
  failOver(): Promise<void>
  promote(): Promise<void>
  /** Restarts it on the same data and port after `stop` or `kill9`. */
  start(): Promise<void>
  /** Stops it and removes everything. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export type PostgresOptions = {
  /** False for suites that never cut the power. Commits then do not wait for the disk, which takes most of the time of small tests. */
  isDurable?: boolean
  /**
   * True for suites that kill its processes and never cut the power: its data is in memory, and commits do not wait for the disk, which other tests keep busy
   * for seconds. They survive `kill9` and `failOver`.
   */
  isInMemory?: boolean
}

/**
 * Starts a dedicated PostgreSQL server on a loopback port (Debian's packages, as the user postgres if we are root), with fsync on by default. The first
 * start on a machine takes about two seconds, most of them for initdb.
 */
export async function startPostgres({ isDurable = true, isInMemory = !isDurable }: PostgresOptions = {}): Promise<Postgres> {
  const programs = await findPrograms()
  const folder = await (isInMemory ? memoryFolder('windlass-postgres-') : mkdtemp(join(tmpdir(), 'windlass-postgres-')))
  if (isRoot()) await runProgram('chown', ['postgres:postgres', folder])
  await chmod(folder, 0o755)
  const { data, password } = await createData(programs, folder)
  const port = await freePort()
  const settings = [`port=${port}`, `unix_socket_directories=${folder}`, 'listen_addresses=127.0.0.1']
  settings.push(isInMemory ? 'fsync=off' : 'fsync=on')
  if (!isDurable) settings.push('synchronous_commit=off', 'full_page_writes=off', `hba_file=${await letEveryoneIn(folder)}`)
  const [command, ...args] = asPostgres(join(programs, 'postgres'), [
    '-D',
    data,
    ...[...settings, 'max_connections=200', 'shared_buffers=64MB'].flatMap((setting) => ['-c', setting]),
  ])
  const launch = (): Promise<Service> =>
    startService({ command, args, cwd: '/', ready: (log) => log.includes('ready to accept connections') })
  let service = await launch()
  // Without a limit: the workers of a killed server may outlive it, and keep the next one from starting.
  const stop = async (): Promise<void> => {
    service.signal('SIGINT')
    await service.ended()
  }
  const url = `postgres://windlass:${password}@127.0.0.1:${port}/postgres`
  const configure = async (statement: string): Promise<void> => {
    // It may still be read-only after the end of read-only mode was requested.
    const env = { ...process.env, PGOPTIONS: '-c default_transaction_read_only=off' }
    await runProgram(join(programs, 'psql'), ['--no-psqlrc', '--command', statement, url], { env })
  }
  const close = async (): Promise<void> => {
    await service.stop('SIGQUIT')
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
  return {
    url,
    socket: folder,
    stop,
    kill9: () => killAll(service),
    freeze: async () => signalAll(await processesOf(service), 'SIGSTOP'),
    thaw: async () => signalAll(await processesOf(service), 'SIGCONT'),
    async failOver() {
      await configure('alter system set default_transaction_read_only = on')
      await killAll(service)
      service = await launch()
    },
    async promote() {
      await configure('alter system reset default_transaction_read_only')
      await configure('select pg_reload_conf()')
    },
    start: async () => {
      service = await launch()
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface Data {
  /** Folder of the data. */
  readonly data: string
  readonly password: string
}

/** The data of the first start on this machine, by major version, before it was used. Copies of it take a tenth of the processor time of initdb. */
const TEMPLATES = join(process.env['WINDLASS_CACHE'] ?? join(homedir(), '.cache/windlass'), 'postgres')

/** Creates the data of an empty server in a folder. */
async function createData(programs: string, folder: string): Promise<Data> {
  const template = join(TEMPLATES, basename(dirname(programs)))
  const known = await readFile(join(template, 'password'), 'utf8').catch(() => undefined)
  const data = join(folder, 'data')
  if (known === undefined) {
    const password = await initialize(programs, data)
    await keepTemplate(template, { data, password })
    return { data, password }
  }
  await runProgram('cp', ['--archive', join(template, 'data'), data])
  // The number of the user may have changed since, with the package.
  if (isRoot()) await runProgram('chown', ['-R', 'postgres:postgres', data])
  return { data, password: known }
}

/** Writes rules that ask for no password, because its proof takes most of the processor time of a connection. */
async function letEveryoneIn(folder: string): Promise<string> {
  const file = join(folder, 'hba.conf')
  await writeFile(file, 'local all all trust\nhost all all 127.0.0.1/32 trust\n')
  return file
}

/** Runs initdb. Returns the password of the user. */
async function initialize(programs: string, data: string): Promise<string> {
  const password = randomBytes(12).toString('hex')
  const pwfile = `${data}.password`
  await writeFile(pwfile, password, { mode: 0o600 })
  if (isRoot()) await runProgram('chown', ['postgres:postgres', pwfile])
  const choices = { pgdata: data, username: 'windlass', pwfile, encoding: 'UTF8', locale: 'C.UTF-8' }
  const flags = Object.entries(choices).map(([name, value]) => `--${name}=${value}`)
  const [initdb, ...initdbArgs] = asPostgres(join(programs, 'initdb'), [
    ...flags,
    '--no-sync',
    '--auth-local=trust',
    '--auth-host=scram-sha-256',
  ])
  await runProgram(initdb, initdbArgs, { cwd: '/' })
  return password
}

/** Copies new data into the cache, complete or not at all. Another process may have done it meanwhile. */
async function keepTemplate(template: string, { data, password }: Data): Promise<void> {
  await mkdir(TEMPLATES, { recursive: true })
  const copy = await mkdtemp(join(TEMPLATES, 'new-'))
  await runProgram('cp', ['--archive', data, join(copy, 'data')])
  await writeFile(join(copy, 'password'), password, { mode: 0o600 })
  await rename(copy, template).catch(() => rm(copy, { recursive: true }))
}

/**
 * Kills the server and its workers, and waits for their ends: a worker that outlives the server keeps the shared memory and blocks the next start. The
 * server is frozen first, so that it starts no worker in between.
 */
async function killAll(service: Service): Promise<void> {
  signalAll([service.pid], 'SIGSTOP')
  const [, ...workers] = await processesOf(service)
  const end = service.stop('SIGKILL')
  signalAll(workers, 'SIGKILL')
  await end
  for (const pid of workers) while (await isAlive(pid)) await systemClock.sleep(10)
}

/** Returns false for a process that has ended, also if nobody has read its exit code. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return stat !== '' && !/\) [ZX] /.test(stat)
}

/** Freezes the server first, because a frozen server starts no new workers. */
async function processesOf({ pid }: Service): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return [
    pid,
    ...children
      .split(' ')
      .filter((word) => word !== '')
      .map(Number),
  ]
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // The process ended before the signal.
    }
  }
}

function isRoot(): boolean {
  return userInfo().uid === 0
}

/** Returns the command to run. PostgreSQL refuses root, so root switches to the user of the package. */
function asPostgres(command: string, args: string[]): [string, ...string[]] {
  if (!isRoot()) return [command, ...args]
  return ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--pdeathsig', 'KILL', command, ...args]
}

/** Returns the folder of the newest PostgreSQL of this machine (`/usr/lib/postgresql/<major>/bin`). */
async function findPrograms(): Promise<string> {
  const base = '/usr/lib/postgresql'
  const versions = existsSync(base) ? await readdir(base) : []
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0]
  if (newest === undefined) throw new Error(`no PostgreSQL in ${base}: run scripts/setup packages`)
  return join(base, newest, 'bin')
}
