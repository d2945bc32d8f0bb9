/** Checks the names of integrations and warns when a default is used. */
import { exactReference, nearMiss } from '@windlass/plan'
import type { DiagnosticCode } from '../language/diagnostic.ts'
import { didYouMean } from '../language/did-you-mean.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import type { Report } from '../syntax/report.ts'
import type { ContextPlace } from '../language/step-type.ts'
import { textOf } from '../syntax/tree.ts'
import type { TreeNode } from '../syntax/tree.ts'
import type { AccountContext } from './account.ts'

/** Reports something that a step lacks: an error, or a warning for a step that may never run. */
export function reportMissing({ report, mayNotRun }: ContextPlace, ...what: Parameters<Report['error']>): void {
  if (mayNotRun) report.warning(...what)
  else report.error(...what)
}

interface Named {
  readonly name: string
}

export interface Kind {
  readonly field: string
  readonly noun: string
  /** Codes for an undefined variable, and for an unknown name. */
  readonly variable: DiagnosticCode
  readonly unknown: DiagnosticCode
  readonly listed: (account: AccountContext) => readonly Named[] | undefined
}

export const REGISTRY: Omit<Kind, 'field'> = {
  noun: 'registry integration',
  variable: 'registry-variable',
  unknown: 'registry-unknown',
  listed: ({ registries }) => registries,
}

/** Checks the name of an integration: a variable must be defined (else a warning), a name must exist. */
export function checkNamed(written: TreeNode | undefined, kind: Kind, place: ContextPlace): void {
  const { report, path, account } = place
  const name = textOf(written)
  if (written === undefined || name === undefined) return
  const where = { path: `${path}.${kind.field}` }
  const reference = exactReference(name)
  if (reference !== undefined) {
    const isKnown = account.variables === undefined || account.variables.has(reference) || reference.includes('.')
    if (isKnown) return
    const message = `"${kind.field}" refers to the undefined variable "${reference}"`
    return report.warning(kind.variable, written.range, message, {
      ...where,
      hint: 'Define the variable in the pipeline, a context or the run.',
    })
  }
  const listed = kind.listed(account)
  if (listed === undefined || name.includes('${{')) return
  const names = namesOf(listed)
  if (names.has(name)) return
  const close = report.suggest(name, listed, () => nearMiss(name, [...names]))
  reportMissing(place, kind.unknown, written.range, `${kind.noun} "${name}" does not exist${didYouMean(close)}`, {
    ...where,
    hint: names.size === 0 ? `The account has no ${kind.noun}.` : `Use one of: ${list(names)}.`,
    ...(close !== undefined && { suggestion: { from: name, to: close } }),
  })
}

const NAMES = new WeakMap<readonly Named[], ReadonlySet<string>>()

/** Returns the names of integrations, computed once for each list. */
function namesOf(listed: readonly Named[]): ReadonlySet<string> {
  const known = NAMES.get(listed)
  if (known !== undefined) return known
  const names = new Set(listed.map(({ name }) => name))
  NAMES.set(listed, names)
  return names
}

function list(names: ReadonlySet<string>): string {
  const shown = [...names.values().take(10)].join(', ')
  return names.size > 10 ? `${shown} and ${names.size - 10} more` : shown
}

/** Warns that a default is used where several integrations exist. */
export function warnOfDefault(
  code: DiagnosticCode,
  { field, noun, of }: { field: string; noun: string; of: readonly { readonly name: string; readonly isDefault?: boolean }[] },
  { report, path, range, account }: ContextPlace,
): void {
  if (account.quietDefaults === true) return
  const used = of.find(({ isDefault }) => isDefault === true) ?? of[0]
  report.warning(code, range, `${of.length} ${noun} exist and "${field}" is not set; "${used?.name ?? ''}" is used`, {
    path: `${path}.${field}`,
    hint: `Set "${field}" to choose one.`,
  })
}

/** Checks every name of `registry_contexts`. */
export function checkRegistryContexts(entries: Entries, place: ContextPlace): void {
  const listed = read.node(entries, 'registry_contexts')
  for (const item of listed?.kind === 'list' ? listed.items : [])
    checkNamed(item, { ...REGISTRY, field: 'registry_contexts' }, place)
}
