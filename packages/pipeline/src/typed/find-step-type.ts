/** Finds the step type of a typed step. Reports one that does not exist, and one that only a server may have. */
import { nearMiss } from '@windlass/plan'
import { suggestType, TYPE_NAMES } from '../draft/read-type.ts'
import { didYouMean } from '../language/did-you-mean.ts'
import type { Report } from '../syntax/report.ts'
import type { Range } from '../syntax/source.ts'
import type { CatalogEntry, StepCatalog } from './catalog.ts'
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
    const close = suggestType(shorten(name))
    if (close === undefined) reportUnchecked('', place)
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
  // A type that resembles one of the language is a mistake on every server.
  if (catalog.isPartial === true && suggestType(shorten(name)) === undefined) {
    const what = catalog.find(name, undefined) === undefined ? '' : `version ${version} of `
    reportUnchecked(what, place, PARTIAL_HINT)
    return 'elsewhere'
  }
  reportNotFound({ name, version, catalog }, place)
  return undefined
}

/** Returns the start of a name for messages and suggestions, because a name can be as long as the document. */
function shorten(name: string): string {
  return name.slice(0, 150)
}

const PARTIAL_HINT =
  'A server may have it. Here step types come from the folder .windlass/steps next to the document, or from --step-types.'

/** Warns about a type that is not known here. `what` is empty or names the version. */
function reportUnchecked(what: string, { type, path, report }: WrittenType, hint = ''): void {
  const name = shorten(parseStepTypeName(type.written).name)
  report.warning('step-type', type.range, `${what}step type "${name}" is unknown here; the step is not checked`, {
    path: `${path}.type`,
    hint,
  })
}

/** Reports a step type, or a version of it, that the catalog does not have. */
function reportNotFound(
  { name, version, catalog }: { name: string; version: string | undefined; catalog: StepCatalog },
  place: WrittenType,
): void {
  const latest = catalog.find(name, undefined)
  if (latest === undefined) {
    const close = nearMiss(shorten(name), [...TYPE_NAMES, ...catalog.names()])
    return reportMissing(name, close, place, 'Create it from its manifest, or use a built-in type.')
  }
  const { type, path, report } = place
  report.error('step-type', type.range, `version ${version ?? ''} of step type "${name}" does not exist`, {
    path: `${path}.type`,
    hint: `The latest version is ${latest.version}.`,
  })
}

/** Reports a step type that does not exist. `close` is a similar name, if there is one. */
function reportMissing(name: string, close: string | undefined, { type, path, report }: WrittenType, hint = ''): void {
  report.error('step-type', type.range, `step type "${shorten(name)}" does not exist${didYouMean(close)}`, {
    path: `${path}.type`,
    hint,
    ...(close !== undefined && { suggestion: { from: name, to: close } }),
  })
}
