/** What builds may use in a cluster. It comes from the settings of the agent; the server cannot change it. */
import type { Placement } from './placement.ts'

export interface AgentPolicy {
  /** Namespaces that builds may use. */
  readonly namespaces: readonly string[]
  /** Service accounts that pods of builds may run as. */
  readonly serviceAccounts: readonly string[]
  /** Images of the Docker daemon: a reference, a repository, or a folder of repositories that ends with `/`. */
  readonly privilegedImages: readonly string[]
  /** Allowed placements of pods; each entry is allowed as a whole. */
  readonly placements: readonly Placement[]
  /** Storage classes of disks. In this list and those below, an entry that ends with `*` matches every name with this prefix. */
  readonly storageClasses: readonly string[]
  /** Existing objects that builds may use in addition to their own. An entry `namespace/name` applies to one namespace only. */
  readonly secrets: readonly string[]
  readonly pullSecrets: readonly string[]
  readonly claims: readonly string[]
  /** Folders and files of nodes, including all paths below them. */
  readonly hostPaths: readonly string[]
  /** Volume types in addition to Secret, ConfigMap, claim, emptyDir and downwardAPI, such as `nfs`, `csi` or `projected`. */
  readonly volumeTypes: readonly string[]
  /** Additional keys of labels and annotations. */
  readonly labels: readonly string[]
  readonly annotations: readonly string[]
  /** Resources in addition to `cpu`, `memory` and `ephemeral-storage`. */
  readonly resources: readonly string[]
  /** Environment variables of the Docker daemon in addition to the documented ones. */
  readonly daemonVariables: readonly string[]
  /** Checks only namespaces, kinds, Secrets and service accounts of pods and claims. */
  readonly isPermissive: boolean
}

/** Inputs of a check apart from the object. */
export interface Scope {
  readonly policy: AgentPolicy
  readonly attempt: CheckedAttempt
}

/** The attempt that objects must belong to. */
export interface CheckedAttempt {
  readonly buildId: string
  readonly attempt: number
  readonly runtime: string
  /** Namespace of the object that is checked. */
  readonly namespace: string
  readonly protocol: 'v1' | 'v2'
}

/** Returns the hint that names the setting of the agent that allows something. */
export function allowedBy(setting: string): string {
  return `To allow it, add it to WINDLASS_AGENT_${setting} of the agent.`
}

/** Whether a list contains a name; `x*` matches every name that begins with `x`. */
export function names(list: readonly string[], name: string): boolean {
  return list.some((entry) => entry === name || (entry.endsWith('*') && name.startsWith(entry.slice(0, -1))))
}

/** Whether a list allows builds to use an object of a namespace. */
export function isAllowed(list: readonly string[], namespace: string, name: string): boolean {
  return names(list, name) || list.includes(`${namespace}/${name}`)
}
