/** `gitops cluster`: clusters that a GitOps runtime deploys to. */
import { join } from 'node:path'
import { listAll, type ApiClient } from '@windlass/client'
import type { GitopsRuntimeCalls } from '@windlass/client/gitops-runtime'
import { clusterNameOf } from '@windlass/gitops'
import { defined } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { readKubeconfig, type ClusterAccess } from '@windlass/kube'
import type { ManagedCluster, ReportedCluster } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { paintStatus } from '../../format/style.ts'
import { COMMIT_TIMEOUT, openRuntime, printChange } from './runtime-session.ts'

interface Target {
  readonly runtimeUrl: string | undefined
}
interface Shown extends Target {
  readonly output: 'json' | 'yaml' | undefined
}

/** Runs `gitops cluster list RUNTIME`. */
export async function listClusters({ args, options, out, settings }: Invocation<Shown>): Promise<void> {
  const [runtime = ''] = args
  const { client, calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const [{ items: managed }, known] = await Promise.all([calls.clusters(), reportedClusters(client, runtime)])
  const items = joinClusters(managed, known)
  if (options.output !== undefined) return printValue(out, items, options.output)
  if (items.length === 0) return out.note('No clusters found.')
  const { style } = out.stdout
  const head = ['SERVER', 'NAME', 'VERSION', 'STATUS', 'CREDENTIALS', 'FILE', 'MESSAGE'].map((cell) => style.dim(cell))
  const rows = items.map(({ server, name, version, connection, isManaged, hasCredentials, file }) => [
    server ?? '',
    name,
    version ?? '',
    connection === undefined
      ? ''
      : paintStatus(style, connection.state === 'successful' ? 'success' : connection.state, connection.state),
    hasCredentials ? 'yes' : isManaged ? 'missing' : '',
    file ?? (isManaged ? 'missing' : ''),
    connection?.message ?? '',
  ])
  for (const line of alignColumns([head, ...rows])) out.line(line)
  return undefined
}

type ClusterFacts = Partial<Pick<ReportedCluster, 'connection' | 'version' | 'applications'>>

interface ListedCluster extends ManagedCluster, ClusterFacts {
  /** False for a cluster that only Argo CD knows, such as its own. */
  readonly isManaged: boolean
}

/** Returns the clusters as Argo CD last reached them; none of a server of an earlier version. */
async function reportedClusters(client: ApiClient, runtime: string): Promise<readonly ReportedCluster[]> {
  try {
    return await listAll(({ query }) => client.gitopsStatus.clusters({ query: { ...query, runtime } }))
  } catch (error) {
    if (isFault(error, 'not-found', 'not-supported')) return []
    throw error
  }
}

/** Joins the clusters that the runtime manages with those that Argo CD knows. The cluster of the runtime itself comes first. */
function joinClusters(managed: readonly ManagedCluster[], known: readonly ReportedCluster[]): ListedCluster[] {
  const states = new Map(known.map((cluster) => [cluster.server, cluster]))
  const joined = managed.map((cluster) => ({ ...cluster, isManaged: true, ...factsOf(states.get(cluster.server ?? '')) }))
  const servers = new Set(managed.map(({ server }) => server))
  const others = known
    .filter(({ server }) => !servers.has(server))
    .map((cluster) => ({
      name: cluster.name,
      server: cluster.server,
      hasCredentials: false,
      isManaged: false,
      ...factsOf(cluster),
    }))
  return [...others, ...joined]
}

function factsOf(cluster: ReportedCluster | undefined): ClusterFacts {
  if (cluster === undefined) return {}
  const { connection, version, applications } = cluster
  return { connection, ...defined({ version, applications }) }
}

interface AddOptions extends Shown {
  readonly name: string | undefined
  readonly context: string | undefined
  readonly kubeconfig: string | undefined
  readonly labels: string | undefined
  readonly annotations: string | undefined
  readonly dryRun: boolean
  readonly message: string | undefined
}

/** Runs `gitops cluster add RUNTIME`. */
export async function addCluster({ args, options, out, settings }: Invocation<AddOptions>): Promise<void> {
  const [runtime = ''] = args
  const { context, name: given, message } = options
  if (given === undefined && context === undefined)
    throw fault('usage', { message: 'The name of the cluster is missing.', hint: 'Give --name NAME, or --context CONTEXT.' })
  const { environment } = settings
  const known = environment['KUBECONFIG']?.split(':')[0] ?? join(environment['HOME'] ?? '/', '.kube', 'config')
  const access = await readKubeconfig(options.kubeconfig ?? known, context)
  const kubeConfig = toKubeconfig(access)
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const name = given ?? (await freeName(calls, { context: context ?? '', server: access.server }))
  const marks = { labels: toPairs(options.labels), annotations: toPairs(options.annotations) }
  if (options.dryRun) return printValue(out, { name, server: access.server, ...marks }, options.output ?? 'yaml')
  const change = await calls.addCluster({ name, kubeConfig, ...marks, message }, COMMIT_TIMEOUT)
  if (options.output !== undefined) return printValue(out, change, options.output)
  return printChange(out, `cluster/${name}`, { verb: 'added', commit: change.commit })
}

/** Returns the name that the cluster has already, or one that is not in use. */
async function freeName(calls: GitopsRuntimeCalls, { context, server }: { context: string; server: string }): Promise<string> {
  const { items } = await calls.clusters()
  const same = items.find((cluster) => cluster.server === server)
  return same?.name ?? clusterNameOf(context, new Set(items.map(({ name }) => name)))
}

/** Returns a kubeconfig with only this cluster and the token, as base64. Throws `config-invalid` for a login without a token. */
function toKubeconfig({ server, ca, insecure, token }: ClusterAccess): string {
  if (insecure || token === undefined)
    throw fault('config-invalid', {
      message: insecure
        ? 'The kubeconfig turns off the check of the certificate of the cluster.'
        : 'The user of the kubeconfig has no token.',
      hint: insecure ? 'Add the certificate authority of the cluster.' : 'Use the token of a service account.',
    })
  const authority = ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }
  // JSON is YAML.
  const text = JSON.stringify({
    'current-context': 'cluster',
    contexts: [{ name: 'cluster', context: { cluster: 'cluster', user: 'user' } }],
    clusters: [{ name: 'cluster', cluster: { server, ...authority } }],
    users: [{ name: 'user', user: { token: token() } }],
  })
  return Buffer.from(text).toString('base64')
}

/** Reads `name=value,name=value`. Throws `usage`. */
function toPairs(text: string | undefined): Record<string, string> | undefined {
  if (text === undefined) return undefined
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const at = pair.indexOf('=')
      if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)]
      throw fault('usage', { message: `"${pair}" is not a pair.`, hint: 'Write NAME=VALUE,NAME=VALUE.' })
    }),
  )
}

/** Runs `gitops cluster remove RUNTIME NAME`. */
export async function removeCluster({
  args,
  options,
  out,
  settings,
}: Invocation<Target & { readonly serverUrl: string | undefined }>): Promise<void> {
  const [runtime = '', given] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const found = await clusterOf(calls, { runtime, given, serverUrl: options.serverUrl })
  const commit = await calls.removeCluster(found, COMMIT_TIMEOUT)
  out.line(`cluster/${found} removed`)
  if (commit.isNew) out.note(`Commit on ${commit.branch}: ${commit.url}`)
}

interface Named {
  readonly runtime: string
  readonly given: string | undefined
  readonly serverUrl: string | undefined
}

/** Returns the name of the cluster. Throws `usage` and `not-found`. */
export async function clusterOf(calls: GitopsRuntimeCalls, { runtime, given, serverUrl }: Named): Promise<string> {
  const found =
    serverUrl === undefined
      ? given
      : (await calls.clusters()).items.find(({ server }) => server === serverUrl.replace(/\/+$/, ''))?.name
  if (found !== undefined) return found
  throw serverUrl === undefined
    ? fault('usage', { message: 'The name of the cluster is missing.', hint: 'Name it, or its URL with --server-url.' })
    : fault('not-found', { message: `The runtime "${runtime}" does not manage a cluster at ${serverUrl}.` })
}
