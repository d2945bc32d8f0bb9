/** Managed clusters of a runtime: a file in the shared configuration repository, and a Secret with the credentials in the namespace of the runtime. */
import {
  argoRolloutsPath,
  clusterFile,
  clusterPath,
  clusterServerOf,
  gitSourcePath,
  IN_CLUSTER,
  readArgoRollouts,
  readClusterLogin,
  runtimeApplicationName,
  type ClusterLogin,
  type RuntimePlace,
} from '@windlass/gitops'
import { fault, hostOf, isFault } from '@windlass/kit'
import type { ManagedCluster, ManagedClusterChange, ManagedClusterInput, RepositoryChange } from '@windlass/protocol'
import { noteEffect, noteSubject } from '../audit/call.ts'
import type { ForgeHosts } from '../forge/hosts.ts'
import type { ClusterSecrets } from './cluster-secrets.ts'
import { readIfText, type RepositoryView } from './repository-view.ts'
import { foreignFile, listClusterNames, oneFile, requireRuntime } from './shared-configuration.ts'
import type { Plan } from './repository-branch.ts'
import type { SharedRepositories } from './shared-repository.ts'
import type { GitopsCall } from './user-repositories.ts'

export interface Clusters {
  /** Lists what the repository or the namespace of the runtime has, by name. */
  list(call: GitopsCall): Promise<readonly ManagedCluster[]>
  /**
   * Stores the credentials, and commits the file. The same cluster again replaces the credentials, and makes no commit. Throws `conflict` if the name or the API server is in
   * use, and `request-invalid` for a kubeconfig that cannot be used.
   */
  add(call: GitopsCall, input: ManagedClusterInput): Promise<ManagedClusterChange>
  /** Deletes the file and the credentials. What runs in the cluster stays. Throws `not-found`. */
  remove(call: GitopsCall, name: string): Promise<RepositoryChange>
}

export interface ClustersOptions {
  readonly shared: SharedRepositories
  readonly secrets: ClusterSecrets
  readonly hosts: ForgeHosts
  readonly place: RuntimePlace
}

export function openClusters({ shared, secrets, hosts, place }: ClustersOptions): Clusters {
  const { runtime } = place

  return {
    async list(call) {
      const view = await (await shared.open(call)).view()
      const [names, servers] = await Promise.all([listClusterNames(view, runtime), secrets.servers()])
      const all = new Set([...names, ...servers.keys()])
      const found: ManagedCluster[] = []
      for (const name of [...all].toSorted()) {
        const known = servers.get(name)
        const file = names.includes(name) ? clusterPath(runtime, name) : undefined
        // After the loss of the credentials only the file says which cluster it is.
        const text = known === undefined && file !== undefined ? await readIfText(view, file) : undefined
        const server = text === undefined ? known : clusterServerOf(text)
        found.push({ name, server, hasCredentials: known !== undefined, file })
      }
      return found
    },
    async add(call, input) {
      const { name } = input
      noteSubject(`cluster ${name}`)
      const login = readClusterLogin(Buffer.from(input.kubeConfig, 'base64').toString('utf8'))
      if (typeof login === 'string') throw fault('request-invalid', { message: login })
      requireCluster(hosts, login)
      const repository = await shared.open(call)
      const file = clusterFile(repository.place, place, { name, server: login.server })
      const plan = (view: RepositoryView): Promise<Plan<undefined>> =>
        planCluster(view, { runtime, name, file, message: input.message })
      requireFree(await secrets.servers(), name, login.server)
      // Before the credentials are stored.
      repository.requirePush()
      await plan(await repository.view())
      await call.confirm()
      const isNew = await secrets.put(input, login)
      noteEffect()
      try {
        const { commit } = await repository.change(plan)
        const cluster = { name, server: login.server, hasCredentials: true, file: clusterPath(runtime, name) }
        return { cluster, commit }
      } catch (error) {
        // Argo CD would have a cluster that Git does not name.
        if (isNew) await secrets.remove(name)
        throw error
      }
    },
    async remove(call, name) {
      const repository = await shared.open(call)
      const path = clusterPath(runtime, name)
      const { commit, result: wasThere } = await repository.change(async (view) => {
        const text = name === IN_CLUSTER ? undefined : await view.read(path)
        if (text !== undefined && clusterServerOf(text) === undefined) throw foreignFile(path)
        const rollouts = argoRolloutsPath(runtime, name)
        const installation = text === undefined ? undefined : await view.read(rollouts)
        const hasRollouts = installation !== undefined && readArgoRollouts(installation) !== undefined
        const paths = [...(text === undefined ? [] : [path]), ...(hasRollouts ? [rollouts] : [])]
        return {
          message: `Remove the cluster ${name} from the GitOps runtime ${runtime}`,
          files: new Map(paths.map((one) => [one, undefined] as const)),
          result: text !== undefined,
        }
      })
      await call.confirm()
      // An earlier call may have ended between the two.
      const hadSecret = await secrets.remove(name)
      if (wasThere || hadSecret) return commit
      throw fault('not-found', {
        message: `The GitOps runtime "${runtime}" does not manage a cluster "${name}".`,
        hint: 'List its clusters with `windlass gitops cluster list RUNTIME`.',
      })
    },
  }
}

interface ClusterPlan {
  readonly runtime: string
  readonly name: string
  readonly file: string
  readonly message: string | undefined
}

async function planCluster(view: RepositoryView, { runtime, name, file, message }: ClusterPlan): Promise<Plan<undefined>> {
  await requireRuntime(view, runtime)
  const path = clusterPath(runtime, name)
  const before = await view.read(path)
  const text = message ?? `Add the cluster ${name} to the GitOps runtime ${runtime}`
  if (before !== undefined) {
    const server = clusterServerOf(before)
    if (server === undefined) throw foreignFile(path)
    if (server !== clusterServerOf(file)) throw inUse(name, `it is that of the cluster at ${server}`)
    return { message: text, files: new Map(), result: undefined }
  }
  if ([IN_CLUSTER, runtime, runtimeApplicationName(runtime)].includes(name))
    throw inUse(name, 'an application of the runtime has it')
  if ((await view.read(gitSourcePath(runtime, name))) !== undefined) throw inUse(name, 'a Git source has it')
  return { message: text, files: oneFile(path, file), result: undefined }
}

function inUse(name: string, why: string): Error {
  return fault('conflict', { message: `The name "${name}" cannot be used: ${why}.`, hint: 'Use another name.' })
}

/** Argo CD knows a cluster by the URL of its API server. Throws `conflict` if another name has it. */
function requireFree(servers: ReadonlyMap<string, string>, name: string, server: string): void {
  for (const [other, url] of servers)
    if (url === server && other !== name)
      throw fault('conflict', {
        message: `The cluster at ${server} is managed already, with the name "${other}".`,
        hint: `Use this name, or remove it with \`windlass gitops cluster remove RUNTIME ${other}\`.`,
      })
}

/** Throws `request-invalid` for an address at which no cluster is, and for the cluster of the runtime itself: its other namespaces may belong to other accounts. */
function requireCluster(hosts: ForgeHosts, { server }: ClusterLogin): void {
  const url = new URL(server)
  const host = hostOf(url).toLowerCase()
  if (host === 'kubernetes' || /^kubernetes\.default(?:$|\.)/.test(host))
    throw fault('request-invalid', {
      message: `${host} is the cluster of the GitOps runtime itself, which it manages as "${IN_CLUSTER}".`,
      hint: 'Name the URL with which other networks reach the API server.',
    })
  try {
    hosts.requireForge(url)
  } catch (error) {
    if (!isFault(error, 'request-invalid')) throw error
    throw fault('request-invalid', { message: `${host} is not an address of a cluster.` })
  }
}
