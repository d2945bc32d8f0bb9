import { listAll } from '@windlass/client'
import { defined, systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import type { PipelineDiff, PipelineVersion } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import type { Style } from '../../format/style.ts'
import { formatAge } from '../../format/time.ts'
import type { OutputFormat } from '../../output-formats.ts'
import type { Printer } from '../../printer.ts'
import { openSession, type Session } from '../../session/session.ts'

interface History {
  readonly name: string
  readonly output: OutputFormat | undefined
  readonly headers: boolean
  readonly limit: number | undefined
}

/** Prints the versions of a pipeline, newest first. */
export async function printHistory(out: Printer, { client }: Session, { name, output, headers, limit }: History): Promise<void> {
  const versions = await listAll((page) => client.pipelines.versions(name, page), limit)
  if (output === 'json' || output === 'yaml') return printValue(out, versions, output)
  const now = systemClock.now()
  const { style } = out.stdout
  const head = headers ? [['VERSION', 'CHANGED BY', 'AGE', 'MESSAGE'].map((cell) => style.dim(cell))] : []
  for (const line of alignColumns([...head, ...versions.map((version) => rowOf(version, now))])) out.line(line)
}

function rowOf({ version, current, changedBy, createdAt, message }: PipelineVersion, now: number): string[] {
  return [`${version}${current ? ' (current)' : ''}`, changedBy ?? 'unknown', formatAge(createdAt, now), message ?? '']
}

interface DiffOptions {
  readonly firstVersion: number | undefined
  readonly secondVersion: number | undefined
  readonly output: 'json' | 'yaml' | undefined
}

/** Runs `diff pipelines NAME`. The exit code is 1 if the versions differ. Throws `not-found`. */
export async function diffPipelines({ args, options, out, settings }: Invocation<DiffOptions>): Promise<number> {
  const [name = ''] = args
  const { client } = openSession(settings)
  const version = options.secondVersion ?? (await client.pipelines.get(name)).revision
  const diff = await client.pipelines.diff(name, version, { query: defined({ with: options.firstVersion }) })
  if (options.output !== undefined) await printValue(out, diff, options.output)
  else for (const line of diffLines(diff, out.stdout.style)) out.line(line)
  return diff.document === '' && diff.changes.length === 0 ? EXIT.success : EXIT.failed
}

/** Returns the settings that differ, then the patch of the document. */
function diffLines({ document, changes }: PipelineDiff, style: Style): string[] {
  const settings = changes.flatMap(({ path, ...sides }) => [
    ...('from' in sides ? [style.red(`- ${path}: ${JSON.stringify(sides.from)}`)] : []),
    ...('to' in sides ? [style.green(`+ ${path}: ${JSON.stringify(sides.to)}`)] : []),
  ])
  const patch = document === '' ? [] : document.trimEnd().split('\n')
  return [
    ...settings,
    ...patch.map((line) => (line.startsWith('-') ? style.red(line) : line.startsWith('+') ? style.green(line) : line)),
  ]
}

interface RestoreOptions {
  readonly version: number | undefined
  readonly force: boolean
}

/** Runs `restore pipelines NAME --version N`. Throws `usage`, `not-found`, `conflict`. */
export async function restorePipeline({ args, options, out, settings }: Invocation<RestoreOptions>): Promise<void> {
  const [name = ''] = args
  const { version } = options
  if (version === undefined)
    throw fault('usage', {
      message: 'No version was given.',
      hint: `Add --version. List the versions with \`windlass get pipelines ${name} --history\`.`,
    })
  const { client } = openSession(settings)
  const before = await client.pipelines.get(name)
  const headers = options.force ? {} : { 'if-match': `"${before.revision}"` }
  const restored = await client.pipelines.restore(name, version, { headers })
  if (restored.revision === before.revision)
    return out.line(`pipeline/${restored.name} already has the content of version ${version}`)
  out.line(`pipeline/${restored.name} restored: version ${restored.revision} has the content of version ${version}`)
}
