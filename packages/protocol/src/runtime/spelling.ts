/** Normalizes the spellings of the Codefresh documentation and of older specifications. */
import { isRecord } from '@windlass/kit/json'

type Mapping = Readonly<Record<string, unknown>>

/**
 * Normalizes: `pvc` and lists of claims, `DindPodPvc`, lists of volumes and mounts, `requests: ''`, a single pull secret as a string, numbers
 * and booleans as values of variables, numbers as strings in `workflowLimits`. Everything else is left to the schema.
 */
export function spellLayer(value: unknown): unknown {
  if (!isRecord(value)) return value
  return change(value, { runtimeScheduler: spellEngine, dockerDaemonScheduler: spellDind, variables: spellValues })
}

function spellEngine(value: unknown): unknown {
  if (!isRecord(value)) return value
  return change(value, { ...podSpelling, resources: spellResources, workflowLimits: spellNumbers })
}

function spellDind(value: unknown): unknown {
  if (!isRecord(value)) return value
  const { pvc, ...rest } = value
  const renamed = pvc === undefined || 'pvcs' in rest ? value : { ...rest, pvcs: pvc }
  return change(renamed, {
    ...podSpelling,
    type: (type) => (type === 'DindPodPvc' ? 'DindKubernetesPod' : type),
    defaultDindResources: spellResources,
    userVolumes: byName,
    userVolumeMounts: byName,
    pvcs: byName,
  })
}

type Spelling = Readonly<Record<string, (value: unknown) => unknown>>

const podSpelling: Spelling = {
  envVars: spellValues,
  labels: spellValues,
  annotations: spellValues,
  volumes: byName,
  volumeMounts: byName,
  imagePullSecrets: spellNames,
  initContainers: (value) =>
    isRecord(value) ? Object.entries(value).map(([name, entry]) => (isRecord(entry) ? { name, ...entry } : entry)) : value,
}

function change(value: Mapping, spelling: Spelling): Mapping {
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => {
      const spell = Object.hasOwn(spelling, key) ? spelling[key] : undefined
      return [key, spell === undefined ? field : spell(field)]
    }),
  )
}

/** `''` means null: it removes the value of a parent. */
function spellResources(value: unknown): unknown {
  const nothing = (amounts: unknown): unknown => (amounts === '' ? null : amounts)
  return isRecord(value) ? change(value, { requests: nothing, limits: nothing }) : nothing(value)
}

function spellValues(value: unknown): unknown {
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      key,
      typeof field === 'number' || typeof field === 'boolean' ? String(field) : field,
    ]),
  )
}

function spellNumbers(value: unknown): unknown {
  if (!isRecord(value)) return value
  const spell = (field: unknown): unknown => {
    if (field === 'true' || field === 'false') return field === 'true'
    return typeof field === 'string' && /^\d+$/.test(field) ? Number(field) : field
  }
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, spell(field)]))
}

function spellNames(value: unknown): unknown {
  if (typeof value === 'string') return value === '' ? [] : [value]
  if (!Array.isArray(value)) return value
  return value.map((entry: unknown) => (isRecord(entry) && Object.keys(entry).join() === 'name' ? entry['name'] : entry))
}

/** Converts a list to a map by the names of its entries. A repeated name gets a numeric suffix. */
function byName(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  const entries: Record<string, unknown> = {}
  for (const entry of value as readonly unknown[]) {
    const name = isRecord(entry) && typeof entry['name'] === 'string' ? entry['name'] : String(Object.keys(entries).length)
    let key = name
    for (let count = 2; Object.hasOwn(entries, key); count += 1) key = `${name}-${count}`
    entries[key] = entry
  }
  return entries
}
