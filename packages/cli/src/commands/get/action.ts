import { listAll } from '@windlass/client'
import { systemClock } from '@windlass/kit'
import { defined } from '@windlass/kit/defined'
import { fault, isFault } from '@windlass/kit/faults'
import { BUILD_STATUSES, nearest, type Reason } from '@windlass/plan'
import {
  APPLICATION_HEALTHS,
  APPLICATION_SYNCS,
  DISK_STATES,
  GITLAB_JOB_STATES,
  RELEASE_STATUSES,
  ROLLOUT_PHASES,
  WORKFLOW_PHASES,
} from '@windlass/protocol'
import type { Invocation, Values } from '../../command.ts'
import { textFor } from '../../follow/line-splitter.ts'
import { alignColumns } from '../../format/columns.ts'
import { printList, printValue } from '../../format/output.ts'
import { paintStatus } from '../../format/style.ts'
import { parseTime } from '../../input/time.ts'
import type { OutputFormat } from '../../output-formats.ts'
import type { KindName } from '../../kind-names.ts'
import type { Printer } from '../../printer.ts'
import { withKind, type BuildFilters, type Kind, type ListQuery } from '../../resources/kinds.ts'
import { openSession, type Session } from '../../session/session.ts'
import type { buildFilterOptions } from './build-filters.ts'
import { requireFilters } from './kind-filters.ts'

interface GetOptions extends Values<typeof buildFilterOptions> {
  readonly output: OutputFormat | undefined
  readonly noHeaders: boolean
  readonly limit: number | undefined
  readonly versions: boolean
  readonly history: boolean
  readonly version: number | undefined
  readonly view: string | undefined
  readonly runner: string | undefined
  readonly webhook: string | undefined
  readonly repo: string | undefined
  readonly sync: string | undefined
  readonly product: string | undefined
}

/** Number of the newest resources in a list of these kinds. The server deletes them when their retention ends. */
const NEWEST_SHOWN = 20
const RETAINED: Partial<Record<KindName, string>> = {
  builds: 'Builds',
  'gitlab-jobs': 'Jobs',
  deliveries: 'Deliveries',
  messages: 'Messages',
  workflows: 'Workflows',
  releases: 'Releases',
}

/** Why resources of a kind cannot be deleted here, and where they can be. */
const UNDELETABLE: Partial<Record<KindName, string>> = {
  tunnels: 'Delete the GitOps runtime with `windlass gitops delete RUNTIME`.',
  applications: 'Delete the application in its cluster, whose reporter reports its end.',
  rollouts: 'Delete the rollout in its cluster, whose reporter reports its end.',
  workflows: 'Delete the workflow with `windlass gitops workflow delete`. It is shown for a week after that.',
}

/** Runs `get KIND [NAME]`. */
export async function getResources({ args, options, out, settings }: Invocation<GetOptions>): Promise<void> {
  const [kindName = '', name] = args
  await withKind(kindName, async (kind) => {
    requireFilters(kind.name, options)
    requireNamedPipeline(kind.name, name, options)
    const session = openSession(settings)
    const print = { kind, format: options.output, headers: !options.noHeaders }
    if (name === undefined) {
      if (kind.name === 'builds') requireStatus(options.status)
      const ofView = options.view === undefined ? {} : await readView(session, options.view)
      if (options.countBy !== undefined) return printCounts(out, session, { kind: kind.name, options, ofView })
      const limit = options.limit ?? (kind.name in RETAINED ? NEWEST_SHOWN : undefined)
      const filter = { ...ofView, ...filterOf(kind.name, options) }
      const { list } = kind.of(session.client)
      return printList(out, await listAll(({ query }) => list({ query: { ...filter, ...query } }), limit), print)
    }
    if (options.history) return printPipelineHistory(out, session, { name, options })
    if (options.version !== undefined)
      return printValue(out, await session.client.pipelines.version(name, options.version), dataFormat(options))
    if (options.versions) return printList(out, await listVersions(session, kind, name), print)
    const item = await findOne(session, kind, name)
    const manifest = options.output === 'yaml' ? manifestOf(item) : undefined
    if (manifest !== undefined) return out.stdout.write(textFor(out.stdout, manifest))
    if (options.output === 'json' || options.output === 'yaml') return printValue(out, item, options.output)
    return printList(out, [item], print)
  })
}

function filterOf(kind: KindName, options: GetOptions): Partial<ListQuery> {
  const { pipeline, branch, status, webhook, repo } = options
  if (kind === 'builds') return buildFilterOf(options)
  if (kind === 'triggers' || kind === 'cron-triggers' || kind === 'event-triggers') return { pipeline: pipeline.at(-1) }
  if (kind === 'pipelines')
    return defined({ q: options.query, project: options.project.length === 0 ? undefined : [...options.project] })
  if (kind === 'disks')
    return {
      disks: { runtime: options.runtime.at(-1), pipeline: pipeline.at(-1), state: readState(status, 'disks', DISK_STATES) },
    }
  if (kind === 'gitlab-jobs')
    return {
      gitlabJobs: {
        state: readState(status, 'jobs', GITLAB_JOB_STATES),
        runner: options.runner,
        project: options.project.at(-1),
      },
    }
  if (kind === 'applications')
    return {
      applications: {
        runtime: options.runtime.at(-1),
        project: options.project.at(-1),
        health: readState(status, 'applications', APPLICATION_HEALTHS),
        sync: readState(options.sync, 'syncs', APPLICATION_SYNCS),
        q: options.query,
      },
    }
  const reported = { runtime: options.runtime.at(-1), q: options.query }
  if (kind === 'rollouts') return { rollouts: { ...reported, phase: readState(status, 'rollouts', ROLLOUT_PHASES) } }
  if (kind === 'workflows') return { workflows: { ...reported, phase: readState(status, 'workflows', WORKFLOW_PHASES) } }
  if (kind === 'releases')
    return { releases: { product: options.product, status: readState(status, 'releases', RELEASE_STATUSES) } }
  if (kind === 'messages') return { status }
  return kind === 'deliveries' ? { status, webhook, repo, pipeline: pipeline.at(-1), branch: branch.slice(-1) } : {}
}

/** Throws `usage` unless the state exists. */
function readState<S extends string>(text: string | undefined, of: string, states: readonly S[]): S | undefined {
  const found = states.find((state) => state === text)
  if (text !== undefined && found === undefined)
    throw fault('usage', { message: `The state "${text}" of ${of} does not exist.`, hint: `Use one of ${states.join(', ')}.` })
  return found
}

function buildFilterOf(options: GetOptions): BuildFilters & Pick<ListQuery, 'status'> {
  const { status, reason, revision, number, query, since, until } = options
  const now = systemClock.now()
  const several = (values: readonly string[]): string[] | undefined => (values.length === 0 ? undefined : [...values])
  return defined({
    pipelines: several(options.pipeline),
    branch: several(options.branch),
    annotation: several(options.annotation),
    project: several(options.project),
    initiator: several(options.initiator),
    trigger: several(options.trigger),
    runtime: several(options.runtime),
    status,
    reason: reason === undefined ? undefined : [reason],
    revision,
    number: number === undefined ? undefined : readNumber(number),
    q: query,
    from: since === undefined ? undefined : parseTime(since, now),
    to: until === undefined ? undefined : parseTime(until, now),
  })
}

/** Returns the filters of a view. Throws `not-found`. */
async function readView(session: Session, name: string): Promise<Partial<ListQuery>> {
  const { findView } = await import('../views/action.ts')
  const { status, pipeline, ...filter } = await findView(session, name)
  // The server checks the reasons of a view.
  const { reason, ...others } = filter
  return defined({ ...others, status: status?.join(','), pipelines: pipeline, reason: reason as Reason[] | undefined })
}

/** Throws `usage` if the versions of something else than one pipeline are asked for. */
function requireNamedPipeline(kind: KindName, name: string | undefined, { history, version }: GetOptions): void {
  if ((!history && version === undefined) || (kind === 'pipelines' && name !== undefined)) return
  throw fault('usage', {
    message: '--history and --version need the name of a pipeline.',
    hint: 'Run `windlass get pipelines NAME --history`.',
  })
}

async function printPipelineHistory(
  out: Printer,
  session: Session,
  { name, options }: { readonly name: string; readonly options: GetOptions },
): Promise<void> {
  const { printHistory } = await import('../pipeline-versions/action.ts')
  return printHistory(out, session, { name, output: options.output, headers: !options.noHeaders, limit: options.limit })
}

function dataFormat({ output }: GetOptions): 'json' | 'yaml' {
  return output === 'json' ? 'json' : 'yaml'
}

/** Reads a build number, with or without `#`. Throws `usage`. */
function readNumber(text: string): number {
  const digits = /^#?([1-9]\d{0,14})$/.exec(text)?.[1]
  if (digits === undefined) throw fault('usage', { message: `"${text}" is not the number of a build.` })
  return Number(digits)
}

interface Counting {
  readonly kind: KindName
  readonly options: GetOptions
  readonly ofView: Partial<ListQuery>
}

/** Prints how many builds have each value. Throws `usage` for other kinds. */
async function printCounts(out: Printer, { client }: Session, { kind, options, ofView }: Counting): Promise<void> {
  const { countBy: by, output } = options
  if (kind !== 'builds' || by === undefined)
    throw fault('usage', { message: '--count-by applies to builds only.', hint: 'windlass get builds --count-by status' })
  const { pipelines, ...filter } = { ...ofView, ...buildFilterOf(options) }
  const counts = await client.builds.counts({ query: { ...filter, ...defined({ pipeline: pipelines }), by } })
  if (output === 'json' || output === 'yaml') return printValue(out, counts, output)
  const { style } = out.stdout
  const rows = counts.items.map(({ value, count }) => [by === 'status' ? paintStatus(style, value) : value, String(count)])
  const head = options.noHeaders ? [] : [[by.toUpperCase(), 'BUILDS'].map((cell) => style.dim(cell))]
  if (rows.length === 0) return out.note('No builds found.')
  for (const line of alignColumns([...head, ...rows])) out.line(line)
  if (!counts.isExact) out.note('Only the newest builds are counted.')
}

/** Throws `usage` unless each of these statuses, separated by commas, exists. */
function requireStatus(text: string | undefined): void {
  const known: readonly string[] = BUILD_STATUSES
  const unknown = text?.split(',').find((status) => !known.includes(status))
  if (unknown !== undefined)
    throw fault('usage', { message: `The status "${unknown}" does not exist.`, hint: `Use one of ${known.join(', ')}.` })
}

/** Returns the manifest of a step type, which `-o yaml` prints so that it can be edited and applied again. */
function manifestOf(item: unknown): string | undefined {
  const found = typeof item === 'object' && item !== null && 'manifest' in item ? item.manifest : undefined
  return typeof found === 'string' ? `${found.trimEnd()}\n` : undefined
}

/** Returns the versions of a step type, latest first. Throws `usage` for other kinds, `not-found`. */
async function listVersions<T>({ client }: Session, kind: Kind<T>, name: string): Promise<readonly T[]> {
  const { versions } = kind.of(client)
  if (versions === undefined)
    throw fault('usage', { message: '--versions applies to step types only.', hint: 'windlass get step-types NAME --versions' })
  return (await versions(name)).items
}

/** Returns a resource by name. The fault for a missing one suggests the nearest name. */
async function findOne<T>({ client }: Session, kind: Kind<T>, name: string): Promise<T> {
  try {
    return await kind.of(client).get(name)
  } catch (error) {
    throw await explainMissing(error, { client, kind, name })
  }
}

async function explainMissing<T>(
  error: unknown,
  { client, kind, name }: Pick<Session, 'client'> & { kind: Kind<T>; name: string },
): Promise<unknown> {
  if (!isFault(error, 'not-found') || kind.name in RETAINED) return error
  const names = (await listAll((page) => kind.of(client).list(page), 500)).map((item) => kind.nameOf(item))
  const near = nearest(name, names)
  return fault('not-found', {
    message: `The ${kind.singular} "${name}" does not exist.`,
    hint: near === undefined ? `List them with \`windlass get ${kind.name}\`.` : `Did you mean "${near}"?`,
  })
}

/** Runs `delete KIND NAME`. */
export async function deleteResource({ args, options, out, settings }: Invocation<{ force: boolean }>): Promise<void> {
  const [kindName = '', name = ''] = args
  await withKind(kindName, async (kind) => {
    if (options.force && kind.name !== 'agents' && kind.name !== 'runtimes')
      throw fault('usage', {
        message: `--force does not apply to a ${kind.singular}.`,
        hint: 'Use --force only for agents and runtimes.',
      })
    const { client } = openSession(settings)
    const { remove } = kind.of(client)
    if (remove === undefined)
      throw fault('usage', {
        message: `${RETAINED[kind.name] ?? kind.name} cannot be deleted.`,
        hint: UNDELETABLE[kind.name] ?? 'The server deletes them when their retention ends.',
      })
    try {
      const result = await remove(name, options.force ? { query: { force: true } } : undefined)
      out.line(`${kind.singular}/${name} ${result?.outcome ?? 'deleted'}`)
      if (result !== undefined) out.note(result.message)
    } catch (error) {
      throw await explainMissing(error, { client, kind, name })
    }
  })
}
