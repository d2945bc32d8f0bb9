/** From what was written of a runtime to what builds run with: its layer over all that it extends. */
import { fault } from '@windlass/kit'
import {
  BASE_LAYERS,
  completeSpec,
  DEFAULT_PARENT,
  layersOf,
  mergeAll,
  type RuntimeLayer,
  type RuntimeSpec,
} from '@windlass/protocol'
import { z } from 'zod'
import { listBaseLayers, listRuntimes, updateRuntime } from '../store/runtimes.ts'
import type { RuntimeRow } from '../store/schema.ts'
import type { Query, Tx } from '../store/store.ts'

const Layer = z.record(z.string(), z.unknown())

/** Every layer that a runtime of the account can extend, by name. */
export type Layers = ReadonlyMap<string, RuntimeLayer>

export function readLayer(row: { readonly layer: string }): RuntimeLayer {
  return Layer.parse(JSON.parse(row.layer))
}

/** The layers of the server, those that stand in their place, and the runtimes of the account. */
export async function readLayers(query: Query, accountId: string): Promise<Layers> {
  const layers = new Map(Object.entries(BASE_LAYERS))
  for (const row of await listBaseLayers(query, accountId)) layers.set(row.name, readLayer(row))
  for (const row of await listRuntimes(query, accountId)) layers.set(row.name, withParent(row.type, readLayer(row)))
  return layers
}

/** A layer that names no parent has the one of its kind. */
export function withParent(type: RuntimeRow['type'], layer: RuntimeLayer): RuntimeLayer {
  const parents = type === 'kubernetes' ? [DEFAULT_PARENT] : ['system/default']
  return layer['extends'] === undefined || layer['extends'] === null ? { ...layer, extends: parents } : layer
}

/** The layer over all that it extends. Throws `request-invalid` for parents that do not exist or that extend it, and for what does not fit together. */
export function mergeRuntime(own: { readonly name: string; readonly layer: RuntimeLayer }, layers: Layers): RuntimeLayer {
  const found = layersOf(own, (name) => layers.get(name))
  if ('problem' in found) {
    const chain = found.chain.join(' > ')
    const message =
      found.problem === 'cycle'
        ? `spec.extends: the runtimes extend each other in a circle: ${chain}.`
        : `spec.extends: there is no runtime ${found.chain.at(-1)} to extend (${chain}).`
    throw fault('request-invalid', { message })
  }
  const merged = mergeAll(found.layers)
  requireFit(merged)
  return merged
}

/** What each layer alone cannot show. Throws `request-invalid` with all that is wrong. */
function requireFit(merged: RuntimeLayer): void {
  const problems = problemsOf(merged)
  const [first] = problems
  if (first !== undefined) throw fault('request-invalid', { message: `${first.path}: ${first.message}`, problems: [...problems] })
}

interface Misfit {
  readonly path: string
  readonly message: string
}

function problemsOf(merged: RuntimeLayer): readonly Misfit[] {
  let spec: RuntimeSpec
  try {
    spec = completeSpec(merged)
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error
    return error.issues.map(({ path, message }) => ({ path: `spec.${path.join('.')}`, message }))
  }
  const { runtimeScheduler: engine, dockerDaemonScheduler: dind, warmPool } = spec
  const problems: Misfit[] = []
  const { namespace } = dind.cluster
  if (namespace !== undefined && namespace !== engine.cluster.namespace)
    problems.push({
      path: 'spec.dockerDaemonScheduler.cluster.namespace',
      message: `engine and daemon of a build stand in one namespace, which is ${engine.cluster.namespace}`,
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

/** A mount without a volume would keep the pod from being made, in the words of Kubernetes and minutes later. */
function mountProblems(path: string, { volumes, volumeMounts, own }: Mounted, field = 'volume'): Misfit[] {
  const names = [...own, ...Object.entries(volumes).map(([key, { name }]) => name ?? key)]
  return Object.entries(volumeMounts).flatMap(([key, { name = key }]) =>
    names.includes(name) ? [] : [{ path: `${path}.${field}Mounts.${key}`, message: `there is no volume ${name} in ${field}s` }],
  )
}

/** Writes down anew what every runtime of the account is with its parents: after a change of one, or a start with other base layers. */
export async function refreshRuntimes(tx: Tx, accountId: string): Promise<void> {
  const layers = await readLayers(tx.query, accountId)
  for (const row of await listRuntimes(tx.query, accountId)) {
    const spec = JSON.stringify(mergeRuntime({ name: row.name, layer: layers.get(row.name) ?? {} }, layers))
    if (spec !== row.spec) await updateRuntime(tx, row.id, { spec })
  }
}
