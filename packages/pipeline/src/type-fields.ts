/** All fields that a step may have, those of every step and those of its type, worked out once for each type. */
import { workingDirectory } from './actions/common-fields.ts'
import { STEP_SERVICES } from './control-fields.ts'
import { COMMON, STEP_TYPES } from './language.ts'
import type { Fields } from './shape.ts'
import type { StepType } from './step-type.ts'

export interface TypeFields {
  readonly fields: Fields
  readonly aliases: readonly { readonly from: string; readonly to: string }[]
}

/** What typed steps may have beside the fields of every step. */
export const TYPED: Fields = { working_directory: workingDirectory, services: STEP_SERVICES }

const OF_TYPES = new Map<StepType | undefined, TypeFields>()

/** The fields of a step type; of a typed step when there is none. */
export function typeFields(type: StepType | undefined): TypeFields {
  const known = OF_TYPES.get(type)
  if (known !== undefined) return known
  const fields = { ...COMMON, ...(type?.fields ?? TYPED) }
  const made = { fields, aliases: aliasesOf(fields) }
  OF_TYPES.set(type, made)
  return made
}

/** In place of a type that cannot be read; the name of no type. */
export const UNKNOWN_TYPE = ''

/** What the language knows of a type; undefined for typed steps. */
export function findType(type: string): StepType | undefined {
  return Object.hasOwn(STEP_TYPES, type) ? STEP_TYPES[type] : undefined
}

/** Every older spelling with the name that it means. */
export function aliasesOf(fields: Fields): TypeFields['aliases'] {
  return Object.entries(fields).flatMap(([to, { aliases = [] }]) => aliases.map((from) => ({ from, to })))
}
