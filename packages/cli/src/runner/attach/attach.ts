/**
 * Attaches a runtime to an agent: on the server, and in the Secret from which the agent reads its runtimes. Each runtime has its own key, so
 * that concurrent attachments do not overwrite each other.
 */
import { isIP } from 'node:net'
import { systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import { isRecord } from '@windlass/kit/json'
import type { Agent } from '@windlass/protocol'
import { z } from 'zod'
import type { Printer } from '../../printer.ts'
import { lastingToken, readSecret, RUNTIMES_SECRET, setSecretKeys } from '../cluster/secrets.ts'
import { runtimeFileOf } from '../init/names.ts'
import type { InstallTarget } from '../install/target.ts'
import { mergeTrees, type Tree } from '../values/read-values.ts'
import { namespaceOf } from '../runtime-document.ts'
import { policyOfRelease } from './release-policy.ts'
import { grantTokenRenewal, revokeTokenRenewal, type Renewal } from './token-renewal.ts'
import { FOLDER_VARIABLE, RUNTIMES_FOLDER, runtimeFileText, type RuntimeFile } from './runtime-file.ts'

const RESTART_WAIT_MS = 180_000

/** Finds the agent by name or id, or the only one. Throws `usage`. */
export async function findAgent(
  client: ApiClient,
  flags: { agentName?: string | undefined; agentId?: string | undefined },
): Promise<Agent> {
  const name = flags.agentName ?? flags.agentId
  if (name !== undefined) return client.agents.get(name)
  const {
    items: [only, ...more],
  } = await client.agents.list()
  if (only !== undefined && more.length === 0) return only
  throw fault('usage', {
    message: only === undefined ? 'No agent exists.' : `No agent was given, and ${more.length + 1} exist.`,
    hint:
      only === undefined
        ? 'Install one with `windlass install agent`.'
        : 'Add --agent-name; list them with `windlass get agents`.',
  })
}

/** Adds the runtime to those of the agent. Idempotent. Throws `not-found` for an unknown runtime. */
export async function attachOnServer(client: ApiClient, agent: Agent, runtime: string): Promise<void> {
  const found = await client.runtimes.get(runtime)
  if (found.type !== 'kubernetes')
    throw fault('conflict', {
      message: `The runtime ${runtime} has type ${found.type}.`,
      hint: 'Agents in clusters serve only runtimes of type kubernetes. Select another runtime.',
    })
  if (!agent.runtimes.includes(runtime)) await client.agents.patch(agent.name, { addRuntimes: [runtime] })
}

/**
 * Removes the runtime from those of the agent. Throws `conflict` if the agent does not serve it, unless an interrupted detachment left something of
 * it (`isLeft`).
 */
export async function detachOnServer(client: ApiClient, agent: Agent, runtime: string, isLeft = false): Promise<void> {
  const isAttached = agent.runtimes.includes(runtime)
  if (!isAttached && isLeft) return
  if (!isAttached)
    throw fault('conflict', {
      message: `The runtime ${runtime} is not attached to the agent ${agent.name}.`,
      hint: 'Run `windlass get agents` to see the runtimes of each agent.',
    })
  await client.agents.patch(agent.name, { removeRuntimes: [runtime] })
}

export interface AttachTargets {
  readonly runtime: string
  /** Target where builds run. */
  readonly runtimeTarget: InstallTarget
  /** Target where the agent runs. */
  readonly agentTarget: InstallTarget
  readonly account: string
  /** URL of the API server for the agent, if it differs. */
  readonly host?: string | undefined
  /** Lifetime of the token in seconds; it does not expire if undefined. */
  readonly tokenSeconds?: number | undefined
}

/** Writes the runtime's key in the agent's Secret. */
export async function attachInCluster(targets: AttachTargets): Promise<void> {
  const { runtime, runtimeTarget, agentTarget } = targets
  const isSameCluster = runtimeTarget.cluster.access.server === agentTarget.cluster.access.server
  const file = { name: runtime, namespaces: [runtimeTarget.namespace] }
  if (isSameCluster && runtimeTarget.namespace === agentTarget.namespace) return writeRuntimeFile(agentTarget, file)
  const host = targets.host ?? (isSameCluster ? await addressInside(runtimeTarget) : addressOutside(runtimeTarget))
  const remote = { host, token: await tokenOf(targets), crt: runtimeTarget.cluster.access.ca }
  await writeRuntimeFile(agentTarget, { ...file, policy: await policyOfRelease(runtimeTarget), remote })
  // Not before the agent has the token that needs no renewal. A user without the right to delete roles leaves it.
  if (targets.tokenSeconds === undefined)
    await revokeTokenRenewal(runtimeTarget.cluster.kube, renewalOf(targets)).catch((error: unknown) => {
      if (!isFault(error, 'cluster-refused')) throw error
    })
}

/** Sets a key of the Secret from which the agent reads its runtimes. */
export function writeRuntimeFile(agentTarget: Pick<InstallTarget, 'cluster' | 'namespace'>, file: RuntimeFile): Promise<void> {
  const secret = { namespace: agentTarget.namespace, name: RUNTIMES_SECRET }
  return setSecretKeys(agentTarget.cluster.kube, secret, { [runtimeFileOf(file.name)]: runtimeFileText(file) })
}

/**
 * Makes the agent read runtime files. An agent installed alone serves only its own namespace; with its first attached runtime the runtimes of
 * its own namespace need files too. Resolves to false if it already reads files, or was not installed by the chart.
 */
export async function enableRuntimeFiles(client: ApiClient, agent: Agent, agentTarget: InstallTarget): Promise<boolean> {
  const helm = agentTarget.helm()
  const values = await helm.values(agentTarget.release)
  if (values === undefined || readsFiles(values)) return false
  for (const name of agent.runtimes) {
    const runtime = await client.runtimes.get(name)
    if (namespaceOf(runtime) === agentTarget.namespace)
      await writeRuntimeFile(agentTarget, { name, namespaces: [agentTarget.namespace] })
  }
  await helm.install(agentTarget.release, mergeTrees(values, { runner: { env: { [FOLDER_VARIABLE]: RUNTIMES_FOLDER } } }))
  return true
}

function readsFiles(values: Tree): boolean {
  const { runner } = values
  return isRecord(runner) && isRecord(runner['env']) && FOLDER_VARIABLE in runner['env']
}

/** Returns a token of the account. The agent renews one that expires. */
async function tokenOf(targets: AttachTargets): Promise<string> {
  const { runtimeTarget, account: name, tokenSeconds } = targets
  const { cluster, namespace } = runtimeTarget
  if (tokenSeconds === undefined) return lastingToken(cluster.kube, namespace, name)
  await grantTokenRenewal(cluster.kube, renewalOf(targets))
  return (await cluster.kube.issueToken({ kind: 'ServiceAccount', namespace, name }, tokenSeconds)).token
}

function renewalOf({ runtime, runtimeTarget, account }: AttachTargets): Renewal {
  return { runtime, namespace: runtimeTarget.namespace, name: account }
}

/** Returns true if the runtime has a key in the agent's Secret. */
export async function isAttachedInCluster({ cluster, namespace }: InstallTarget, runtime: string): Promise<boolean> {
  return (await readSecret(cluster.kube, namespace, RUNTIMES_SECRET))?.[runtimeFileOf(runtime)] !== undefined
}

/** Removes the runtime's key. */
export async function detachInCluster(agentTarget: InstallTarget, runtime: string): Promise<void> {
  await setSecretKeys(
    agentTarget.cluster.kube,
    { namespace: agentTarget.namespace, name: RUNTIMES_SECRET },
    { [runtimeFileOf(runtime)]: undefined },
  )
}

const ServiceShape = z.looseObject({
  spec: z.looseObject({ clusterIP: z.string(), ports: z.array(z.looseObject({ port: z.int() })).min(1) }),
})

/** Returns the URL of the API server for pods of its own cluster, which also works if the kubeconfig uses a tunnel or localhost. */
async function addressInside({ cluster }: InstallTarget): Promise<string> {
  const found = await cluster.kube.find({ kind: 'Service', namespace: 'default', name: 'kubernetes' })
  const service = ServiceShape.safeParse(found)
  if (!service.success) return cluster.access.server
  const { clusterIP, ports } = service.data.spec
  return `https://${isIP(clusterIP) === 6 ? `[${clusterIP}]` : clusterIP}:${ports[0]?.port ?? 443}`
}

/** Returns the URL of the API server in the kubeconfig. Throws `usage` for one that only this machine can reach. */
function addressOutside({ cluster }: InstallTarget): string {
  const { hostname } = new URL(cluster.access.server)
  if (hostname !== 'localhost' && !/^127\.|^\[?::1\]?$/.test(hostname)) return cluster.access.server
  throw fault('usage', {
    message: `The kubeconfig has ${cluster.access.server} for the runtime's cluster, which the agent cannot reach.`,
    hint: 'Set the URL of its API server with `--set-value KubernetesHost=https://HOST:PORT`.',
  })
}

/** Deletes the agent's pods and waits until new ones are ready. Throws `install-failed` after 180 s. */
export async function restartAgent({ cluster, namespace }: InstallTarget): Promise<void> {
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
        message: `The agent was not ready again within ${RESTART_WAIT_MS / 1000} s.`,
        hint: `Check its pods: \`kubectl --namespace ${namespace} get pods --selector app=runner\`.`,
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

/** Annotates the agent's pods, which makes the kubelet update their mounted files immediately instead of after a minute or two. */
export async function refreshAgentFiles({ cluster, namespace }: InstallTarget): Promise<void> {
  const annotations = { 'windlass.io/runtimes-changed': new Date(systemClock.now()).toISOString() }
  for (const { metadata } of await cluster.kube.list({ kind: 'Pod', namespace, labels: 'app=runner' }))
    await cluster.kube
      .patch({ kind: 'Pod', namespace, name: metadata.name }, { metadata: { annotations } })
      .catch((error: unknown) => {
        // The pod may be gone. The kubelet updates the files later anyway.
        if (!isFault(error)) throw error
      })
}

/** Prints when the agent serves an attached runtime. */
export function printReload(out: Printer, restarted: boolean): void {
  out.note(restarted ? 'The agent was restarted.' : 'The agent reloads its runtimes within two minutes; it needs no restart.')
}
