/** A PostgreSQL of this run's own: a fresh cluster of files in a temporary folder, on a loopback port, killed and restarted at will. */
import { execFile } from 'node:child_process'
import { chmod, chown, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../driver/stage.ts'
import { describeChild, type Child } from './child.ts'

const run = promisify(execFile)
const ROOT = '/usr/lib/postgresql'

export interface Postgres extends AsyncDisposable {
  readonly url: string
  /** The postmaster: its death takes all its children along, as a crash of the machine would. */
  readonly child: Child
  /** All rows of all tables as text. */
  dump(): Promise<string>
}

/** Throws when no PostgreSQL is installed (`make setup` installs it). Durable settings; only the loopback interface. */
export async function openPostgres(): Promise<Postgres> {
  const versions = (await readdir(ROOT).catch(() => [])).toSorted((a, b) => Number(b) - Number(a))
  const version = versions[0]
  if (version === undefined) throw new Error('no PostgreSQL server is installed below /usr/lib/postgresql')
  const bin = join(ROOT, version, 'bin')
  // A folder that every user may pass: the server runs as `postgres`, because it refuses to run as root.
  const folder = await mkdtemp('/tmp/windlass-postgres-')
  const isRoot = process.getuid?.() === 0
  const as = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', '--'] : []
  if (isRoot) await chown(folder, await idOf('-u'), await idOf('-g'))
  await chmod(folder, 0o700)
  const initdb = [...as, join(bin, 'initdb'), '-D', folder, '-U', 'windlass', '-A', 'trust', '-E', 'UTF8', '--locale=C']
  await run(initdb[0] ?? '', initdb.slice(1))
  const port = await freePort()
  const settings = ['-h', '127.0.0.1', '-p', String(port), '-k', folder, '-c', 'max_connections=60', '-c', 'shared_buffers=64MB']
  const [command = '', ...args] = [...as, join(bin, 'postgres'), '-D', folder, ...settings]
  const probe = (): Promise<unknown> => run(join(bin, 'pg_isready'), ['-q', '-h', '127.0.0.1', '-p', String(port)])
  const child = describeChild({ name: 'postgres', command, args, logFile: `${folder}.log`, probe })
  await child.start()
  const url = `postgres://windlass@127.0.0.1:${port}/postgres`
  return {
    url,
    child,
    dump: async () => (await run(join(bin, 'pg_dump'), ['--data-only', url], { maxBuffer: 1 << 30 })).stdout,
    async [Symbol.asyncDispose]() {
      await child.kill()
      await Promise.all([folder, `${folder}.log`].map((path) => rm(path, { recursive: true, force: true })))
    },
  }
}

/** Number of the user (`-u`) or group (`-g`) that Debian's package makes for the server. */
async function idOf(kind: '-u' | '-g'): Promise<number> {
  return Number((await run('id', [kind, 'postgres'])).stdout)
}
