/** The fields of each step type including the common fields, computed once for each type. */
import { workingDirectory } from '../actions/common-fields.ts'
import { STEP_SERVICES } from './control-fields.ts'
import { COMMON } from './language.ts'
import type { Fields } from './shape.ts'
import type { BuiltInStepType } from './step-type.ts'

export interface TypeFields {
  readonly fields: Fields
  readonly aliases: readonly { readonly from: string; readonly to: string }[]
}

/** Fields of typed steps in addition to the common fields. */
export const TYPED: Fields = { working_directory: workingDirectory, services: STEP_SERVICES }

const OF_TYPES = new Map<BuiltInStepType | undefined, TypeFields>()

/** Returns the fields of a step type; those of typed steps if there is none. */
export function typeFields(type: BuiltInStepType | undefined): TypeFields {
  const known = OF_TYPES.get(type)
  if (known !== undefined) return known
  const fields = { ...COMMON, ...(type?.fields ?? TYPED) }
  const made = { fields, aliases: aliasesOf(fields) }
  OF_TYPES.set(type, made)
  return made
}

/** Placeholder for a type that cannot be read; never the name of a type. */
export const UNKNOWN_TYPE = ''

/** Returns every alias with its field name. */
export function aliasesOf(fields: Fields): TypeFields['aliases'] {
  return Object.entries(fields).flatMap(([to, { aliases = [] }]) => aliases.map((from) => ({ from, to })))
}
