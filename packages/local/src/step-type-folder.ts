/** Step types of local builds: manifests in the files of a folder. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fault } from '@windlass/kit'
import {
  BUILT_IN_CATALOG,
  catalogOf,
  isStepType,
  joinCatalogs,
  readStepType,
  type CatalogEntry,
  type StepCatalog,
} from '@windlass/pipeline'

/** Looked for beside the document when no folder is named. */
export const STEP_TYPE_FOLDER = join('.windlass', 'steps')
const MAX_FILES = 1_000
const MAX_BYTES = 1_048_576

export interface StepTypePlace {
  /** Named by the user: it must exist. */
  readonly folder: string | undefined
  /** Of the pipeline. */
  readonly documentPath: string | undefined
}

/**
 * The step types of a folder and those that come with Windlass. Files that are no step types are passed over. Throws `file-not-found` for a
 * named folder that does not exist, `document-invalid` for a manifest with errors.
 */
export function readStepTypeFolder({ folder, documentPath }: StepTypePlace): StepCatalog {
  const place = folder ?? join(documentPath === undefined ? '.' : dirname(documentPath), STEP_TYPE_FOLDER)
  const entries = listFiles(place, folder !== undefined).flatMap((file) => readFile(file) ?? [])
  return joinCatalogs(catalogOf(entries), BUILT_IN_CATALOG)
}

function listFiles(folder: string, mustExist: boolean): string[] {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    return names
      .filter((name) => /\.ya?ml$/.test(name))
      .toSorted()
      .slice(0, MAX_FILES)
      .map((name) => join(folder, name))
  } catch (error) {
    if (!mustExist) return []
    throw fault(
      'file-not-found',
      { message: `There is no folder ${folder}.`, hint: 'Name the folder of step types with --step-types.' },
      error,
    )
  }
}

function readFile(file: string): CatalogEntry | undefined {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat === undefined || !stat.isFile() || stat.size > MAX_BYTES) return undefined
  const source = { text: readFileSync(file, 'utf8'), file }
  if (!isStepType(source)) return undefined
  const { manifest, problems } = readStepType(source)
  if (manifest !== undefined) return { name: manifest.name, version: manifest.version, text: source.text }
  throw fault('document-invalid', {
    message: `The step type in ${file} has errors.`,
    problems: problems.map((problem) => ({ ...problem })),
  })
}
