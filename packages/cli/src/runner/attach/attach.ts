/**
 * Attaches a runtime to an agent: on the server, and where the runtime is in another namespace or cluster, by a key of the Secret that the agent
 * reads. One key only: runtimes that are attached at the same time do not overwrite each other.
 */
import { isIP } from 'node:net'
import { systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import type { Agent, Client } from '@windlass/protocol'
import { z } from 'zod'
import { getAgent, getRuntime, listAgents, patchAgent } from '../../api-runner.ts'
import type { Printer } from '../../printer.ts'
import { lastingToken, RUNTIMES_SECRET, setSecretKeys } from '../cluster/secrets.ts'
import { runtimeFileOf } from '../init/names.ts'
import type { InstallPlace } from '../install/place.ts'
import { isTree, mergeTrees, type Tree } from '../values/read-values.ts'
import { namespaceOf } from '../runtime-document.ts'
import { FOLDER_VARIABLE, RUNTIMES_FOLDER, runtimeFileText, type RuntimeFile } from './runtime-file.ts'

const RESTART_WAIT_MS = 60_000

/** The agent that is meant: by name, by id, or the only one there is. Throws `usage`. */
export async function findAgent(
  client: Client,
  flags: { agentName?: string | undefined; agentId?: string | undefined },
): Promise<Agent> {
  const name = flags.agentName ?? flags.agentId
  if (name !== undefined) return getAgent(client, name)
  const [only, ...more] = await listAgents(client)
  if (only !== undefined && more.length === 0) return only
  throw fault('usage', {
    message: only === undefined ? 'There is no agent.' : `There are ${more.length + 1} agents; which one?`,
    hint: only === undefined ? 'Make one with `windlass install agent`.' : 'Add --agent-name; `windlass get agents` lists them.',
  })
}

/** Adds the runtime to what the agent serves. The runtime must exist. Safe to repeat. */
export async function attachOnServer(client: Client, agent: Agent, runtime: string): Promise<void> {
  const found = await getRuntime(client, runtime)
  if (found.type !== 'kubernetes')
    throw fault('conflict', {
      message: `The runtime ${runtime} is of type ${found.type}; agents in clusters serve those of type kubernetes.`,
    })
  if (!agent.runtimes.includes(runtime)) await patchAgent(client, agent.name, { runtimes: [...agent.runtimes, runtime] })
}

/** Throws `conflict` when the agent does not serve it. */
export async function detachOnServer(client: Client, agent: Agent, runtime: string): Promise<void> {
  if (!agent.runtimes.includes(runtime))
    throw fault('conflict', { message: `The runtime ${runtime} is not attached to the agent ${agent.name}.` })
  await patchAgent(client, agent.name, { runtimes: agent.runtimes.filter((name) => name !== runtime) })
}

export interface AttachPlaces {
  readonly runtime: string
  /** Where builds run. */
  readonly there: InstallPlace
  /** Where the agent runs. */
  readonly here: InstallPlace
  readonly account: string
  /** Address of the API server, where the agent reaches it by another one. */
  readonly host?: string | undefined
  /** Lifetime of the token in seconds; one without an end when absent. */
  readonly tokenSeconds?: number | undefined
}

/** Writes the runtime's key for the agent to read. */
export async function attachInCluster(places: AttachPlaces): Promise<void> {
  const { runtime, there, here } = places
  const isSameCluster = there.cluster.access.server === here.cluster.access.server
  const file = { name: runtime, namespaces: [there.namespace] }
  if (isSameCluster && there.namespace === here.namespace) return writeRuntimeFile(here, file)
  const host = places.host ?? (isSameCluster ? await addressInside(there) : addressOutside(there))
  const remote = { host, token: await tokenOf(places, places.account), crt: there.cluster.access.ca }
  await writeRuntimeFile(here, { ...file, remote })
}

/** Sets one key of the Secret that the agent reads its runtimes from. */
export function writeRuntimeFile(here: Pick<InstallPlace, 'cluster' | 'namespace'>, file: RuntimeFile): Promise<void> {
  const secret = { namespace: here.namespace, name: RUNTIMES_SECRET }
  return setSecretKeys(here.cluster.kube, secret, { [runtimeFileOf(file.name)]: runtimeFileText(file) })
}

/**
 * An agent that was installed alone serves its own namespace and reads no files. From its first attached runtime on it does: then the runtimes
 * of its own namespace get files too, and its release says so. False when it reads files already, or was not installed by the chart.
 */
export async function letAgentReadFiles(client: Client, agent: Agent, here: InstallPlace): Promise<boolean> {
  const helm = here.helm()
  const values = await helm.values(here.release)
  if (values === undefined || readsFiles(values)) return false
  for (const name of agent.runtimes) {
    const runtime = await getRuntime(client, name)
    if (namespaceOf(runtime) === here.namespace) await writeRuntimeFile(here, { name, namespaces: [here.namespace] })
  }
  await helm.install(here.release, mergeTrees(values, { runner: { env: { [FOLDER_VARIABLE]: RUNTIMES_FOLDER } } }))
  return true
}

function readsFiles(values: Tree): boolean {
  const { runner } = values
  return isTree(runner) && isTree(runner['env']) && FOLDER_VARIABLE in runner['env']
}

async function tokenOf({ there, tokenSeconds }: AttachPlaces, account: string): Promise<string> {
  const { kube } = there.cluster
  if (tokenSeconds === undefined) return lastingToken(kube, there.namespace, account)
  return (await kube.issueToken({ kind: 'ServiceAccount', namespace: there.namespace, name: account }, tokenSeconds)).token
}

/** Takes the runtime's key away; the others stay. */
export async function detachInCluster(here: InstallPlace, runtime: string): Promise<void> {
  await setSecretKeys(
    here.cluster.kube,
    { namespace: here.namespace, name: RUNTIMES_SECRET },
    { [runtimeFileOf(runtime)]: undefined },
  )
}

const ServiceShape = z.looseObject({
  spec: z.looseObject({ clusterIP: z.string(), ports: z.array(z.looseObject({ port: z.int() })).min(1) }),
})

/** The API server as pods of its own cluster reach it, also where a kubeconfig names a tunnel or this machine. */
async function addressInside({ cluster }: InstallPlace): Promise<string> {
  const found = await cluster.kube.find({ kind: 'Service', namespace: 'default', name: 'kubernetes' })
  const service = ServiceShape.safeParse(found)
  if (!service.success) return cluster.access.server
  const { clusterIP, ports } = service.data.spec
  return `https://${isIP(clusterIP) === 6 ? `[${clusterIP}]` : clusterIP}:${ports[0]?.port ?? 443}`
}

/** Throws `usage` for an address that only this machine can reach. */
function addressOutside({ cluster }: InstallPlace): string {
  const { hostname } = new URL(cluster.access.server)
  if (hostname !== 'localhost' && !/^127\.|^\[?::1\]?$/.test(hostname)) return cluster.access.server
  throw fault('usage', {
    message: `The kubeconfig reaches the runtime's cluster at ${cluster.access.server}, which is this machine; the agent is elsewhere.`,
    hint: 'Give the address of its API server: --set-value KubernetesHost=https://HOST:PORT',
  })
}

/** Ends the agent's pods and waits until new ones are ready. Throws `install-failed` after 60 s. */
export async function restartAgent({ cluster, namespace }: InstallPlace): Promise<void> {
  const selection = { kind: 'Pod', namespace, labels: 'app=runner' } as const
  const before = await cluster.kube.list(selection)
  for (const { metadata } of before)
    await cluster.kube.delete({ kind: 'Pod', namespace, name: metadata.name }, { uid: metadata.uid })
  const old = new Set(before.map(({ metadata }) => metadata.uid))
  const end = systemClock.now() + RESTART_WAIT_MS
  for (;;) {
    const pods = await cluster.kube.list(selection)
    if (pods.some((pod) => !old.has(pod.metadata.uid) && isReady(pod))) return
    if (systemClock.now() > end)
      throw fault('install-failed', {
        message: 'The agent is not ready again within 60 s.',
        hint: `kubectl --namespace ${namespace} get pods --selector app=runner`,
      })
    await systemClock.sleep(500)
  }
}

const PodShape = z.looseObject({
  status: z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]) }),
})

function isReady(pod: unknown): boolean {
  const parsed = PodShape.safeParse(pod)
  return parsed.success && parsed.data.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
}

/** Says on the agent's pods that their files have changed: the kubelet then brings them at once and not within its own period of a minute or two. */
export async function noticeAgent({ cluster, namespace }: InstallPlace): Promise<void> {
  const annotations = { 'windlass.io/runtimes-changed': new Date(systemClock.now()).toISOString() }
  for (const { metadata } of await cluster.kube.list({ kind: 'Pod', namespace, labels: 'app=runner' }))
    await cluster.kube
      .patch({ kind: 'Pod', namespace, name: metadata.name }, { metadata: { annotations } })
      .catch((error: unknown) => {
        // It may be gone by now; without the notice the files come all the same.
        if (!isFault(error)) throw error
      })
}

/** What to say about when an attached runtime is served. */
export function tellReload(out: Printer, restarted: boolean): void {
  out.note(
    restarted
      ? 'The agent was started again.'
      : 'The agent reads its runtimes again by itself, within seconds and at most two minutes; it needs no restart.',
  )
}
