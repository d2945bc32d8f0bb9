/** Root fields with rules that are more lenient than their table. */
import { toFlag } from '@windlass/plan'
import type { FlagTemplate } from '@windlass/plan'
import { currentValue } from './check.ts'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import { ROOT } from './language.ts'
import type { Report } from '../syntax/report.ts'
import { renameAll } from '../draft/step-entries.ts'
import type { Entry } from '../syntax/tree.ts'
import { aliasesOf } from './type-fields.ts'

const ALIASES = aliasesOf(ROOT)

/** Returns true for keys of an inline document, in any spelling. */
export function isRootKey(key: string): boolean {
  return Object.hasOwn(ROOT, key) || ALIASES.some(({ from }) => from === key)
}

/** Renames aliases of root fields and checks what `checkFields` does not. */
export function normalizeRoot(entries: Map<string, Entry>, place: { readonly report: Report; readonly path: string }): void {
  renameAll(entries, ALIASES, place)
  checkFailFast(entries, place.report)
}

/** Returns the default of `fail_fast` for steps. At the root any text or object is accepted, and anything but a boolean counts as true. */
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
    report.warning(
      'invalid-value',
      written.range,
      `"fail_fast" is not a boolean and counts as true${currentValue(written)}`,
      where,
    )
  else report.error('wrong-type', written.range, `"fail_fast" must be a boolean or one variable${currentValue(written)}`, where)
}
