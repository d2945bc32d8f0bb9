/** The Secrets with which Argo CD reaches managed clusters. Credentials of clusters are only here, in the namespace of the runtime. */
import {
  CLUSTER_LABEL,
  clusterSecret,
  clusterSecretName,
  readClusterSecret,
  SECRET_TYPE_LABEL,
  type ClusterLogin,
} from '@windlass/gitops'
import { fault } from '@windlass/kit'
import type { Kube, ObjectRef } from '@windlass/kube'
import type { ManagedClusterInput } from '@windlass/protocol'
import { putObject } from '../store/integrations.ts'

export interface ClusterSecrets {
  /** Returns the URLs of the API servers by the names of the clusters. */
  servers(): Promise<ReadonlyMap<string, string>>
  /** Creates or replaces the Secret of a cluster. Returns true if it is new. Throws `conflict` for a Secret of its name that is another's. */
  put(cluster: Pick<ManagedClusterInput, 'name' | 'labels' | 'annotations'>, login: ClusterLogin): Promise<boolean>
  /** Deletes the Secret of a cluster, unless it is another's. Returns false if there is none. */
  remove(name: string): Promise<boolean>
}

export function openClusterSecrets(kube: Kube, namespace: string): ClusterSecrets {
  const refTo = (name: string): ObjectRef => ({ kind: 'Secret', namespace, name: clusterSecretName(name) })

  /** Returns whether the Secret is there. Throws `conflict` if it was not made here. */
  async function isThere(name: string): Promise<boolean> {
    const found = await kube.find(refTo(name))
    if (found === undefined) return false
    if (found.metadata.labels?.[CLUSTER_LABEL] === name) return true
    throw fault('conflict', {
      message: `The Secret "${clusterSecretName(name)}" in the namespace of the runtime belongs to something else.`,
      hint: 'Use another name for the cluster, or remove the Secret.',
    })
  }

  return {
    async servers() {
      const found = await kube.list({ kind: 'Secret', namespace, labels: `${SECRET_TYPE_LABEL}=cluster` })
      return new Map(
        found.flatMap((secret) => {
          const cluster = readClusterSecret(secret)
          return cluster === undefined ? [] : [[cluster.name, cluster.server] as const]
        }),
      )
    },
    async put({ name, labels, annotations }, login) {
      const isNew = !(await isThere(name))
      const secret = clusterSecret({ name, namespace, login, labels, annotations })
      await putObject(kube, secret, { data: secret.data })
      return isNew
    },
    async remove(name) {
      return (await isThere(name)) && kube.delete(refTo(name))
    },
  }
}
