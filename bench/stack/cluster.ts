/** Windlass on the one-node cluster, with a client of its API. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { ApiClient } from '@windlass/client'
import { eventually, startInstallation, type Installation } from '../../e2e/support/installation.ts'
import { MissingPartError } from '../row.ts'

export interface ClusterStack extends AsyncDisposable {
  /** Image references by variable. */
  readonly images: Readonly<Record<string, string>>
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string
  readonly namespace: string
  /** Name of the runtime whose builds run in the namespace. */
  readonly runtime: string
  readonly client: ApiClient
  kubectl(...args: string[]): Promise<string>
  /** Resolves when no pod of a build is left in the namespace. */
  empty(): Promise<void>
}

/** The same with the agent as a process on this machine that binds disks itself. */
export interface ProcessStack extends ClusterStack {
  readonly installation: Installation
}

/** Throws `MissingPartError` unless the cluster is already up. Building and starting it takes minutes, so the bench does not do it. */
export async function requireCluster(): Promise<void> {
  await promisify(execFile)('scripts/cluster', ['status']).catch(() => {
    throw new MissingPartError('no cluster is up (scripts/cluster up)')
  })
}

/** Number of stacks that this process opened. The namespace of one is still being deleted when the next one is opened. */
let opened = 0

/** Starts server and agent as processes. Throws as `requireCluster` does. */
export async function openProcessStack(): Promise<ProcessStack> {
  await requireCluster()
  opened += 1
  const namespace = `bench-${process.pid}-${opened}`
  const installation = await startInstallation(namespace)
  const { images, cluster, client } = installation
  const stack = toStack({
    images,
    kubeconfig: cluster.kubeconfig,
    namespace,
    runtime: namespace,
    client,
    kubectl: installation.kubectl,
    close: installation.close,
  })
  return { ...stack, installation }
}

/** Completes a stack from its parts. */
export function toStack({
  close,
  ...parts
}: Omit<ClusterStack, 'empty' | typeof Symbol.asyncDispose> & { readonly close: () => Promise<void> }): ClusterStack {
  return {
    ...parts,
    async empty() {
      await eventually('pods are gone', async () => {
        const pods = await parts.kubectl('get', 'pods', '--selector', 'windlass.io/build', '--output', 'name')
        return pods.trim() === '' ? true : undefined
      })
    },
    [Symbol.asyncDispose]: close,
  }
}
