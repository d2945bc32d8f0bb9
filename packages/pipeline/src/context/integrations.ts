/** Integrations by their names: that they exist, and what stands in where none is named. */
import { exactReference, nearMiss } from '@windlass/plan'
import type { DiagnosticCode } from '../diagnostic.ts'
import * as read from '../fields.ts'
import type { Entries } from '../fields.ts'
import type { Report } from '../report.ts'
import type { RulePlace } from '../step-type.ts'
import { textOf } from '../tree.ts'
import type { TreeNode } from '../tree.ts'
import type { AccountContext } from './account.ts'

export interface ContextPlace extends RulePlace {
  readonly account: AccountContext
  /** The step has a condition, or runs after an end that may not come: what it lacks is told, and does not stop the others. */
  readonly mayNotRun: boolean
}

/** Reports something that a step needs: an error, or a warning for a step that may never run. */
export function tellLack({ report, mayNotRun }: ContextPlace, ...what: Parameters<Report['error']>): void {
  if (mayNotRun) report.warning(...what)
  else report.error(...what)
}

export interface Kind {
  readonly field: string
  readonly noun: string
  /** Codes for a variable that nobody defined, and for a name that nothing has. */
  readonly variable: DiagnosticCode
  readonly unknown: DiagnosticCode
  readonly names: (account: AccountContext) => readonly string[] | undefined
}

export const REGISTRY: Omit<Kind, 'field'> = {
  noun: 'registry integration',
  variable: 'registry-variable',
  unknown: 'registry-unknown',
  names: ({ registries }) => registries?.map(({ name }) => name),
}
/** A name of an integration: a variable must be defined (else a warning), a name must exist. */
export function checkNamed(written: TreeNode | undefined, kind: Kind, place: ContextPlace): void {
  const { report, path, account } = place
  const name = textOf(written)
  if (written === undefined || name === undefined) return
  const where = { path: `${path}.${kind.field}` }
  const reference = exactReference(name)
  if (reference !== undefined) {
    const isKnown = account.variables === undefined || account.variables.has(reference) || reference.includes('.')
    if (isKnown) return
    const message = `"${kind.field}" is the variable "${reference}", which is not defined`
    return report.warning(kind.variable, written.range, message, {
      ...where,
      hint: 'Define it in the pipeline, a context or the run.',
    })
  }
  const names = kind.names(account)
  if (names === undefined || name.includes('${{') || names.includes(name)) return
  const close = nearMiss(name, names)
  const question = close === undefined ? '' : `. Did you mean "${close}"?`
  tellLack(place, kind.unknown, written.range, `there is no ${kind.noun} "${name}"${question}`, {
    ...where,
    hint: names.length === 0 ? `There is no ${kind.noun} at all.` : `There are: ${list(names)}.`,
    ...(close !== undefined && { suggestion: { from: name, to: close } }),
  })
}

function list(names: readonly string[]): string {
  const shown = names.slice(0, 10).join(', ')
  return names.length > 10 ? `${shown} and ${names.length - 10} more` : shown
}

/** A default stands in for a name where several would do. */
export function warnOfDefault(
  code: DiagnosticCode,
  { field, noun, of }: { field: string; noun: string; of: readonly { readonly name: string; readonly isDefault?: boolean }[] },
  { report, path, range, account }: ContextPlace,
): void {
  if (account.quietDefaults === true) return
  const usual = of.find(({ isDefault }) => isDefault === true) ?? of[0]
  report.warning(code, range, `there are ${of.length} ${noun} and none is named: "${usual?.name ?? ''}" is used`, {
    path: `${path}.${field}`,
    hint: `Name one in "${field}".`,
  })
}

/** Every name of `registry_contexts`. */
export function checkRegistryContexts(entries: Entries, place: ContextPlace): void {
  const listed = read.node(entries, 'registry_contexts')
  for (const item of listed?.kind === 'list' ? listed.items : [])
    checkNamed(item, { ...REGISTRY, field: 'registry_contexts' }, place)
}
