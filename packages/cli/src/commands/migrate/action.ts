import { setImmediate as nextTurn } from 'node:timers/promises'
import { systemClock } from '@windlass/kit'
import { fault, isFault, type Fault } from '@windlass/kit/faults'
import { parseBaseUrl } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import type { Settings } from '../../config.ts'
import { EXIT } from '../../exit-codes.ts'
import { hintOf } from '../../format/problems.ts'
import { readTokenFile } from '../../input/token-file.ts'
import { openSession } from '../../session/session.ts'
import { catchInterrupts } from '../run/interrupt.ts'
import { judge } from './judge/judge.ts'
import type { Left, Moved, Verdict } from './judge/verdict.ts'
import { leftEntry, movedEntry, printEntry, printSummary, type ReportEntry } from './report.ts'
import { openAccount } from './source/account-client.ts'
import { readAccount, type Account } from './source/read-account.ts'
import { readFiles } from './source/read-files.ts'
import { openDryTarget } from './target/dry-target.ts'
import { openFolderTarget } from './target/folder-target.ts'
import { openServerTarget } from './target/server-target.ts'
import type { Target } from './target/target.ts'
import type { Surroundings } from './judge/verdict.ts'

/** Faults with which a target refuses one resource. All others end the command. */
const REFUSALS = [
  'conflict',
  'document-invalid',
  'document-too-expensive',
  'forbidden',
  'payload-too-large',
  'pipeline-invalid',
  'request-invalid',
  'scope-missing',
] as const

interface MigrateOptions {
  readonly from: string | undefined
  readonly tokenFile: string | undefined
  readonly outputDir: string | undefined
  readonly dryRun: boolean
  readonly overwrite: boolean
  readonly output: 'json' | undefined
}

/**
 * Runs `migrate`. Reads and judges everything before it writes the first resource. A resource that is refused does not affect the others. An interrupt ends the
 * command between two documents; the report then contains what was written.
 */
export async function migrate(invocation: Invocation<MigrateOptions>): Promise<number> {
  using interrupts = catchInterrupts(systemClock)
  try {
    return await move(invocation, interrupts.first)
  } catch (error) {
    if (!interrupts.first.aborted) throw error
    return EXIT.interrupted
  }
}

async function move({ args, options, out, settings }: Invocation<MigrateOptions>, signal: AbortSignal): Promise<number> {
  const source = requireSource(args[0], options)
  const { dryRun } = options
  const { target, surroundings } = await openTarget({ options, out, settings }, signal)
  const { documents, left } =
    'path' in source ? { documents: readFiles(source.path), left: [] } : await readFrom(source, settings, signal)
  const judged = await inTurns(judge(documents, surroundings), signal)
  const verdicts: readonly Verdict[] = [...judged, ...left]
  if (verdicts.length === 0) throw nothingFound(source)
  const entries: ReportEntry[] = []
  const report = (): void => {
    if (options.output === 'json') out.line(JSON.stringify({ dryRun, resources: entries }, null, 2))
    else printSummary(out, entries, dryRun)
  }
  try {
    for (const verdict of verdicts) {
      await nextTurn()
      signal.throwIfAborted()
      const entry = 'reasons' in verdict ? leftEntry(verdict) : await write(target, verdict)
      entries.push(entry)
      if (options.output === undefined) printEntry(out, entry, dryRun)
    }
  } catch (error) {
    if (!signal.aborted) throw error
    report()
    out.note(`Interrupted: ${verdicts.length - entries.length} of ${verdicts.length} documents are not in this report.`)
    return EXIT.interrupted
  }
  report()
  return entries.some(({ outcome }) => outcome === 'left') ? EXIT.failed : EXIT.success
}

interface OpenTarget {
  readonly target: Target
  readonly surroundings: Surroundings
}

/** Opens the folder or the server. With `--dry-run` no server is needed. */
async function openTarget(
  { options, out, settings }: Pick<Invocation<MigrateOptions>, 'options' | 'out' | 'settings'>,
  signal: AbortSignal,
): Promise<OpenTarget> {
  const open = async (target: Target): Promise<OpenTarget> => ({ target, surroundings: await target.surroundings() })
  if (options.outputDir !== undefined) return open(openFolderTarget(options.outputDir, options))
  try {
    return await open(openServerTarget(openSession(settings).client, { ...options, signal }))
  } catch (error) {
    if (!options.dryRun || !isFault(error, 'server-unreachable')) throw error
    out.note(`${error.message} The report is not compared with a server.`)
    return open(openDryTarget())
  }
}

/** Runs the iterator to its end. The event loop turns after each value, because signals arrive only there. Throws the reason of an aborted signal. */
async function inTurns<T>(work: Iterator<unknown, T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    await nextTurn()
    signal.throwIfAborted()
    const { done, value } = work.next()
    if (done === true) return value
  }
}

async function write(target: Target, verdict: Moved): Promise<ReportEntry> {
  try {
    const { done, remarks } = await target.write(verdict.resource)
    return movedEntry({ ...verdict, remarks: [...verdict.remarks, ...remarks] }, done)
  } catch (error) {
    if (!isFault(error, ...REFUSALS)) throw error
    return leftEntry(refused(verdict, error))
  }
}

/** Lists the problems of the fault, unless it has a hint of its own. */
function refused({ from, resource: { kind, name } }: Moved, error: Fault): Left {
  const { problems = [] } = error.details
  const action = hintOf(error)
  const reasons =
    problems.length > 0 && action === ''
      ? problems.map((one) => ({ path: one.path ?? '', reason: one.message, action: one.hint ?? '' }))
      : [{ path: '', reason: error.message, action }]
  return { kind, name, from, reasons }
}

type Source = { readonly path: string } | { readonly url: string; readonly tokenFile: string }

/** Throws `usage` unless exactly one source is given. */
function requireSource(path: string | undefined, { from, tokenFile }: MigrateOptions): Source {
  if ((path === undefined) === (from === undefined))
    throw fault('usage', {
      message: path === undefined ? 'No source is given.' : 'A file or folder cannot be combined with --from.',
      hint: 'Name a file, a folder, or an account: `windlass migrate --from URL --token-file FILE`.',
    })
  if (path !== undefined) return { path }
  const url = parseBaseUrl((from ?? '').replace(/\/api\/*$/, ''))
  if (url === undefined)
    throw fault('usage', {
      message: 'The value of --from is not the base URL of a platform.',
      hint: 'Use http:// or https://, without user name, password, ? and #.',
    })
  if (tokenFile === undefined)
    throw fault('usage', {
      message: '--from requires --token-file.',
      hint: 'Write an API key of the account to a file that only you can read.',
    })
  return { url, tokenFile }
}

function readFrom(source: Extract<Source, { url: string }>, settings: Settings, signal: AbortSignal): Promise<Account> {
  const token = readTokenFile(source.tokenFile)
  return readAccount(openAccount({ url: source.url, token, caFile: settings.caFile, signal }))
}

function nothingFound(source: Source): Error {
  return 'path' in source
    ? fault('file-not-found', {
        message: `${source.path} contains nothing to migrate.`,
        hint: 'Documents have kind pipeline, project, context or step-type, or steps.',
      })
    : fault('file-not-found', {
        message: `The account at ${source.url} is empty.`,
        hint: 'Check that the key belongs to the right account.',
      })
}
