/**
 * Which logs of a workflow are archived, and at which keys. Argo Workflows writes the key into the node, as its artifact `CONTAINER-logs`. Pods of a workflow can write artifacts of their
 * nodes, so a key is not trusted: it has to begin with the prefix of the runtime and to end with the file of the container.
 */
import { fault } from '@windlass/kit'
import { WorkflowName } from '@windlass/protocol'
import type { Node, Workflow } from './manifest.ts'

/** What S3 allows. Bytes. */
const MAX_KEY_BYTES = 1_024
const ARTIFACT = /^(.+)-logs$/

export interface ArchivedPod {
  readonly name: string
  /** Id of the node. */
  readonly node: string
  /** Keys of the logs by the name of the container. They are not checked. */
  readonly keys: ReadonlyMap<string, string>
  readonly startedAt: number | undefined
  readonly finishedAt: number | undefined
}

/** Returns the pods with archived logs. */
export function archivedPods({ metadata, nodes }: Pick<Workflow, 'metadata' | 'nodes'>): ArchivedPod[] {
  return [...(nodes?.values() ?? [])].flatMap((node) => {
    const keys = keysOf(node)
    const [first] = keys.values()
    if (first === undefined) return []
    const { id, startedAt, finishedAt } = node
    return [{ name: podOf(first, metadata.name) ?? id, node: id, keys, startedAt, finishedAt }]
  })
}

function keysOf({ outputs }: Node): ReadonlyMap<string, string> {
  return new Map(
    (outputs?.artifacts ?? []).flatMap(({ name, s3 }) => {
      const container = ARTIFACT.exec(name ?? '')?.[1]
      return container === undefined || s3?.key === undefined ? [] : [[container, s3.key] as const]
    }),
  )
}

/** Returns the folder of a log, which is the name of the pod unless the operator has chosen other keys. Its node has no name of a pod. */
function podOf(key: string, workflow: string): string | undefined {
  const folder = key.split('/').at(-2)
  return WorkflowName.safeParse(folder).success && isPodOf(folder ?? '', workflow) ? folder : undefined
}

/** True if a pod of the workflow can have this name. */
export function isPodOf(name: string, workflow: string): boolean {
  return name === workflow || name.startsWith(`${workflow}-`)
}

export interface LogPlace {
  readonly workflow: string
  readonly pod: string
  readonly container: string
}

/** Returns the key of a log in the format that the chart sets: `<runtime>/<workflow>/<pod>`, and the file of the container. */
export function usualKey(prefix: string, { workflow, pod, container }: LogPlace): string {
  return `${prefix}/${workflow}/${pod}/${container}.log`
}

/** Returns a key that may be read. Throws `conflict`. */
export function requireLogKey(key: string, prefix: string, { pod, container }: Pick<LogPlace, 'pod' | 'container'>): string {
  const isPath = key.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..')
  // A backslash separates folders for some stores that keep their objects as files.
  const isPlain = !/[\p{Cc}\\]/u.test(key) && key.isWellFormed() && Buffer.byteLength(key) <= MAX_KEY_BYTES
  if (isPath && isPlain && key.startsWith(`${prefix}/`) && key.endsWith(`/${container}.log`)) return key
  throw fault('conflict', {
    message: `The log of the pod "${pod}" is archived at ${JSON.stringify(key.slice(0, 200))}, which the runtime does not read.`,
    hint: `Keys begin with ${prefix}/ and end with /${container}.log: compare keyFormat of the artifact repository with the prefix of the runtime.`,
  })
}
