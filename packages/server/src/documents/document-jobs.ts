/**
 * The jobs on documents of users, as pure functions. They run in a process of their own (`document-worker.ts`), or on the event loop if the document is
 * small (`isSmall`). Inputs can be cloned, outputs are JSON.
 */
import {
  BUILT_IN_CATALOG,
  catalogOf,
  checkStepType,
  compile,
  hasAliasOrSpelling,
  joinCatalogs,
  latestFirst,
  parseYaml,
  toValue,
  latestVersion,
  type CatalogEntry,
  type Compiled,
  type CompileOptions,
  type Diagnostic,
  type Source,
  type StepCatalog,
} from '@windlass/pipeline'
import { defined } from '@windlass/kit/defined'
import { readKubeconfig } from '../contexts/kubeconfig.ts'
import { maskDocument } from '../pipelines/mask-document.ts'
import { readSettings } from '../pipelines/settings.ts'

/** Step types of an account: all versions, and the manifests that are loaded so far. */
export interface StepTypes {
  readonly heads: readonly StepTypeVersion[]
  readonly loaded: readonly CatalogEntry[]
}

export interface StepTypeVersion {
  readonly name: string
  readonly version: string
}

export interface CompileJob {
  readonly source: Source
  readonly options: Omit<CompileOptions, 'stepTypes'>
  /** Step types of the account, or those that a build was created with. If absent, typed steps are not resolved. */
  readonly types?: StepTypes | { readonly frozen: readonly CatalogEntry[] } | undefined
}

export interface CompileResult {
  readonly compiled: Compiled
  /** Step types that the document uses and that are not loaded yet. */
  readonly missing: readonly StepTypeVersion[]
}

export const JOBS = {
  compile: compileJob,
  /** Reads the settings of a `kind: pipeline` document. Also returns the text without encrypted values, if it has any. */
  settings: ({ text, file }: Source) => {
    const written = readSettings(text, file)
    const masked = written === undefined ? text : maskDocument(text, written.variables)
    return { ...defined({ written }), ...(masked !== text && { masked }) }
  },
  stepType: (source: Source) => checkStepType(source),
  /** Converts a document to plain data; undefined if it has errors. */
  value: (source: Source) => {
    const { root } = parseYaml(source)
    return root === undefined ? {} : { value: toValue(root) }
  },
  kubeconfig: ({ text, name }: { readonly text: string; readonly name: string }) => readKubeconfig(text, name),
}

export type Jobs = typeof JOBS
export type JobName = keyof Jobs

/** Jobs that never run on the event loop: 90 steps of a step type that are this type itself take half a second. */
export const PROCESS_JOBS: readonly JobName[] = ['stepType']

/** Maximum size of a plan, because it is read and sent as a whole for each attempt. */
const MAX_PLAN_CHARS = 4_194_304

function compileJob({ source, options, types }: CompileJob): CompileResult {
  if (types === undefined) return { compiled: compileBounded(source, options), missing: [] }
  if ('frozen' in types) {
    const stepTypes = joinCatalogs(catalogOf(types.frozen), BUILT_IN_CATALOG)
    return { compiled: compileBounded(source, { ...options, stepTypes }), missing: [] }
  }
  const missing = new Map<string, StepTypeVersion>()
  const own: StepCatalog = {
    find(name, version) {
      const versions = types.heads.filter((head) => head.name === name)
      const wanted = version ?? latestVersion(versions.map((head) => head.version))
      const head = versions.find((one) => one.version === wanted)
      if (head === undefined) return undefined
      const entry = types.loaded.find((one) => one.name === name && one.version === wanted)
      if (entry === undefined) missing.set(`${name}:${wanted}`, head)
      return entry
    },
    names: () => [...new Set(types.heads.map(({ name }) => name))],
    versions: (name) => latestFirst(types.heads.flatMap((head) => (head.name === name ? head.version : []))),
  }
  const compiled = compileBounded(source, { ...options, stepTypes: joinCatalogs(own, BUILT_IN_CATALOG) })
  return { compiled, missing: [...missing.values()] }
}

function compileBounded(source: Source, options: CompileOptions): Compiled {
  const compiled = compile(source, options)
  const { plan, ...rest } = compiled
  if (plan === undefined || JSON.stringify({ ...plan, variables: [] }).length <= MAX_PLAN_CHARS) return compiled
  const place = { file: source.file, line: 1, column: 1, endLine: 1, endColumn: 1 }
  const problem: Diagnostic = {
    ...place,
    severity: 'error',
    code: 'too-large',
    message: 'the compiled steps of the document are larger than 4 MiB in total',
    hint: 'Move scripts and data to files in the repository.',
    path: 'steps',
  }
  return { ...rest, problems: [...rest.problems, problem] }
}

const SMALL_CHARS = 8_192
const SMALL_SIGNS = 1_000
/** Keys of steps that expand to much more than their text. */
const EXPANDS = /matrix|scale/

/** Returns true if processing the document takes a few milliseconds at most, whatever its content. Most documents are small and need no process. */
export function isSmall(text: string): boolean {
  if (text.length > SMALL_CHARS || EXPANDS.test(text)) return false
  if ((text.match(/[\n\r,:[\]{}"'\\*!?%&|+=<>()/-]/g)?.length ?? 0) > SMALL_SIGNS) return false
  return !hasAliasOrSpelling(text)
}
