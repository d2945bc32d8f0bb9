/** The editable file format of a runtime environment, as in the Codefresh CLI. Pure. */
import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import { isRecord } from '@windlass/kit/json'
import type { Runtime } from '@windlass/protocol'
import { z } from 'zod'
import type { Tree } from './values/read-values.ts'

/** Returns the document that `get re NAME -o yaml` prints and `patch re` reads. */
export function toDocument(runtime: Runtime): Tree {
  return {
    version: runtime.version,
    metadata: {
      name: runtime.name,
      agent: runtime.type === 'kubernetes',
      changedBy: runtime.changedBy,
      creationTime: new Date(runtime.createdAt).toISOString(),
    },
    isDefault: runtime.isDefault,
    ...runtime.spec,
  }
}

export interface RuntimeChange {
  readonly name: string
  /** The complete layer of the runtime itself. */
  readonly spec: Tree
}

/** Reads a file in the Codefresh format, or a document of `apply` (`kind: runtime`). Throws `document-invalid` without a name. */
export function fromDocument(document: unknown, { file, name }: { file: string; name: string | undefined }): RuntimeChange {
  if (!isRecord(document))
    throw fault('document-invalid', {
      message: `${file} must be a mapping.`,
      hint: 'Write the file as `windlass get re NAME -o yaml` prints it.',
    })
  const metadata = isRecord(document['metadata']) ? document['metadata'] : {}
  const own = metadata['name'] ?? name
  if (typeof own !== 'string' || own === '')
    throw fault('document-invalid', {
      message: `${file} does not name a runtime environment.`,
      hint: 'Set metadata.name, or name it on the command line.',
    })
  const { kind, spec } = document
  if (kind === undefined) return { name: own, spec: without(document, ['metadata']) }
  if (kind !== 'runtime' || !isRecord(spec))
    throw fault('document-invalid', {
      message: `${file} is not a runtime environment.`,
      hint: 'Set kind to runtime, and add a spec.',
    })
  return { name: own, spec: without(spec, ['type', 'agent', 'isDefault']) }
}

function without(tree: Tree, keys: readonly string[]): Tree {
  return Object.fromEntries(Object.entries(tree).filter(([key]) => !keys.includes(key)))
}

/** Returns the namespace of a runtime's builds in its specification. */
export function namespaceOf({ spec }: Pick<Runtime, 'spec'>): string | undefined {
  const shape = z.looseObject({ runtimeScheduler: z.looseObject({ cluster: z.looseObject({ namespace: z.string() }) }) })
  return shape.safeParse(spec).data?.runtimeScheduler.cluster.namespace
}

export interface Leaf {
  readonly path: string
  readonly from?: unknown
  readonly to?: unknown
}

/** Returns the leaves in which two trees differ, by path. */
export function diffTrees(from: unknown, to: unknown, path = ''): Leaf[] {
  if (isRecord(from) && isRecord(to)) {
    const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])].toSorted()
    return keys.flatMap((key) => diffTrees(from[key], to[key], path === '' ? key : `${path}.${key}`))
  }
  return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ path, ...defined({ from, to }) }]
}
