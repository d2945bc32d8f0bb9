/** What `gitops app create` and `gitops app edit` have in common: problems of manifests, and what follows a commit. */
import type { GitopsRuntimeCalls } from '@windlass/client/gitops-runtime'
import { systemClock } from '@windlass/kit'
import { fault, isFault, type Problem } from '@windlass/kit/faults'
import type { AppliedApplication, ApplicationChange } from '@windlass/protocol'
import { printValue } from '../../format/output.ts'
import { readInput } from '../../input/input-files.ts'
import type { Printer } from '../../printer.ts'

const DEFAULT_WAIT_SECONDS = 600
const POLL_MS = 1_000

export interface CommitOptions {
  readonly gitSource: string | undefined
  readonly message: string | undefined
  readonly file: string | undefined
  readonly dryRun: boolean
  readonly wait: boolean
  readonly timeout: number | undefined
  readonly runtimeUrl: string | undefined
  readonly output: 'json' | 'yaml' | undefined
}

/** Reads `--file`, which cannot be given together with options of fields. Undefined without it. Throws `usage` and `file-not-found`. */
export function readManifest({ file }: CommitOptions, fields: object): string | undefined {
  if (file === undefined) return undefined
  const [field] = Object.keys(fields)
  if (field !== undefined)
    throw fault('usage', {
      message: `--file has the whole manifest, and other options have fields of it (${field}).`,
      hint: 'Give either the file or the options.',
    })
  return readInput(file).text
}

/** Calls the runtime. Problems of a manifest get the name of its file, so that they are shown with its lines. */
export async function withPlaces<T>(file: string | undefined, call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (file === undefined || !isFault(error) || error.details.problems === undefined) throw error
    const { name } = readInput(file)
    const problems = error.details.problems.map((problem): Problem =>
      problem.line === undefined ? problem : { ...problem, file: name },
    )
    throw fault(error.code, { message: error.message, hint: error.hint, problems }, error)
  }
}

interface Finishing {
  readonly calls: GitopsRuntimeCalls
  readonly out: Printer
  /** What has happened: `created` or `changed`. */
  readonly verb: string
}

/** Prints what a commit did. With `--wait`, waits until Argo CD has applied it, and resolves to 1 if that fails. */
export async function finish(
  { calls, out, verb }: Finishing,
  change: ApplicationChange,
  options: CommitOptions,
): Promise<number | void> {
  const { name, commit, gitSource, others } = change
  const isNew = commit?.isNew === true
  if (options.output === undefined) {
    out.line(`application/${name} ${isNew ? verb : 'unchanged'}`)
    if (isNew) out.note(`Commit on ${commit.branch}: ${commit.url}`)
    for (const { revision, author, subject } of others)
      out.note(`The commit ${revision.slice(0, 12)} of ${author} ("${subject}") came meanwhile, and its changes stay.`)
    if (change.refreshProblem !== undefined)
      out.note(
        `Argo CD applies it when it looks at Git next, within minutes. It was not asked for that: ${change.refreshProblem}`,
      )
    else if (isNew && change.isVisible && !change.isRefreshed)
      out.note(`The cluster has no application for the Git source "${gitSource}", so Argo CD does not apply it yet.`)
  }
  if (options.wait && !change.isVisible)
    throw fault('not-supported', {
      message: `The runtime does not read the namespace of the restricted Git source "${gitSource}", so it cannot wait for the application.`,
      hint: 'The commit is made. Look at Argo CD, or name its server to the runtime: `global.integrations.argo-cd.server` of the chart.',
    })
  const applied =
    options.wait && commit !== undefined
      ? await untilApplied(calls, change, { revision: commit.revision, timeout: options.timeout })
      : undefined
  if (options.output !== undefined) await printValue(out, applied === undefined ? change : { ...change, applied }, options.output)
  else if (applied !== undefined) printApplied(out, applied)
  return applied?.state === 'failed' ? 1 : undefined
}

function printApplied(out: Printer, { reason, application }: AppliedApplication): void {
  out.line(reason)
  if (application !== undefined)
    out.note(
      `${application.health}, ${application.sync}${application.isAutomatic ? '' : '; sync it with `windlass gitops app sync`'}`,
    )
}

/** Throws `unavailable` if it takes longer. */
async function untilApplied(
  calls: GitopsRuntimeCalls,
  { name, gitSource }: ApplicationChange,
  { revision, timeout = DEFAULT_WAIT_SECONDS }: { readonly revision: string; readonly timeout: number | undefined },
): Promise<AppliedApplication> {
  const end = systemClock.monotonic() + timeout * 1_000
  for (;;) {
    const found = await calls.appliedApplication(name, { query: { gitSource, revision } })
    if (found.state !== 'waiting') return found
    if (systemClock.monotonic() > end)
      throw fault('unavailable', {
        message: `${found.reason} ${timeout} s have passed since the commit.`,
        hint: 'Argo CD goes on. See `windlass gitops app get`.',
      })
    await systemClock.sleep(POLL_MS)
  }
}
