/** Reads the type of a step: substitutes its variables, and checks its name and version. */
import { nearMiss, substitute, type Scope } from '@windlass/plan'
import { currentValue } from '../language/check.ts'
import { REFUSED_TYPES, STEP_TYPES } from '../actions/index.ts'
import type { Report } from '../syntax/report.ts'
import type { MapNode, TreeNode } from '../syntax/tree.ts'
import { textOf } from '../syntax/tree.ts'
import type { StepCatalog } from '../typed/catalog.ts'
import { parseStepTypeName } from '../typed/step-type-name.ts'
import { listVersions } from '../typed/list-versions.ts'
import { isVersion } from '../typed/version.ts'

export interface TypePlace {
  readonly report: Report
  /** Path of the step, such as `steps.test`. */
  readonly path: string
  /** Variables that are known before a build starts; undefined if no build is about to start. */
  readonly variables: Scope | undefined
  /** For the versions that messages name. */
  readonly catalog: StepCatalog | undefined
}

const MAX_TYPE = 200

/**
 * Returns the type of a step, `freestyle` by default. A type of the language is returned without its version. Any other type is that of a typed step:
 * `name` or `account/name`, optionally with `:version`. Reports a type that is not usable and returns undefined.
 */
export function readType(step: MapNode, place: TypePlace): string | undefined {
  const written = step.entries.get('type')?.value
  if (written === undefined) return 'freestyle'
  const text = textOf(written)
  const path = `${place.path}.type`
  if (text === undefined || text.trim() === '' || text.length > MAX_TYPE) {
    // The field table reports the first two with the same text, and duplicates are dropped.
    if (text === undefined)
      place.report.error('wrong-type', written.range, `"type" must be a string${currentValue(written)}`, { path })
    else if (text.trim() === '') place.report.error('empty-value', written.range, '"type" is not allowed to be empty', { path })
    else place.report.error('invalid-value', written.range, '"type" is too long', { path })
    return undefined
  }
  const type = text.includes('${{') ? substituteType(text, written, place) : text
  if (type === undefined || isLanguageType(type)) return type
  // The catalog of Codefresh lists the types of the language with versions, too (`pending-approval:1.0.2`). They have no steps of their own there.
  const { name, version = '' } = parseStepTypeName(type)
  if (isLanguageType(name) && isVersion(version)) return name
  const alternative = Object.hasOwn(REFUSED_TYPES, name) ? REFUSED_TYPES[name] : undefined
  if (alternative === undefined) {
    checkVersion(type, written, { ...place, path })
    return type
  }
  place.report.error('type-refused', written.range, `step type "${name}" is not supported`, { path, hint: alternative })
  return undefined
}

/** Returns true for a type of the language, such as `freestyle`. */
export function isLanguageType(name: string): boolean {
  return Object.hasOwn(STEP_TYPES, name)
}

/** All step types of the language. */
export const TYPE_NAMES: readonly string[] = [...Object.keys(STEP_TYPES), ...Object.keys(REFUSED_TYPES)]

/** Returns the known type that a misspelled one probably means. */
export function suggestType(type: string): string | undefined {
  return nearMiss(type, TYPE_NAMES)
}

function substituteType(text: string, written: TreeNode, { report, path, variables }: TypePlace): string | undefined {
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

/** Fields of steps that are taken for step types. */
const FIELDS_LIKE_TYPES: readonly string[] = ['matrix', 'scale', 'hooks']

/** Returns true for a field of steps that has the name of a step type nowhere. */
export function isFieldLikeType(name: string): boolean {
  return FIELDS_LIKE_TYPES.includes(name)
}

/** Warns about a missing or invalid version, unless the type is probably not a typed step at all, which is reported elsewhere. */
function checkVersion(type: string, { range }: TreeNode, { report, path, catalog }: Omit<TypePlace, 'variables'>): void {
  const colon = type.indexOf(':')
  const { name, version = '' } = parseStepTypeName(type)
  if (isVersion(version)) return
  const versions = catalog?.versions(name) ?? []
  const [latest] = versions
  if (colon < 0 && latest === undefined && (suggestType(type) !== undefined || isFieldLikeType(type))) return
  if (colon < 0) {
    const hint = latest === undefined ? 'Add the version of its manifest after a colon.' : `Write "${type}:${latest}".`
    report.warning(
      'step-version',
      range,
      'Step version not specified. The latest version will be used, which may result in breaking changes.',
      { path, hint: hint + listVersions(versions) },
    )
    return
  }
  report.warning('step-version', range, `Invalid semantic version "${version}" for step.`, {
    path,
    hint: `Use three numbers, such as ${latest ?? '1.2.3'}.${listVersions(versions)}`,
  })
}
