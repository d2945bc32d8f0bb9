/** Clusters of deployments. */
import { createCluster, deleteCluster, listClusters } from '../api-runner.ts'
import type { Invocation } from '../command.ts'
import { formatAge } from '../format/time.ts'
import { printTable, type Listing } from '../format/table.ts'
import { lastingToken } from '../runner/cluster/secrets.ts'
import { openInstallPlace } from '../runner/install/place.ts'
import { readWishes } from '../runner/values/wishes.ts'
import { openSession } from '../session.ts'

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

/** `create cluster`: hands address, authority and a token of the account to the server. */
export async function createClusterRecord({ options, out, settings }: Invocation<ClusterOptions>): Promise<void> {
  const { client } = openSession(settings)
  const namespace = options.namespace ?? 'default'
  const place = {
    kubeContextName: options.kubeContext,
    kubeNamespace: namespace,
    kubeConfigPath: options.kubeConfigPath,
    inCluster: options.inCluster,
  }
  await using there = await openInstallPlace(place, {}, settings)
  const { kube, access, context } = there.cluster
  const token = await lastingToken(kube, namespace, options.serviceaccount ?? 'default')
  const made = await createCluster(client, {
    name: options.name ?? context,
    provider: 'local',
    behindFirewall: options.behindFirewall ?? false,
    server: readWishes({ setValue: options.setValue }).installer.KubernetesHost ?? access.server,
    token,
    namespace,
    ...(access.ca !== undefined && { ca: access.ca }),
  })
  out.line(`cluster/${made.name} created`)
}

/** `get clusters`. */
export async function getClusters({ options, out, settings }: Invocation<Listing>): Promise<void> {
  const { client } = openSession(settings)
  await printTable(out, options, {
    kind: 'cluster',
    list: () => listClusters(client),
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

/** `delete cluster NAME`. */
export async function deleteClusterRecord({ args, out, settings }: Invocation<object>): Promise<void> {
  const [name = ''] = args
  await deleteCluster(openSession(settings).client, name)
  out.line(`cluster/${name} deleted`)
}
