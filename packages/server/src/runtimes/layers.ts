/** Merging of a runtime's layer with all layers that it extends into the spec that builds run with. */
import { fault } from '@windlass/kit'
import {
  BASE_LAYERS,
  completeSpec,
  DEFAULT_PARENT,
  layersOf,
  mergeAll,
  type NamedLayer,
  type RuntimeLayer,
  type RuntimeSpec,
} from '@windlass/protocol'
import { z } from 'zod'
import { listBaseLayers, listRuntimes, updateRuntime } from '../store/runtimes/runtimes.ts'
import type { RuntimeRow } from '../store/schema/schema.ts'
import type { Query, Tx } from '../store/store.ts'

const Layer = z.record(z.string(), z.unknown())

/** All layers that a runtime of the account can extend, by name. */
export type Layers = ReadonlyMap<string, RuntimeLayer>

export function readLayer(row: { readonly layer: string }): RuntimeLayer {
  return Layer.parse(JSON.parse(row.layer))
}

/** Reads the built-in layers, their overrides, and the runtimes of the account. */
export async function readLayers(query: Query, accountId: string): Promise<Layers> {
  const layers = new Map(Object.entries(BASE_LAYERS))
  for (const row of await listBaseLayers(query, accountId)) layers.set(row.name, readLayer(row))
  for (const row of await listRuntimes(query, accountId)) layers.set(row.name, withParent(row.type, readLayer(row)))
  return layers
}

/** Adds the default parent of the runtime type to a layer that names no parent. */
export function withParent(type: RuntimeRow['type'], layer: RuntimeLayer): RuntimeLayer {
  const parents = type === 'kubernetes' ? [DEFAULT_PARENT] : ['system/default']
  return layer['extends'] === undefined || layer['extends'] === null ? { ...layer, extends: parents } : layer
}

/** Merges a layer with all that it extends. Throws `request-invalid` for missing parents, cycles, and an inconsistent result. */
export function mergeRuntime(own: NamedLayer, layers: Layers): RuntimeLayer {
  const merged = mergeAll(chainOf(own, layers).map(({ layer }) => layer))
  requireConsistent(merged)
  return merged
}

/** Returns a layer and all that it extends, lowest first. Throws `request-invalid` for missing parents and cycles. */
export function chainOf(own: NamedLayer, layers: Layers): NamedLayer[] {
  const found = layersOf(own, (name) => layers.get(name))
  if ('problem' in found) {
    const chain = found.chain.join(' > ')
    const message =
      found.problem === 'cycle'
        ? `spec.extends: the runtimes extend each other in a cycle: ${chain}.`
        : `spec.extends: runtime "${found.chain.at(-1)}" does not exist (${chain}).`
    throw fault('request-invalid', { message, hint: 'Correct `spec.extends`.' })
  }
  const { names } = found
  return found.layers.map((layer, index) => ({ name: names[index] ?? own.name, layer }))
}

/** Checks what cannot be checked in a single layer. Throws `request-invalid` with all problems. */
function requireConsistent(merged: RuntimeLayer): void {
  const problems = problemsOf(merged)
  const [first] = problems
  if (first !== undefined) throw fault('request-invalid', { message: `${first.path}: ${first.message}`, problems: [...problems] })
}

interface SpecProblem {
  readonly path: string
  readonly message: string
}

function problemsOf(merged: RuntimeLayer): readonly SpecProblem[] {
  let spec: RuntimeSpec
  try {
    spec = completeSpec(merged)
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error
    return error.issues.map(({ path, message }) => ({ path: `spec.${path.join('.')}`, message }))
  }
  const { runtimeScheduler: engine, dockerDaemonScheduler: dind, warmPool } = spec
  const problems: SpecProblem[] = []
  const { namespace } = dind.cluster
  if (namespace !== undefined && namespace !== engine.cluster.namespace)
    problems.push({
      path: 'spec.dockerDaemonScheduler.cluster.namespace',
      message: `must be ${engine.cluster.namespace}, the namespace of the engine`,
    })
  problems.push(
    ...mountProblems('spec.runtimeScheduler', { ...engine, own: ['credential', 'docker-certificates', 'spool', 'tmp'] }),
  )
  problems.push(
    ...mountProblems('spec.dockerDaemonScheduler', { ...dind, own: ['dind', 'certificates', 'codefresh-certs-server'] }),
  )
  problems.push(
    ...mountProblems(
      'spec.dockerDaemonScheduler',
      { volumes: dind.userVolumes, volumeMounts: dind.userVolumeMounts, own: [] },
      'userVolume',
    ),
  )
  if (warmPool !== undefined && warmPool.max < warmPool.min)
    problems.push({ path: 'spec.warmPool', message: 'max is smaller than min' })
  return problems
}

type Mounted = Pick<RuntimeSpec['runtimeScheduler'], 'volumes' | 'volumeMounts'> & { readonly own: readonly string[] }

/** Checks that each mount has a volume. Otherwise Kubernetes would reject the pod minutes later. */
function mountProblems(path: string, { volumes, volumeMounts, own }: Mounted, field = 'volume'): SpecProblem[] {
  const names = [...own, ...Object.entries(volumes).map(([key, { name }]) => name ?? key)]
  return Object.entries(volumeMounts).flatMap(([key, { name = key }]) =>
    names.includes(name)
      ? []
      : [{ path: `${path}.${field}Mounts.${key}`, message: `volume "${name}" does not exist in ${field}s` }],
  )
}

/** Recomputes the merged spec of every runtime of the account, after a change of a layer or a start with other base layers. */
export async function refreshRuntimes(tx: Tx, accountId: string): Promise<void> {
  const layers = await readLayers(tx.query, accountId)
  for (const row of await listRuntimes(tx.query, accountId)) {
    const spec = JSON.stringify(mergeRuntime({ name: row.name, layer: layers.get(row.name) ?? {} }, layers))
    if (spec !== row.spec) await updateRuntime(tx, row.id, { spec })
  }
}
