import { readFile } from 'node:fs/promises'
import { parseAllDocuments } from 'yaml'
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
  const documents = await readRoles(file)
  const roles = documents.map((document) => ({
    ...document,
    metadata: document.kind === 'ClusterRole' ? { name: clusterRole } : { name: document.metadata.name, namespace },
  }))
  await cluster.apply(...roles)
}

/** Returns the roles of a file. */
export async function readRoles(file: string): Promise<z.infer<typeof Role>[]> {
  const documents = parseAllDocuments(await readFile(file, 'utf8'))
  return documents.map((document): unknown => document.toJS()).flatMap((value) => (value === null ? [] : [Role.parse(value)]))
}
