/** What a version of a pipeline keeps: its document and settings, without the values of encrypted variables. */
import { isDeepStrictEqual } from 'node:util'
import { PipelineVersionContent, type VersionVariable } from '@windlass/protocol'
import { present } from '../builds/lifecycle/present.ts'
import type { Vault } from '../secrets/vault.ts'
import type { PipelineRow, PipelineVersionRow } from '../store/schema/schema.ts'
import { readPipelineSettings } from './settings.ts'
import { maskVariables, openVariables, readContextNames } from './variables.ts'

const VersionContent = PipelineVersionContent.omit({
  version: true,
  changedBy: true,
  message: true,
  createdAt: true,
  current: true,
})
export type VersionContent = Omit<PipelineVersionContent, 'version' | 'changedBy' | 'message' | 'createdAt' | 'current'>

/** Reads the stored content of a version. */
export function readVersionContent({ content }: Pick<PipelineVersionRow, 'content'>): VersionContent {
  return VersionContent.parse(JSON.parse(content))
}

/** Returns what a version keeps of a pipeline. `setIn` returns the version in which an encrypted variable got its value. */
export function contentOf(row: PipelineRow, setIn: (key: string) => number): VersionContent {
  return {
    name: row.name,
    document: row.document,
    variables: maskVariables(row).map((variable): VersionVariable =>
      variable.encrypted ? { ...variable, setIn: setIn(variable.key) } : variable,
    ),
    contexts: readContextNames(row),
    priority: row.priority,
    settings: readPipelineSettings(row),
    ...present({
      runtime: row.runtime,
      concurrency: row.concurrency,
      branchConcurrency: row.branch_concurrency,
      triggerConcurrency: row.trigger_concurrency,
    }),
  }
}

/** What a write changes. */
export interface ContentChange {
  readonly document: boolean
  readonly variables: boolean
  /** All other settings. */
  readonly settings: boolean
}

/** Returns what differs between two rows. Encrypted values are compared, not their sealed texts. */
export function compareContent(vault: Vault, before: PipelineRow, after: PipelineRow): ContentChange {
  return {
    document: before.document !== after.document,
    variables: !isDeepStrictEqual(valuesOf(vault, before), valuesOf(vault, after)),
    settings: !isDeepStrictEqual(othersOf(before), othersOf(after)),
  }
}

/** Returns what a pipeline has besides its document and its variables. */
function othersOf(row: PipelineRow): Omit<VersionContent, 'document' | 'variables'> {
  const { document: _document, variables: _variables, ...others } = contentOf(row, () => 0)
  return others
}

/** Returns the settings of a pipeline besides its document and its variables, field by field. */
export function settingsOf(row: PipelineRow): Readonly<Record<string, unknown>> {
  const { settings, ...rest } = othersOf(row)
  return { ...rest, ...settings }
}

/** Returns the variables with their values. Damaged ones do not prevent that they are replaced, and count as different from all others. */
function valuesOf(vault: Vault, row: PipelineRow): unknown {
  try {
    return openVariables(vault, row)
  } catch {
    return row.variables
  }
}

/**
 * Returns the version in which each encrypted variable of a pipeline got its value: an earlier one if the value did not change. `kept` is the content of the
 * version before.
 */
export function settingVersions(
  vault: Vault,
  {
    before,
    after,
    kept,
  }: { readonly before?: PipelineRow | undefined; readonly after: PipelineRow; readonly kept?: VersionContent | undefined },
): (key: string) => number {
  const old = before === undefined ? new Map<string, string>() : secretsOf(vault, before)
  const fresh = secretsOf(vault, after)
  const setIn = new Map(kept?.variables.map(({ key, setIn: version }) => [key, version]))
  return (key) => (old.get(key) === fresh.get(key) ? (setIn.get(key) ?? before?.revision) : undefined) ?? after.revision
}

/** Returns the values of encrypted variables. Damaged ones do not prevent that they are replaced, and count as different from all others. */
function secretsOf(vault: Vault, row: PipelineRow): Map<string, string> {
  try {
    return new Map(openVariables(vault, row).flatMap(({ key, value, encrypted }) => (encrypted ? [[key, value]] : [])))
  } catch {
    return new Map([['', row.variables]])
  }
}
