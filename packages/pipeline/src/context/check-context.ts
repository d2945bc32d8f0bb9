/**
 * Checks one step against its account: the integrations that it names, and those that it needs. Pure. Checks that need no account are in the
 * step types.
 */
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import type { ContextPlace, BuiltInStepType } from '../language/step-type.ts'

export interface CheckedStep {
  /** Type as run: `build`, or `helm:1.2.0` for a typed step. */
  readonly type: string
  /** Undefined for a typed step. */
  readonly known: BuiltInStepType | undefined
  /** Fields of the step, including those under `arguments`. */
  readonly entries: Entries
}

/** Reports what the account lacks for a step. Steps inside it and its hooks are checked separately. */
export function checkContext({ type, known, entries }: CheckedStep, place: ContextPlace): void {
  known?.checkContext?.(entries, place)
  if (type === 'helm' || type.startsWith('helm:')) checkHelm(entries, place)
}

/** Warns about Helm 2, which gets no fixes any more. The default version is 2.0.0. */
function checkHelm(entries: Entries, { report, path, range }: ContextPlace): void {
  const own = read.map(entries, 'arguments')?.entries ?? entries
  const written = read.node(own, 'helm_version')
  const version = read.plain(written) ?? '2.0.0'
  if (!version.startsWith('2')) return
  report.warning('helm-version', written?.range ?? range, `Helm ${version} is not supported any more`, {
    path: `${path}.helm_version`,
    hint: 'Set "helm_version" to a version of Helm 3.',
  })
}
