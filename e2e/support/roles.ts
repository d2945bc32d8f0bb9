import { z } from 'zod'
import type { Cluster } from './cluster.ts'

const Role = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) })

export interface RolePlaces {
  /** Namespace of the Roles. */
  readonly namespace: string
  /** Name of the ClusterRole. It belongs to the test, which deletes it at its end. */
  readonly clusterRole: string
}

/** Applies the roles of a file. */
export async function applyRoles(cluster: Cluster, file: string, { namespace, clusterRole }: RolePlaces): Promise<void> {
  const shown = await cluster.kubectl('create', '--dry-run=client', '--filename', file, '--output', 'json')
  // The documents are applied one after the other.
  const documents = shown.split(/\n(?=\{)/).map((text) => Role.parse(JSON.parse(text)))
  const roles = documents.map((document) => ({
    ...document,
    metadata: document.kind === 'ClusterRole' ? { name: clusterRole } : { name: document.metadata.name, namespace },
  }))
  await cluster.apply(...roles)
}
