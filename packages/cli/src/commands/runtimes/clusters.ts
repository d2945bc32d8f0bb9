/** Commands for clusters that are registered for deployments. */
import { defined } from '@windlass/kit/defined'
import type { Invocation } from '../../command.ts'
import { formatAge } from '../../format/time.ts'
import { printTable, type Listing } from '../../format/table.ts'
import { lastingToken } from '../../runner/cluster/secrets.ts'
import { openInstallTarget } from '../../runner/install/target.ts'
import { readInstallValues } from '../../runner/values/install-values.ts'
import { openSession } from '../../session/session.ts'

interface ClusterOptions {
  readonly kubeContext: string | undefined
  readonly kubeConfigPath: string | undefined
  readonly namespace: string | undefined
  readonly serviceaccount: string | undefined
  readonly behindFirewall: boolean | undefined
  readonly name: string | undefined
  readonly setValue: readonly string[]
  readonly inCluster: boolean | undefined
}

/** Runs `create cluster`: sends the API server's URL, its CA and a token of the service account to the server. */
export async function createClusterRecord({ options, out, settings }: Invocation<ClusterOptions>): Promise<void> {
  const { client } = openSession(settings)
  const namespace = options.namespace ?? 'default'
  const targetFlags = {
    kubeContextName: options.kubeContext,
    kubeNamespace: namespace,
    kubeConfigPath: options.kubeConfigPath,
    inCluster: options.inCluster,
  }
  await using target = await openInstallTarget(targetFlags, {}, settings)
  const { kube, access, context } = target.cluster
  const token = await lastingToken(kube, namespace, options.serviceaccount ?? 'default')
  const made = await client.clusters.create({
    name: options.name ?? context,
    provider: 'local',
    behindFirewall: options.behindFirewall ?? false,
    server: readInstallValues({ setValue: options.setValue }).installer.KubernetesHost ?? access.server,
    token,
    namespace,
    ...defined({ ca: access.ca }),
  })
  out.line(`cluster/${made.name} created`)
}

/** Runs `get clusters`. */
export async function getClusters({ options, out, settings }: Invocation<Listing>): Promise<void> {
  const { client } = openSession(settings)
  await printTable(out, options, {
    kind: 'cluster',
    list: async () => (await client.clusters.list()).items,
    nameOf: ({ name }) => name,
    columns: {
      NAME: ({ name }) => name,
      PROVIDER: ({ provider }) => provider,
      'BEHIND FIREWALL': ({ behindFirewall }) => (behindFirewall ? 'yes' : ''),
      AGE: ({ createdAt }, { now }) => formatAge(createdAt, now),
    },
    wide: { ID: ({ id }) => id },
  })
}

/** Runs `delete cluster NAME`. */
export async function deleteClusterRecord({ args, out, settings }: Invocation<object>): Promise<void> {
  const [name = ''] = args
  await openSession(settings).client.clusters.delete(name)
  out.line(`cluster/${name} deleted`)
}
