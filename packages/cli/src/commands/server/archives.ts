import { once } from 'node:events'
import { createWriteStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { fault } from '@windlass/kit/faults'
import type { ArchiveTrailer } from '@windlass/local/archive'
import type { Invocation } from '../../command.ts'
import type { Settings } from '../../config.ts'
import { formatBytes } from '@windlass/plan'
import { readInput } from '../../input/input-files.ts'
import type { Printer } from '../../printer.ts'
import { openSession } from '../../session/session.ts'
import { readServerTarget } from './server-target.ts'

interface Source {
  readonly direct: boolean
  readonly data: string | undefined
}

interface Archived extends Source {
  readonly withLogs: boolean
  readonly passphrase: string | undefined
}

interface BackupOptions extends Source {
  readonly withoutLogs: boolean
  readonly passphraseFile: string | undefined
}

/** Runs `server backup`. */
export async function backup({ args, options, out, settings }: Invocation<BackupOptions>): Promise<void> {
  const { withoutLogs, passphraseFile, direct, data } = options
  const archived = { withLogs: !withoutLogs, passphrase: readPassphrase(passphraseFile), direct, data }
  await writeArchive(args[0] ?? '', archived, { out, settings })
}

/** Runs `server export`. */
export async function exportDatabase({ args, options, out, settings }: Invocation<Source>): Promise<void> {
  const { direct, data } = options
  await writeArchive(args[0] ?? '', { withLogs: false, passphrase: undefined, direct, data }, { out, settings })
}

const MIN_PASSPHRASE = 12
const STANDARD_OUTPUT = '-'

/** Writes an archive to a file. A complete file has the given name; until then it has the suffix `.part`. */
async function writeArchive(
  file: string,
  archived: Archived,
  { out, settings }: Pick<Invocation<unknown>, 'out' | 'settings'>,
): Promise<void> {
  const { passphrase } = archived
  const write = archived.direct ? await openDirect(archived, settings) : openRemote(archived, settings)
  if (file === STANDARD_OUTPUT) {
    await write(async (bytes) => {
      out.stdout.write(bytes)
      await out.stdout.drained()
    })
    return
  }
  if (existsSync(file)) throw fault('usage', { message: `${file} exists.`, hint: 'Choose another name, or remove the file.' })
  const part = `${file}.part`
  try {
    await writeFile(part, file.endsWith('.gz'), write)
    const { readArchive } = await import('@windlass/local/archive')
    const { trailer } = await readArchive(part)
    await rename(part, file)
    out.line(`Wrote ${file}: ${describe(trailer)}.`)
    noteMissing(out, trailer)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
  if (passphrase === undefined)
    out.note(
      'It does not contain the master key. Keep a copy of master.key in the data folder of the server, or of the Secret with it, elsewhere: without it no secret can be read.',
    )
}

type Output = (bytes: Uint8Array) => Promise<void>
type Write = (output: Output) => Promise<void>

/** Lets the server write the archive. */
function openRemote({ withLogs, passphrase }: Archived, settings: Settings): Write {
  const { client } = openSession(settings)
  return async (output) => {
    const archive = await client.archives.create({ logs: withLogs, passphrase })
    for await (const bytes of orUnreachable(archive)) await output(bytes)
  }
}

/** Reports a connection that breaks. The server also closes it if it cannot write the rest of the archive. */
async function* orUnreachable(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pieces = stream[Symbol.asyncIterator]()
  for (;;) {
    const next = await pieces.next().catch((error: unknown) => {
      const hint = 'Look for `archive aborted` in the log of the server, and repeat the command.'
      throw fault('server-unreachable', { message: 'The connection broke before the archive was complete.', hint }, error)
    })
    if (next.done === true) return
    yield next.value
  }
}

/** Writes the archive from the database, without a server. */
async function openDirect({ withLogs, passphrase, data }: Archived, settings: Settings): Promise<Write> {
  const { writeDirectly } = await import('@windlass/local/archive')
  const target = await readServerTarget(settings, data)
  return async (output) => void (await writeDirectly(target, output, { withLogs, passphrase }))
}

async function writeFile(path: string, isCompressed: boolean, write: Write): Promise<void> {
  const input = new PassThrough()
  const target = createWriteStream(path, { mode: 0o600, flush: true })
  const written = pipeline(isCompressed ? [input, createGzip(), target] : [input, target])
  written.catch(() => undefined)
  try {
    await write(async (bytes) => {
      if (!input.write(bytes)) await Promise.race([once(input, 'drain'), written])
    })
    input.end()
  } catch (error) {
    input.destroy()
    await written.catch(() => undefined)
    throw error
  }
  await written
}

interface ImportOptions {
  readonly data: string | undefined
  readonly dryRun: boolean
}

interface RestoreOptions extends ImportOptions {
  readonly passphraseFile: string | undefined
}

interface Loaded {
  readonly withLogs: boolean
  readonly passphrase: string | undefined
  readonly data: string | undefined
  readonly isDry: boolean
}

/** Runs `server restore`. */
export async function restore({ args, options, out, settings }: Invocation<RestoreOptions>): Promise<void> {
  const { passphraseFile, data, dryRun } = options
  const loaded = { withLogs: true, passphrase: readPassphrase(passphraseFile), data, isDry: dryRun }
  await load(args[0] ?? '', loaded, { out, settings })
}

/** Runs `server import`. */
export async function importDatabase({ args, options, out, settings }: Invocation<ImportOptions>): Promise<void> {
  const { data, dryRun } = options
  await load(args[0] ?? '', { withLogs: false, passphrase: undefined, data, isDry: dryRun }, { out, settings })
}

async function load(
  file: string,
  options: Loaded,
  { out, settings }: Pick<Invocation<unknown>, 'out' | 'settings'>,
): Promise<void> {
  const { loadArchive } = await import('@windlass/local/archive')
  const { withLogs, passphrase, isDry } = options
  const target = await readServerTarget(settings, options.data)
  const { trailer, writesKeys } = await loadArchive(file, target, { withLogs, passphrase, isDry })
  out.line(`${isDry ? 'The archive can be loaded' : `Loaded ${file}`}: ${describe(trailer, withLogs)}.`)
  noteMissing(out, trailer)
  if (writesKeys)
    out.note(isDry ? 'Its master keys would be written to the data folder.' : 'Its master keys are in the data folder.')
  if (!isDry) out.note('Start a server with the same settings. If no admin key is left: `windlass server recover-admin`.')
}

function readPassphrase(file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  const { name, text } = readInput(file)
  const passphrase = text.replace(/\r?\n$/, '')
  if (passphrase.length >= MIN_PASSPHRASE && !passphrase.includes('\n')) return passphrase
  throw fault('usage', {
    message: `${name} does not contain a passphrase of at least ${MIN_PASSPHRASE} characters on one line.`,
    hint: 'Create one with `openssl rand -base64 24`.',
  })
}

function describe({ tables, logs }: ArchiveTrailer, withLogs = true): string {
  const rows = Object.values(tables).reduce((sum, table) => sum + table.rows, 0)
  const parts = [`${rows} rows of ${Object.keys(tables).length} tables`]
  if (withLogs && logs.objects > 0) parts.push(`${logs.objects} log objects (${formatBytes(logs.bytes)})`)
  return parts.join(', ')
}

function noteMissing(out: Printer, { logs }: ArchiveTrailer): void {
  if (logs.missing > 0) out.note(`${logs.missing} log objects were missing in the log storage; those parts of logs are lost.`)
}
