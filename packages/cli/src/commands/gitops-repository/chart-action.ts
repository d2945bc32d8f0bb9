/** `gitops chart`: the chart of a GitOps runtime in the shared configuration repository. */
import { fault } from '@windlass/kit/faults'
import { z } from 'zod'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { readInput } from '../../input/input-files.ts'
import { COMMIT_TIMEOUT, openRuntime, printChange } from './runtime-session.ts'

const Values = z.record(z.string(), z.unknown())

interface GetOptions {
  readonly runtimeUrl: string | undefined
  readonly output: 'json' | 'yaml' | undefined
}

/** Runs `gitops chart get RUNTIME`. */
export async function getChart({ args, options, out, settings }: Invocation<GetOptions>): Promise<void> {
  const { calls } = await openRuntime(settings, { runtime: args[0] ?? '', url: options.runtimeUrl })
  const found = await calls.chart()
  if (options.output !== undefined) return printValue(out, found, options.output)
  const rows = [
    ['Chart:', found.chart],
    ['Version:', found.version],
  ]
  for (const line of alignColumns(rows)) out.line(line)
  return undefined
}

interface SetOptions extends GetOptions {
  readonly version: string | undefined
  readonly chart: string | undefined
  readonly values: string | undefined
  readonly message: string | undefined
}

/** Runs `gitops chart set RUNTIME`. */
export async function setChart({ args, options, out, settings }: Invocation<SetOptions>): Promise<void> {
  const [runtime = ''] = args
  const { version, chart, message } = options
  if (version === undefined)
    throw fault('usage', { message: 'The version of the chart is missing.', hint: 'Name it with --version VERSION.' })
  const values = options.values === undefined ? undefined : await readValues(options.values)
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const change = await calls.setChart({ version, chart, values, message }, COMMIT_TIMEOUT)
  if (options.output !== undefined) return printValue(out, change, options.output)
  return printChange(out, `gitops-runtime/${runtime}`, { verb: `set to ${version}`, commit: change.commit })
}

/** Reads a file of values. Throws `file-not-found` and `usage`. */
export async function readValues(path: string): Promise<Record<string, unknown>> {
  const { parse } = await import('yaml')
  const { text } = readInput(path)
  const found = Values.safeParse(parsed(() => parse(text))).data
  if (found !== undefined) return found
  throw fault('usage', { message: `${path} is not a file of values.`, hint: 'Write a map in YAML.' })
}

function parsed(read: () => unknown): unknown {
  try {
    return read()
  } catch {
    return undefined
  }
}
