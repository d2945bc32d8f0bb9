/**
 * Checks the placement of pods. The owner of the cluster lists each allowed combination; fields of different entries cannot be combined.
 */
import { parseJson } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { z } from 'zod'
import { quote, type Mapping, type Place } from './shape.ts'

/** One combination, with the names and values of a pod's `spec`. */
export const Placement = z.strictObject({
  nodeSelector: z.record(z.string(), z.string()).optional(),
  tolerations: z.array(z.record(z.string(), z.unknown())).optional(),
  affinity: z.record(z.string(), z.unknown()).optional(),
  priorityClassName: z.string().optional(),
  schedulerName: z.string().optional(),
})
export type Placement = z.infer<typeof Placement>

const FIELDS = ['nodeSelector', 'tolerations', 'affinity', 'priorityClassName', 'schedulerName'] as const
export const PLACEMENT_FIELDS: readonly string[] = FIELDS
/** The fields of a pod that the placement annotation of a claim contains. */
const NOTED_FIELDS = ['nodeSelector', 'tolerations', 'affinity'] as const

/** Taint of nodes that are reserved for builds. */
const BUILD_NODES = { key: 'codefresh/dind', operator: 'Exists', effect: 'NoSchedule' }
/** Nodes without taints, and nodes that are reserved for builds. */
export const DEFAULT_PLACEMENTS: readonly Placement[] = [{}, { tolerations: [BUILD_NODES] }]

const REMEDY = 'To allow it, write the whole placement into WINDLASS_AGENT_PLACEMENTS of the agent.'

/** Refuses the fields of a pod's `spec` that no allowed placement has, or all of them if each is allowed but not their combination. */
export function checkPlacement(spec: Mapping, { placements }: { readonly placements: readonly Placement[] }, place: Place): void {
  compare(spec, { fields: FIELDS, placements, place })
}

/** Checks the placement that a claim notes of its pod, a JSON text. */
export function checkNotedPlacement(
  note: string,
  { placements }: { readonly placements: readonly Placement[] },
  place: Place,
): void {
  const parsed = parseJson(note)
  if (!isRecord(parsed)) return place.refuse(place.path, `must be the JSON of a mapping, not ${quote(note)}.`)
  for (const key of Object.keys(parsed))
    if (!NOTED_FIELDS.some((field) => field === key))
      place.refuse(place.path, `has ${quote(key)}, which is not a placement field of a claim.`)
  compare(parsed, { fields: NOTED_FIELDS, placements, place, isNote: true })
}

interface Comparison {
  readonly fields: readonly (keyof Placement)[]
  readonly placements: readonly Placement[]
  readonly place: Place
  /** Reports all problems at the same path. */
  readonly isNote?: boolean
}

function compare(wanted: Mapping, { fields, placements, place, isNote = false }: Comparison): void {
  const same = (placement: Placement, field: keyof Placement): boolean => textOf(placement[field]) === textOf(wanted[field])
  if (placements.some((placement) => fields.every((field) => same(placement, field)))) return
  const disallowed = fields.filter((field) => !placements.some((placement) => same(placement, field)))
  for (const field of disallowed) {
    const path = isNote ? place.path : `${place.path}.${field}`
    place.refuse(path, `${isNote ? `has ${field} ` : 'is '}${quote(wanted[field])}, which no allowed placement has. ${REMEDY}`)
  }
  if (disallowed.length > 0) return
  const whole = Object.fromEntries(fields.map((field) => [field, wanted[field]]))
  place.refuse(place.path, `has the placement ${quote(whole)}, whose fields are allowed but not in this combination. ${REMEDY}`)
}

/** Returns a field as text for comparison. An empty field equals an absent one, and the order of tolerations does not matter. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(canonical).toSorted().join()
  return isRecord(value) && Object.keys(value).length === 0 ? '' : canonical(value)
}

/** Returns JSON with sorted keys. Within a field an empty list differs from an absent one: an affinity without terms matches no node. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (!isRecord(value)) return JSON.stringify(value)
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`).join()}}`
}
