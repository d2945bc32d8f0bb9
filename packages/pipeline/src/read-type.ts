/** The type of a step: its variables filled in, its name and version checked. */
import { nearMiss, substitute, type Scope } from '@windlass/plan'
import { currentValue } from './check.ts'
import { REFUSED_TYPES, STEP_TYPES } from './language.ts'
import type { Report } from './report.ts'
import type { MapNode, TreeNode } from './tree.ts'
import { textOf } from './tree.ts'
import { isVersion } from './typed/version.ts'

export interface TypePlace {
  readonly report: Report
  /** Of the step, such as `steps.test`. */
  readonly path: string
  /** What is known before a build starts; undefined where no build is about to start, so that nothing is. */
  readonly variables: Scope | undefined
}

const MAX_TYPE = 200

/**
 * The type that a step has, `freestyle` when none is written. A type that is not in `STEP_TYPES` is that of a typed step: `name`,
 * `account/name`, each with `:version`. Undefined, and told in the report, when the step cannot have one.
 */
export function readType(step: MapNode, place: TypePlace): string | undefined {
  const written = step.entries.get('type')?.value
  if (written === undefined) return 'freestyle'
  const text = textOf(written)
  const path = `${place.path}.type`
  if (text === undefined || text.trim() === '' || text.length > MAX_TYPE) {
    // The table of fields tells the first two in the same words, which count once.
    if (text === undefined)
      place.report.error('wrong-type', written.range, `"type" must be a string${currentValue(written)}`, { path })
    else if (text.trim() === '') place.report.error('empty-value', written.range, '"type" is not allowed to be empty', { path })
    else place.report.error('invalid-value', written.range, '"type" is too long', { path })
    return undefined
  }
  const type = text.includes('${{') ? filledIn(text, written, place) : text
  if (type === undefined || Object.hasOwn(STEP_TYPES, type)) return type
  const instead = Object.hasOwn(REFUSED_TYPES, type) ? REFUSED_TYPES[type] : undefined
  if (instead === undefined) {
    checkVersion(type, written, { ...place, path })
    return type
  }
  place.report.error('type-refused', written.range, `steps of type "${type}" are not run`, { path, hint: instead })
  return undefined
}

/** The types of the language. */
export const TYPE_NAMES: readonly string[] = [...Object.keys(STEP_TYPES), ...Object.keys(REFUSED_TYPES)]

/** The known type that a wrong one was probably meant to be. */
export function meantType(type: string): string | undefined {
  return nearMiss(type, TYPE_NAMES)
}

function filledIn(text: string, written: TreeNode, { report, path, variables }: TypePlace): string | undefined {
  const where = { path: `${path}.type` }
  if (variables === undefined) {
    report.warning(
      'type-variable',
      written.range,
      `"type" is known only when a build starts; the step is not checked${currentValue(written)}`,
      where,
    )
    return undefined
  }
  const filled = substitute(text, variables)
  const [missing] = filled.unresolved
  if (missing === undefined) return filled.text
  report.error('type-variable', written.range, `"type" refers to "${missing}", which has no value before the build starts`, {
    ...where,
    hint: 'Define it as a variable of the run, of the trigger or of the pipeline.',
  })
  return undefined
}

/** Rule V28: a version, or at least a word about its absence. A misspelt type of the language is told as that. */
function checkVersion(type: string, { range }: TreeNode, { report, path }: Pick<TypePlace, 'report' | 'path'>): void {
  const colon = type.indexOf(':')
  if (colon < 0 && meantType(type) !== undefined) return
  if (colon < 0) {
    report.warning(
      'step-version',
      range,
      'Step version not specified. The latest version will be used, which may result in breaking changes.',
      { path, hint: `Write "${type}:<version>".` },
    )
    return
  }
  const version = type.slice(colon + 1)
  if (!isVersion(version))
    report.warning('step-version', range, `Invalid semantic version "${version}" for step.`, {
      path,
      hint: 'Write for example 1.2.3.',
    })
}
