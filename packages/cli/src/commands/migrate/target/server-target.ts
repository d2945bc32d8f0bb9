/** Writes resources to the configured server. */
import { isDeepStrictEqual } from 'node:util'
import type { ApiClient } from '@windlass/client'
import { retry, systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import type { Context, ContextInput, Pipeline, PipelineInput, Project, StepTypeResource } from '@windlass/protocol'
import { orUndefined } from '../../../session/session.ts'
import { keepValues, MASK, withoutSecrets } from '../judge/masked-values.ts'
import { sentence } from '../judge/recognize.ts'
import type { Remark, Surroundings, Resource } from '../judge/verdict.ts'
import type { Receipt, Target, WriteOptions } from './target.ts'

/** A server limits the documents of a key per minute. */
const LIMITED = { baseMs: 1_000, maxMs: 10_000, tries: 10, retryIf: (error: unknown) => isFault(error, 'rate-limited') }

export interface ServerTargetOptions extends WriteOptions {
  readonly signal: AbortSignal
}

export function openServerTarget(client: ApiClient, options: ServerTargetOptions): Target {
  return {
    surroundings: async () => ({ ...(await readSurroundings(client)), defaults: options.overwrite ? 'replaced' : 'kept' }),
    write: (resource) =>
      retry({ ...LIMITED, clock: systemClock, signal: options.signal }, () => writeResource(client, resource, options)),
  }
}

/** Returns what pipelines may refer to on the server, as far as the key may read it. */
async function readSurroundings({ runtimes, contexts, settings }: ApiClient): Promise<Surroundings> {
  const readable = <T>(call: Promise<T>): Promise<T | undefined> =>
    call.catch((error: unknown) => {
      if (isFault(error, 'forbidden', 'scope-missing')) return undefined
      throw error
    })
  const names = await readable(runtimes.list())
  return {
    runtimes: names && new Set(names.items.map(({ name }) => name)),
    contexts: (await readable(contexts.list()))?.items,
    automaticClone: (await readable(settings.get()))?.automaticClone,
  }
}

/** The calls for one resource. `T` is what the server has. */
interface PlannedWrite<T> {
  read(): Promise<T>
  /** Returns true if the server has this resource, apart from secret values, which cannot be compared. */
  isSame(before: T): boolean
  /** Returns true if the resource has secret values of its own, which the server may not have. */
  hasSecrets(before: T): boolean
  /** Sends the resource; values that only the server has are kept. Resolves to what only the server finds. */
  send(before: T | undefined): Promise<readonly Remark[]>
  /** Returns what is lost if the resource replaces this one. */
  losses?(before: T): readonly Remark[]
}

async function put<T>(plan: PlannedWrite<T>, { kind, name }: Resource, { dryRun, overwrite }: WriteOptions): Promise<Receipt> {
  const before = await orUndefined(plan.read())
  if (before !== undefined && plan.isSame(before) && !(overwrite && plan.hasSecrets(before)))
    return { done: 'unchanged', remarks: [] }
  if (before !== undefined && !overwrite)
    throw fault('conflict', {
      message: `The server has another ${kind} "${name}".`,
      hint: 'Compare the two, or replace it with --overwrite.',
    })
  const found = dryRun ? [] : await plan.send(before)
  if (before === undefined) return { done: 'created', remarks: found }
  return { done: 'configured', remarks: [...found, ...(plan.losses?.(before) ?? [])] }
}

function writeResource(client: ApiClient, resource: Resource, options: WriteOptions): Promise<Receipt> {
  switch (resource.kind) {
    case 'project':
      return put(planProject(client, resource), resource, options)
    case 'step-type':
      return put(planStepType(client, resource), resource, options)
    case 'context':
      return put(planContext(client, resource), resource, options)
    case 'pipeline':
      return put(planPipeline(client, resource), resource, options)
  }
}

type ResourceOf<K> = Extract<Resource, { kind: K }>

function planProject({ projects }: ApiClient, { name, body }: ResourceOf<'project'>): PlannedWrite<Project> {
  return {
    read: () => projects.get(name),
    isSame: ({ variables }) => isDeepStrictEqual(variables, body.variables),
    hasSecrets: () => false,
    send: () => projects.put(name, body).then(() => []),
  }
}

function planStepType({ stepTypes }: ApiClient, { name, body }: ResourceOf<'step-type'>): PlannedWrite<StepTypeResource> {
  return {
    read: () => stepTypes.get(name),
    isSame: ({ manifest }) => manifest === body.manifest,
    hasSecrets: () => false,
    send: () => stepTypes.put(name, body).then(() => []),
  }
}

function planContext({ contexts }: ApiClient, { name, body, masked }: ResourceOf<'context'>): PlannedWrite<Context> {
  const isStored = (before: Context, field: string): boolean => before.type === body.type && before.data[field] === MASK
  const keep = (before: Context): ContextInput => {
    const isKept = (field: string): boolean => masked.includes(field) && isStored(before, field)
    if (changedFields(before, body, masked).length > 0) return body
    const fields = Object.entries(body.data)
    return { ...body, data: Object.fromEntries(fields.map(([field, value]) => [field, isKept(field) ? MASK : value])) }
  }
  return {
    read: () => contexts.get(name),
    isSame: (before) => before.type === body.type && before.isDefault === body.isDefault && hasSameData(before, body),
    hasSecrets: (before) => Object.keys(body.data).some((field) => isStored(before, field) && !masked.includes(field)),
    send: (before) => contexts.put(name, before === undefined ? body : keep(before)).then(() => []),
    losses: (before) => {
      const changed = changedFields(before, body, masked)
      return changed.length === 0
        ? []
        : masked.filter((field) => isStored(before, field)).map((field) => lossRemark(field, changed))
    },
  }
}

/** Contexts that have only secret values, which are not sent to a host that another field names. */
const ONLY_SECRETS: readonly ContextInput['type'][] = ['secret', 'secret-yaml']

/** Returns the readable fields in which two contexts differ. They say where the secrets are sent, so a secret is kept only if there are none. */
function changedFields({ data: before }: Context, { type, data }: ContextInput, masked: readonly string[]): string[] {
  if (ONLY_SECRETS.includes(type)) return []
  const fields = [...new Set([...Object.keys(before), ...Object.keys(data)])]
  return fields.filter((field) => {
    const isNewSecret = before[field] === undefined && masked.includes(field)
    return before[field] !== MASK && !isNewSecret && !isDeepStrictEqual(before[field], data[field])
  })
}

function lossRemark(field: string, changed: readonly string[]): Remark {
  return {
    path: `spec.data.${field}`,
    reason: `The stored value of "${field}" is removed, because the migration changes where it is sent (${changed.join(', ')}).`,
    action: 'Set it again with `windlass apply`.',
  }
}

/** Compares what can be read: a secret value of the server is equal to every value. */
function hasSameData({ data: before }: Context, { data }: ContextInput): boolean {
  const fields = Object.keys(data)
  if (fields.length !== Object.keys(before).length) return false
  return fields.every(
    (field) => Object.hasOwn(before, field) && (before[field] === MASK || isDeepStrictEqual(before[field], data[field])),
  )
}

function planPipeline({ pipelines }: ApiClient, { name, body, masked }: ResourceOf<'pipeline'>): PlannedWrite<Pipeline> {
  const keep = ({ variables }: Pipeline): PipelineInput => {
    const stored = new Set(variables.flatMap(({ key, encrypted }) => (encrypted && masked.includes(key) ? key : [])))
    return { ...body, document: keepValues(body.document, stored) }
  }
  return {
    read: () => pipelines.get(name),
    isSame: ({ document }) => withoutSecrets(document) === withoutSecrets(body.document),
    hasSecrets: () => withoutSecrets(body.document) !== body.document,
    send: (before) => pipelines.put(name, before === undefined ? body : keep(before)).then(triggerRemarks),
  }
}

/** Returns remarks about triggers that start no builds. All other problems of a pipeline are found before it is sent. */
function triggerRemarks({ problems = [] }: Pipeline): Remark[] {
  return problems.flatMap(({ code, path = '', message, hint = '' }) =>
    code === 'no-effect' && OF_TRIGGERS.test(path) ? { path, reason: sentence(message), action: hint } : [],
  )
}

const OF_TRIGGERS = /^spec\.(?:t|cronT|eventT)riggers\b/
