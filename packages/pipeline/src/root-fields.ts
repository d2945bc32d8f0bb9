/** Root fields that are more lenient than their table can say. */
import { toFlag } from '@windlass/plan'
import type { FlagTemplate } from '@windlass/plan'
import { currentValue } from './check.ts'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import { ROOT } from './language.ts'
import type { Report } from './report.ts'
import { renameAll } from './step-entries.ts'
import type { Entry } from './tree.ts'
import { aliasesOf } from './type-fields.ts'

const ALIASES = aliasesOf(ROOT)

/** True for keys of an inline document, in any spelling. */
export function isRootKey(key: string): boolean {
  return Object.hasOwn(ROOT, key) || ALIASES.some(({ from }) => from === key)
}

/** Gives root fields their own names, and checks what `checkFields` leaves out. */
export function settleRoot(entries: Map<string, Entry>, place: { readonly report: Report; readonly path: string }): void {
  renameAll(entries, ALIASES, place)
  checkFailFast(entries, place.report)
}

/** What steps have that do not say: at the root any text or object passes, and what is no boolean counts as true. */
export function rootFailFast(entries: Entries): FlagTemplate {
  const flag = read.flag(entries, 'fail_fast') ?? true
  return typeof flag === 'boolean' || flag.includes('${{') ? flag : true
}

function checkFailFast(entries: Entries, report: Report): void {
  const written = entries.get('fail_fast')?.value
  if (written === undefined) return
  const where = { path: 'fail_fast', hint: 'Write true, false or "${{NAME}}".' }
  const value = written.kind === 'scalar' ? written.value : undefined
  const isFlag = value !== undefined && value !== null && (toFlag(String(value)) !== undefined || String(value).includes('${{'))
  if (isFlag) return
  if ((typeof value === 'string' && value.trim() !== '') || written.kind === 'map')
    report.warning('invalid-value', written.range, `"fail_fast" is no boolean and counts as true${currentValue(written)}`, where)
  else report.error('wrong-type', written.range, `"fail_fast" must be a boolean or one variable${currentValue(written)}`, where)
}
