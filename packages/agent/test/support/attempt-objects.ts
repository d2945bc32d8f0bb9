/** Objects of attempts as the server renders them, with one change, and the problems that the policy of an agent finds in them. */
import { Fault } from '@windlass/kit'
import { renderAttempt, type AttemptInput } from '@windlass/manifests'
import {
  BASE_LAYERS,
  completeSpec,
  DEFAULT_PARENT,
  layersOf,
  mergeAll,
  RuntimeLayerInput,
  type KubeObject,
  type RuntimeSpec,
  type StartTask,
} from '@windlass/protocol'
import { agentConfig } from '../../src/config.ts'
import type { AgentPolicy } from '../../src/kubernetes/policy/agent-policy.ts'
import { checkPolicy, checkProtocolV1Object } from '../../src/kubernetes/policy/check.ts'
import { policyOf } from '../../src/kubernetes/policy/settings.ts'

export const BUILD = '65a1b2c3d4e5f60718293a4b'
export const OTHER_BUILD = '65a1b2c3d4e5f60718293a4c'
export const RUNTIME = 'team/eu-west'
export type Role = 'secret' | 'claim' | 'dind' | 'engine'

/** Returns the policy of an agent with these settings, by their names without the prefix; the others have their defaults. */
export function policyWith(settings: Readonly<Record<string, string>> = {}, namespaces = ['builds']): AgentPolicy {
  const env = Object.fromEntries(Object.entries(settings).map(([key, value]) => [`WINDLASS_AGENT_${key}`, value]))
  const needed = { WINDLASS_AGENT_TOKEN: 'secret', WINDLASS_AGENT_SERVER_URL: 'https://windlass.example.com' }
  return policyOf(agentConfig({ ...needed, ...env }), namespaces)
}

/** Returns the specification of a runtime over the system layers. Without a namespace it is in `builds`. */
export function specOf(written: object): RuntimeSpec {
  const layer = mergeAll([
    { extends: [DEFAULT_PARENT], runtimeScheduler: { cluster: { namespace: 'builds' } } },
    RuntimeLayerInput.parse(written),
  ])
  const found = layersOf({ name: RUNTIME, layer }, (name) => BASE_LAYERS[name])
  if ('problem' in found) throw new Error(found.problem)
  return completeSpec(mergeAll(found.layers))
}

/** Returns the start task of an attempt on such a runtime. */
export function startTask(written: object = {}, input: Partial<AttemptInput> = {}): StartTask {
  const { objects, disk } = renderAttempt({
    buildId: BUILD,
    attempt: 1,
    runtime: { name: RUNTIME, spec: specOf(written) },
    account: 'acme',
    pipelineId: OTHER_BUILD,
    trigger: 'manual',
    branch: 'feature/new parser',
    serverUrl: 'https://windlass.example.com',
    bootstrap: 'bootstrap',
    certificates: { ca: 'CA', serverCert: 'SERVER', serverKey: 'SERVER-KEY', clientCert: 'CLIENT', clientKey: 'CLIENT-KEY' },
    now: 1_700_000_000_000,
    ...input,
  })
  const engine = { bootstrap: 'bootstrap', serverUrl: 'https://windlass.example.com' }
  const head = { kind: 'start-attempt' as const, id: BUILD, revision: 1, buildId: input.buildId ?? BUILD }
  return { ...head, attempt: input.attempt ?? 1, runtime: input.runtime?.name ?? RUNTIME, leaseMs: 1, engine, objects, disk }
}

/** Returns the problems of a task of protocol v2; none if it is allowed. */
export function refusalsOf(task: StartTask, policy: AgentPolicy = policyWith()): readonly string[] {
  return refusals(() => checkPolicy(task, policy))
}

/** Returns the problems of each object of an attempt of protocol v1. */
export function protocolV1RefusalsOf(task: StartTask, policy: AgentPolicy = policyWith()): readonly string[] {
  const workflow = { id: task.buildId, runtime: task.runtime }
  return task.objects.flatMap((object) => refusals(() => checkProtocolV1Object(object, workflow, policy)))
}

function refusals(check: () => void): string[] {
  try {
    check()
    return []
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'policy-refused') throw error
    return (error.details.problems ?? []).map(({ path, message }) => `${path}: ${message}`)
  }
}

/**
 * Returns the task with one field of one object set, or removed if the value is undefined. The path has dots, and numbers for items of
 * lists.
 */
export function changed(task: StartTask, role: Role, path: readonly string[], value: unknown): StartTask {
  const objects = structuredClone(task.objects)
  const object = objectOf(objects, role)
  let target: Record<string, unknown> = object
  for (const key of path.slice(0, -1)) {
    target[key] ??= {}
    target = target[key] as Record<string, unknown>
  }
  const last = path.at(-1) ?? ''
  if (value === undefined) delete target[last]
  else target[last] = value
  return { ...task, objects }
}

export function objectOf(objects: readonly KubeObject[], role: Role): KubeObject {
  const kind = { secret: 'Secret', claim: 'PersistentVolumeClaim', dind: 'Pod', engine: 'Pod' }[role]
  const found = objects.find((object) => object.kind === kind && (kind !== 'Pod' || object.metadata.name.startsWith(role)))
  if (found === undefined) throw new Error(`no ${role}`)
  return found
}
