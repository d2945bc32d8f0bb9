/** Step types read from manifests in a folder: for local builds, and for catalogs that are imported. The folder may belong to a foreign repository. */
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  BUILT_IN_CATALOG,
  catalogOf,
  isLanguageType,
  isStepType,
  joinCatalogs,
  readStepType,
  type CatalogEntry,
  type Diagnostic,
  type StepCatalog,
} from '@windlass/pipeline'
import { folderTooLarge, listYamlFiles, MAX_BYTES, MAX_TOTAL_BYTES } from './yaml-files.ts'

/** Default folder, next to the document. */
export const STEP_TYPE_FOLDER = join('.windlass', 'steps')
/** A file that is too large is reported only if `kind: step-type` is in its first bytes. */
const HEAD_BYTES = 65_536
/** Every manifest contains this, so that other files do not have to be parsed. */
const KIND = /kind["']?[ \t]*:[ \t]*["']?step-type\b/

export interface StepTypeLocation {
  /** Specified by the user; must exist. */
  readonly folder: string | undefined
  /** Path of the pipeline document. */
  readonly documentPath: string | undefined
}

export interface FolderStepTypes {
  /** The step types of the folder, and the built-in ones. */
  readonly catalog: StepCatalog
  /** One warning for each manifest that cannot be used. */
  readonly warnings: readonly Diagnostic[]
}

/**
 * Returns the step types of a folder together with the built-in ones. Ignores files that are not step types, and leaves out manifests with errors. Throws
 * `file-not-found` if the specified folder does not exist, `usage` if it is too large.
 */
export function readStepTypeFolder({ folder, documentPath }: StepTypeLocation): FolderStepTypes {
  const place = folder ?? join(documentPath === undefined ? '.' : dirname(documentPath), STEP_TYPE_FOLDER)
  const hint = folder === undefined ? undefined : 'Specify the folder of step types with --step-types.'
  const manifests = listManifests(place, { hint })
  const catalog = joinCatalogs(catalogOf(manifests.flatMap(({ entry }) => entry ?? [])), BUILT_IN_CATALOG)
  const warnings = manifests.flatMap(({ file, problems, isOfLanguage }) => (isOfLanguage ? [] : toWarning(file, problems)))
  return { catalog, warnings }
}

/** `code` is undefined for a file that is not read. */
export interface ManifestProblem extends Pick<Diagnostic, 'line' | 'message'> {
  readonly code?: Diagnostic['code']
  readonly hint?: string
}

/** A manifest of a step catalog. */
export interface FolderManifest {
  readonly file: string
  readonly text: string
  /** `name:version`, or the name alone if the manifest cannot be used. */
  readonly label: string
  /** Undefined if the manifest cannot be used. */
  readonly entry: CatalogEntry | undefined
  /** True for a type of the language, which a catalog may list, with or without steps. */
  readonly isOfLanguage: boolean
  /** Why the manifest cannot be used. Empty if it can. */
  readonly problems: readonly ManifestProblem[]
}

/**
 * Reads all manifests of step types below a folder, sorted by path. Follows no links. `hint` is for a folder that does not exist; without one, such a folder is
 * empty. Throws as `readStepTypeFolder` does.
 */
export function listManifests(folder: string, { hint }: { readonly hint: string | undefined }): FolderManifest[] {
  let total = 0
  return listYamlFiles(folder, { hint }).flatMap((file) => {
    const manifest = readFile(file)
    total += manifest?.text.length ?? 0
    if (total > MAX_TOTAL_BYTES) throw folderTooLarge(folder, `manifests of more than ${MAX_TOTAL_BYTES / MAX_BYTES} MiB`)
    return manifest ?? []
  })
}

/** Returns a warning with the first problem of a manifest. Its hint says how to see the others. */
function toWarning(file: string, [first, ...more]: readonly ManifestProblem[]): Diagnostic[] {
  if (first === undefined) return []
  const { line, message } = first
  const place = { file, line, column: 1, endLine: line, endColumn: 1 }
  const hint = more.length === 0 ? '' : `It has ${more.length} more: \`windlass validate ${file}\`.`
  return [{ ...place, severity: 'warning', code: 'step-type', message: `the step type is left out: ${message}`, hint, path: '' }]
}

/** Returns undefined for a file that is no manifest. */
function readFile(file: string): FolderManifest | undefined {
  const none = { file, text: '', label: '', entry: undefined, isOfLanguage: false }
  try {
    const { size } = statSync(file)
    if (size > MAX_BYTES)
      return KIND.test(readHead(file))
        ? { ...none, problems: [{ line: 1, message: `it is larger than ${MAX_BYTES} bytes` }] }
        : undefined
    return readManifest({ file, text: readFileSync(file, 'utf8') })
  } catch (error) {
    return { ...none, problems: [{ line: 1, message: error instanceof Error ? error.message : String(error) }] }
  }
}

function readHead(file: string): string {
  const opened = openSync(file, 'r')
  try {
    const head = Buffer.alloc(HEAD_BYTES)
    return head.toString('utf8', 0, readSync(opened, head))
  } finally {
    closeSync(opened)
  }
}

function readManifest(source: { readonly file: string; readonly text: string }): FolderManifest | undefined {
  if (!KIND.test(source.text)) return undefined
  const { manifest, problems, name = '' } = readStepType(source)
  if (manifest === undefined && !isStepType(source)) return undefined
  const isOfLanguage = isLanguageType(name)
  const errors = problems.filter(({ severity }) => severity === 'error')
  const isUsable = manifest !== undefined && !isOfLanguage
  const entry = isUsable ? { name: manifest.name, version: manifest.version, text: source.text } : undefined
  return {
    ...source,
    label: entry === undefined ? name : `${entry.name}:${entry.version}`,
    entry,
    isOfLanguage,
    problems: errors,
  }
}
