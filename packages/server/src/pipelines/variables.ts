/** Variables and contexts of a stored pipeline. Encrypted values are sealed in the store and masked in the API. */
import { fault } from '@windlass/kit'
import { MASK, PipelineVariable } from '@windlass/protocol'
import { z } from 'zod'
import { variablePlace, type Place } from '../secrets/places.ts'
import type { Sealer, Vault } from '../secrets/vault.ts'
import type { PipelineRow } from '../store/schema/schema.ts'

type Variable = z.output<typeof PipelineVariable>
type Owner = Pick<PipelineRow, 'id' | 'account_id'>

const Variables = z.array(PipelineVariable)
const Names = z.array(z.string())

/** Returns the list to store. An encrypted value sent as `*****` keeps the stored one; throws `request-invalid` if there is none. */
export function sealVariables(
  sealer: Sealer,
  owner: Owner,
  variables: readonly Variable[],
  before: PipelineRow | undefined,
): string {
  const kept = new Map(
    before === undefined ? [] : readVariables(before).flatMap(({ key, value, encrypted }) => (encrypted ? [[key, value]] : [])),
  )
  const sealed = variables.map(({ key, value, encrypted }) => {
    if (!encrypted) return { key, value, encrypted }
    if (value !== MASK) return { key, value: sealer.seal(variablePlace(owner, key), value), encrypted }
    const stored = kept.get(key)
    if (stored === undefined)
      throw fault('request-invalid', {
        message: `The variable "${key}" has no stored value to keep.`,
        hint: 'Send its value instead of *****.',
      })
    return { key, value: sealer.keep(variablePlace(owner, key), stored), encrypted }
  })
  return JSON.stringify(sealed)
}

function readVariables(pipeline: Pick<PipelineRow, 'variables'>): Variable[] {
  return Variables.parse(JSON.parse(pipeline.variables))
}

/** Decrypts the values; only for builds. */
export function openVariables(vault: Vault, pipeline: PipelineRow): Variable[] {
  return readVariables(pipeline).map((variable) =>
    variable.encrypted ? { ...variable, value: vault.open(variablePlace(pipeline, variable.key), variable.value) } : variable,
  )
}

/** Returns the stored variables with `change` applied to the sealed values. */
export function changeSealedVariables(
  pipeline: Pick<PipelineRow, 'id' | 'account_id' | 'variables'>,
  change: (place: Place, sealed: string) => string,
): string {
  const changed = readVariables(pipeline).map((variable) =>
    variable.encrypted ? { ...variable, value: change(variablePlace(pipeline, variable.key), variable.value) } : variable,
  )
  return JSON.stringify(changed)
}

/** Returns the variables for the API, with encrypted values masked. */
export function maskVariables(pipeline: PipelineRow): Variable[] {
  return readVariables(pipeline).map((variable) => (variable.encrypted ? { ...variable, value: MASK } : variable))
}

export function readContextNames(pipeline: PipelineRow): string[] {
  return Names.parse(JSON.parse(pipeline.contexts))
}
