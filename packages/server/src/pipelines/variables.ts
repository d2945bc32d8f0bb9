/** Variables and contexts of a stored pipeline: encrypted values are sealed at rest and shown masked. */
import { fault } from '@windlass/kit'
import { PipelineVariable } from '@windlass/protocol'
import { z } from 'zod'
import { MASK } from '../secrets/mask.ts'
import type { Vault } from '../secrets/vault.ts'
import type { PipelineRow } from '../store/schema.ts'

type Variable = z.output<typeof PipelineVariable>
type Owner = Pick<PipelineRow, 'id' | 'account_id'>

const Variables = z.array(PipelineVariable)
const Names = z.array(z.string())

function place({ account_id: account, id }: Owner, key: string): string {
  return `${account}/${id}/variables/${key}`
}

/** The list as stored. An encrypted value written as `*****` keeps what is stored; throws `request-invalid` when nothing is. */
export function sealVariables(
  vault: Vault,
  owner: Owner,
  variables: readonly Variable[],
  before: PipelineRow | undefined,
): string {
  const kept = new Map(
    before === undefined ? [] : readVariables(before).flatMap(({ key, value, encrypted }) => (encrypted ? [[key, value]] : [])),
  )
  const sealed = variables.map(({ key, value, encrypted }) => {
    if (!encrypted) return { key, value, encrypted }
    if (value !== MASK) return { key, value: vault.seal(place(owner, key), value), encrypted }
    const stored = kept.get(key)
    if (stored === undefined)
      throw fault('request-invalid', { message: `There is no stored value of the variable ${key} to keep.` })
    return { key, value: stored, encrypted }
  })
  return JSON.stringify(sealed)
}

function readVariables(pipeline: PipelineRow): Variable[] {
  return Variables.parse(JSON.parse(pipeline.variables))
}

/** The values themselves; only for builds. */
export function openVariables(vault: Vault, pipeline: PipelineRow): Variable[] {
  return readVariables(pipeline).map((variable) =>
    variable.encrypted ? { ...variable, value: vault.open(place(pipeline, variable.key), variable.value) } : variable,
  )
}

/** What users see. */
export function maskVariables(pipeline: PipelineRow): Variable[] {
  return readVariables(pipeline).map((variable) => (variable.encrypted ? { ...variable, value: MASK } : variable))
}

export function readContextNames(pipeline: PipelineRow): string[] {
  return Names.parse(JSON.parse(pipeline.contexts))
}
