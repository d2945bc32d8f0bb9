/** `gitops git-source`: further repositories that a GitOps runtime applies. */
import { fault } from '@windlass/kit/faults'
import type { GitSource, GitSourceInput, ListedGitSource } from '@windlass/protocol'
import { readChanges } from '../../input/changes.ts'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { COMMIT_TIMEOUT, openRuntime, printChange } from './runtime-session.ts'

interface Target {
  readonly runtimeUrl: string | undefined
}
interface Shown extends Target {
  readonly output: 'json' | 'yaml' | undefined
}
interface Fields extends Shown {
  readonly gitSrcRepo: string | undefined
  readonly include: string | undefined
  readonly exclude: string | undefined
  readonly project: string | undefined
  readonly label: readonly string[]
  readonly sourceNamespace: string | undefined
  readonly destination: readonly string[]
  readonly sourceRepo: readonly string[]
  readonly message: string | undefined
}

/** Runs `gitops git-source list RUNTIME`. */
export async function listGitSources({ args, options, out, settings }: Invocation<Shown>): Promise<void> {
  const { calls } = await openRuntime(settings, { runtime: args[0] ?? '', url: options.runtimeUrl })
  const { items } = await calls.gitSources()
  if (options.output !== undefined) return printValue(out, items, options.output)
  if (items.length === 0) return out.note('No Git sources found.')
  const head = ['NAME', 'TYPE', 'REPOSITORY', 'INCLUDE', 'EXCLUDE'].map((cell) => out.stdout.style.dim(cell))
  const rows = items.map(({ name, type, repository, include, exclude }) => [name, type, repository, include ?? '', exclude ?? ''])
  for (const line of alignColumns([head, ...rows])) out.line(line)
  return undefined
}

/** Runs `gitops git-source create RUNTIME NAME`. */
export async function createGitSource({
  args,
  options,
  out,
  settings,
}: Invocation<Fields & { readonly restricted: boolean }>): Promise<void> {
  const [runtime = '', name = ''] = args
  if (options.gitSrcRepo === undefined)
    throw fault('usage', { message: 'The repository of the Git source is missing.', hint: 'Name it with --git-src-repo URL.' })
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const input = toInput({ type: options.restricted ? 'restricted' : 'standard', repository: options.gitSrcRepo }, options)
  const change = await calls.createGitSource({ ...input, name }, COMMIT_TIMEOUT)
  if (options.output !== undefined) return printValue(out, change, options.output)
  printChange(out, `git-source/${name}`, { verb: 'created', commit: change.commit })
  if (!change.isChecked) out.note('The runtime has no Git integration for its repository, so the repository was not checked.')
  return undefined
}

/** Runs `gitops git-source edit RUNTIME NAME`. */
export async function editGitSource({ args, options, out, settings }: Invocation<Fields>): Promise<void> {
  const [runtime = '', name = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const before = (await calls.gitSources()).items.find((source) => source.name === name)
  if (before === undefined) throw fault('not-found', { message: `The Git source "${name}" does not exist.` })
  const change = await calls.editGitSource(name, toInput(before, options), COMMIT_TIMEOUT)
  if (options.output !== undefined) return printValue(out, change, options.output)
  return printChange(out, `git-source/${name}`, { verb: 'changed', commit: change.commit })
}

/** Runs `gitops git-source delete RUNTIME NAME`. */
export async function deleteGitSource({ args, options, out, settings }: Invocation<Target>): Promise<void> {
  const [runtime = '', name = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  printChange(out, `git-source/${name}`, { verb: 'deleted', commit: await calls.deleteGitSource(name, COMMIT_TIMEOUT) })
}

type Before = Pick<GitSource, 'type' | 'repository'> & Partial<ListedGitSource>

/** Returns the fields of a source with the options that are given. The runtime checks them. Throws `usage` for options of the other type. */
function toInput(before: Before, options: Fields): GitSourceInput {
  const { gitSrcRepo, include, exclude = before.exclude, message } = options
  const common = {
    repository: gitSrcRepo ?? before.repository,
    include: include ?? before.include ?? '*',
    exclude: exclude === '' ? undefined : exclude,
    message,
  }
  const isRestricted = before.type === 'restricted'
  const wrong = isRestricted
    ? { '--project': options.project !== undefined, '--label': options.label.length > 0 }
    : {
        '--source-namespace': options.sourceNamespace !== undefined,
        '--destination': options.destination.length > 0,
        '--source-repo': options.sourceRepo.length > 0,
      }
  const [other] = Object.entries(wrong).flatMap(([name, isGiven]) => (isGiven ? [name] : []))
  if (other !== undefined)
    throw fault('usage', {
      message: `${other} is not an option of a ${isRestricted ? 'restricted' : 'standard'} Git source.`,
      hint: isRestricted ? 'Leave it out.' : 'Create a restricted one with --restricted.',
    })
  if (isRestricted)
    return {
      type: 'restricted',
      ...common,
      sourceNamespace: options.sourceNamespace ?? before.sourceNamespace ?? '',
      destinations: options.destination.length === 0 ? [...(before.destinations ?? [])] : options.destination.map(toDestination),
      sourceRepos: options.sourceRepo.length === 0 ? [...(before.sourceRepos ?? ['*'])] : [...options.sourceRepo],
    }
  const labels = options.label.length === 0 ? before.labels : toLabels(options.label)
  return { type: 'standard', ...common, project: options.project ?? before.project ?? 'default', labels }
}

/** Reads `CLUSTER/NAMESPACE`. A cluster is a name or a URL, which has slashes itself. */
function toDestination(text: string): { name?: string; server?: string; namespace: string } {
  const slash = text.lastIndexOf('/')
  const cluster = text.slice(0, Math.max(0, slash))
  if (cluster === '' || cluster.endsWith('/'))
    throw fault('usage', {
      message: `"${text}" is not a destination.`,
      hint: 'Write CLUSTER/NAMESPACE, such as in-cluster/shop-*.',
    })
  const namespace = text.slice(slash + 1)
  return cluster.includes('://') ? { server: cluster, namespace } : { name: cluster, namespace }
}

function toLabels(given: readonly string[]): Record<string, string> {
  const { set } = readChanges(given)
  return Object.fromEntries(Object.entries(set).map(([name, value]) => [name, String(value)]))
}
