/** Finds the step type of a typed step. Reports one that does not exist, and one that only a server may have. */
import { nearMiss } from '@windlass/plan'
import { isFieldLikeType, suggestType, TYPE_NAMES } from '../draft/read-type.ts'
import { didYouMean } from '../language/did-you-mean.ts'
import type { Report } from '../syntax/report.ts'
import type { Range } from '../syntax/source.ts'
import type { CatalogEntry } from './catalog.ts'
import { listVersions } from './list-versions.ts'
import { parseStepTypeName } from './step-type-name.ts'
import type { TypedContext } from './typed-context.ts'
import { isVersion } from './version.ts'

/** A type as written in a document. */
interface WrittenType {
  readonly type: { readonly written: string; readonly range: Range }
  /** Path of the step. */
  readonly path: string
  readonly report: Report
}

export interface TypeLookup extends WrittenType {
  readonly context: TypedContext
  /** Names of the enclosing step types, outermost first. */
  readonly inside: readonly string[]
}

/** Maximum nesting of typed steps. */
const MAX_TYPED_DEPTH = 8

/** Returns the step type; `elsewhere` if a server may have it. Reports problems and returns undefined if it cannot be used. */
export function findStepType({ type, path, report, context, inside }: TypeLookup): CatalogEntry | 'elsewhere' | undefined {
  const { name, version } = parseStepTypeName(type.written)
  if (inside.length >= MAX_TYPED_DEPTH) {
    report.error(
      'step-type',
      type.range,
      `typed steps are nested more than ${MAX_TYPED_DEPTH} deep: ${[...inside, name].join(' > ')}`,
      {
        path: `${path}.type`,
      },
    )
    return undefined
  }
  const { catalog } = context
  const place = { type, path, report }
  if (catalog === undefined) {
    context.skipped = true
    if (isFieldLikeType(name)) return reportField(name, place)
    const close = suggestType(shorten(name))
    const what = `step type "${shorten(name)}" is neither built in nor loaded`
    if (close === undefined) reportUnchecked(what, { ...place, hint: LOAD_HINT })
    else reportMissing(name, close, place)
    return undefined
  }
  const found = catalog.find(name, version === '' ? undefined : version)
  if (found !== undefined) {
    const isOther = version !== undefined && isVersion(version) && found.version !== version
    const message = `version ${version} of step type "${name}" is not included; ${found.version} is used`
    if (isOther) report.warning('step-version', type.range, message, { path: `${path}.type` })
    return found
  }
  const versions = catalog.versions(name)
  if (versions.length > 0) return reportVersion({ name, version, versions, isPartial: catalog.isPartial === true }, place)
  if (isFieldLikeType(name)) return reportField(name, place)
  const close = report.suggest(shorten(name), catalog, () => nearMiss(shorten(name), [...TYPE_NAMES, ...catalog.names()]))
  // A type that resembles one of the language is a mistake on every server.
  if (catalog.isPartial === true && suggestType(shorten(name)) === undefined) {
    const what = `step type "${shorten(name)}" is neither built in nor loaded`
    reportUnchecked(what, { ...place, hint: `${LOAD_HINT} ${PARTIAL_HINT}`, close })
    return 'elsewhere'
  }
  return reportMissing(name, close, place, MISSING_HINT)
}

/** Returns the start of a name for messages and suggestions, because a name can be as long as the document. */
function shorten(name: string): string {
  return name.slice(0, 150)
}

const LOAD_HINT = 'Load the catalog that has it into a server with `windlass import step-types SOURCE`.'
const PARTIAL_HINT = 'Here step types come from the folder .windlass/steps next to the document, or from --step-types.'
const MISSING_HINT =
  'Load the catalog that has it with `windlass import step-types SOURCE`, create it from its manifest, or use a built-in type.'

interface Unchecked extends WrittenType {
  readonly hint: string
  /** A similar name, if there is one. */
  readonly close?: string | undefined
}

/** Warns about a type that only a server may know. */
function reportUnchecked(what: string, { type, path, report, hint, close }: Unchecked): void {
  report.warning('step-type', type.range, `${what}; the step is not checked${didYouMean(close)}`, {
    path: `${path}.type`,
    hint,
    ...(close !== undefined && { suggestion: { from: parseStepTypeName(type.written).name, to: close } }),
  })
}

interface UnknownVersion {
  readonly name: string
  readonly version: string | undefined
  readonly versions: readonly string[]
  /** True if a server may have the version. */
  readonly isPartial: boolean
}

/** Reports a version that the catalog does not have. */
function reportVersion({ name, version = '', versions, isPartial }: UnknownVersion, place: WrittenType): 'elsewhere' | undefined {
  const what = `version ${version} of step type "${name}"`
  const other = isVersion(version) ? `, or load ${version} from its catalog` : ''
  const hint = `Use one of the known versions${other}.${listVersions(versions)}`
  if (isPartial) {
    reportUnchecked(`${what} is not loaded`, { ...place, hint })
    return 'elsewhere'
  }
  place.report.error('step-type', place.type.range, `${what} does not exist`, { path: `${place.path}.type`, hint })
  return undefined
}

/** Reports a field of steps that is written as a type. */
function reportField(name: string, { type, path, report }: WrittenType): undefined {
  report.error('step-type', type.range, `step type "${name}" does not exist; "${name}" is a field of steps`, {
    path: `${path}.type`,
    hint: `Remove "type: ${type.written}", and write the field "${name}" in a step of another type, such as freestyle or build.`,
  })
}

/** Reports a step type that does not exist. `close` is a similar name, if there is one. */
function reportMissing(name: string, close: string | undefined, { type, path, report }: WrittenType, hint = ''): undefined {
  report.error('step-type', type.range, `step type "${shorten(name)}" does not exist${didYouMean(close)}`, {
    path: `${path}.type`,
    hint,
    ...(close !== undefined && { suggestion: { from: name, to: close } }),
  })
}
