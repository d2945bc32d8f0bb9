/** Helpers for rendered charts: values in docs/runner, objects by kind, pods of any object, and the Pod Security Standard. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import type { Rendered } from '../../support/helm.ts'

export const docs = join(import.meta.dirname, '../../../docs/runner')

/** Minimal values of the runtime chart. */
export const BASE = {
  global: {
    codefreshHost: 'https://windlass.example.com',
    codefreshTokenSecretKeyRef: { name: 'key', key: 'key' },
    context: 'prod',
  },
}

/** Returns the values that a page has under `<!-- values: name -->`. Throws if there are none. */
export function valuesOf(page: string, name: string): object {
  const text = readFileSync(join(docs, page), 'utf8')
  const block = new RegExp(`<!-- values: ${name} -->\\n\`\`\`yaml\\n([\\s\\S]*?)\`\`\``).exec(text)?.[1]
  if (block === undefined) throw new Error(`docs/runner/${page} has no values ${name}`)
  return z.record(z.string(), z.unknown()).parse(parse(block))
}

/** Returns the only object of a kind whose name has this ending. */
export function one(objects: readonly Rendered[], kind: string, ending = ''): Rendered {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name.endsWith(ending))
  if (found[0] === undefined || found.length > 1)
    throw new Error(`${found.length} objects ${kind} …${ending}: ${found.map(({ metadata }) => metadata.name).join(', ')}`)
  return found[0]
}

export function kinds(objects: readonly Rendered[]): string[] {
  return objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`)
}

const Container = z.looseObject({
  name: z.string(),
  image: z.string(),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional(), valueFrom: z.unknown().optional() })).default([]),
  securityContext: z.looseObject({}).optional(),
})
const PodSpec = z.looseObject({
  containers: z.array(Container).min(1),
  initContainers: z.array(Container).default([]),
  volumes: z.array(z.looseObject({ name: z.string(), hostPath: z.looseObject({ path: z.string() }).optional() })).default([]),
  securityContext: z.looseObject({}).optional(),
  nodeSelector: z.record(z.string(), z.string()).default({}),
  tolerations: z.array(z.unknown()).default([]),
  serviceAccountName: z.string().default('default'),
})
export type PodSpec = z.infer<typeof PodSpec>

const WithTemplate = z.looseObject({ template: z.looseObject({ spec: PodSpec }) })
const WithJob = z.looseObject({ jobTemplate: z.looseObject({ spec: WithTemplate }) })

/** Returns the pod of an object, or undefined if it has none. */
export function podOf(object: Rendered): PodSpec | undefined {
  if (object.kind === 'Pod') return PodSpec.parse(object['spec'])
  if (object.kind === 'CronJob') return WithJob.parse(object['spec']).jobTemplate.spec.template.spec
  if (['Deployment', 'DaemonSet', 'StatefulSet', 'Job'].includes(object.kind))
    return WithTemplate.parse(object['spec']).template.spec
  return undefined
}

export function pods(objects: readonly Rendered[]): { name: string; spec: PodSpec }[] {
  return objects.flatMap((object) => {
    const spec = podOf(object)
    return spec === undefined ? [] : [{ name: `${object.kind}/${object.metadata.name}`, spec }]
  })
}

/** Returns the pod of the only object of a kind whose name has this ending. */
export function pod(objects: readonly Rendered[], kind: string, ending: string): PodSpec {
  const spec = podOf(one(objects, kind, ending))
  if (spec === undefined) throw new Error(`${kind} has no pods`)
  return spec
}

/** Returns the environment variables of the first container. */
export function env(spec: PodSpec): Record<string, unknown> {
  return Object.fromEntries((spec.containers[0]?.env ?? []).map(({ name, value, valueFrom }) => [name, value ?? valueFrom]))
}

/** Returns the violations of the level `restricted` by a pod (kubernetes.io, Pod Security Standards). */
export function unrestricted(spec: PodSpec): string[] {
  const problems: string[] = []
  const podContext = spec.securityContext ?? {}
  for (const field of ['hostNetwork', 'hostPID', 'hostIPC']) if (spec[field] === true) problems.push(field)
  for (const volume of spec.volumes) if (volume.hostPath !== undefined) problems.push(`hostPath ${volume.hostPath.path}`)
  for (const container of [...spec.containers, ...spec.initContainers]) {
    const context = container.securityContext ?? {}
    const say = (what: string): void => void problems.push(`${container.name}: ${what}`)
    if (context['privileged'] === true) say('privileged')
    if (context['allowPrivilegeEscalation'] !== false) say('may escalate')
    if ((context['runAsNonRoot'] ?? podContext['runAsNonRoot']) !== true) say('may be root')
    if ((context['runAsUser'] ?? podContext['runAsUser']) === 0) say('is root')
    if ((context['seccompProfile'] ?? podContext['seccompProfile']) === undefined) say('no seccomp profile')
    const capabilities = z.looseObject({ drop: z.array(z.string()).default([]), add: z.array(z.string()).default([]) })
    const { drop, add } = capabilities.parse(context['capabilities'] ?? {})
    if (!drop.includes('ALL') || add.length > 0) say(`capabilities ${add.join(',')}`)
  }
  return problems
}

const RuntimeDocument = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ runtimeScheduler: z.looseObject({}), dockerDaemonScheduler: z.looseObject({}) }),
})
export type RuntimeDocument = z.infer<typeof RuntimeDocument>

/** Returns the documents of runtimes that the hook sends to the server. */
export function runtimes(objects: readonly Rendered[]): RuntimeDocument[] {
  return objects
    .filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.endsWith('runtime-config'))
    .flatMap((object) => Object.values(z.record(z.string(), z.string()).parse(object['data'])))
    .map((text) => RuntimeDocument.parse(parse(text)))
}

export function runtime(objects: readonly Rendered[]): RuntimeDocument {
  const [first] = runtimes(objects)
  if (first === undefined) throw new Error('no runtime')
  return first
}
