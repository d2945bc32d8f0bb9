/**
 * The language of `.gitlab-ci.yml`, as far as one job needs it: includes of local files, `default`, `extends`, `!reference` and variables. It reads files and
 * runs nothing. `exec/` runs a job.
 */
import { fault, isFault } from '@windlass/kit'
import { nearest } from '@windlass/plan/suggest'
import type { CiJob } from './ci-job.ts'
import { loadCiFile, type LoadOptions } from './include.ts'
import { DEFAULTS, GLOBALS, KEYWORDS } from './keywords.ts'
import { invalid, tableNode, type CiWarning, type Entry, type Place, type TableNode } from './node.ts'
import { readArtifacts, readCaches, readImage, readServices, readVariables } from './read-parts.ts'
import { booleanOf, checkFields, commandsOf, fieldOf, secondsOf, textOf, textsOf } from './read-values.ts'
import { hintFor, openResolver, type Resolver } from './resolve.ts'

export interface ListedJob {
  readonly name: string
  readonly stage: string
  readonly at: Place
  /** Why the job cannot be run, with the place. */
  readonly problem?: string
}

export interface CiFile {
  /** Warnings about the files. Those about a job come with it. */
  readonly warnings: readonly CiWarning[]
  /** Returns the jobs in their order, without hidden ones. */
  list(): ListedJob[]
  /** Returns a job. Throws `not-found`, and `document-invalid` with the line. */
  job(name: string): { readonly job: CiJob; readonly warnings: readonly CiWarning[] }
}

/** Opens a file. Throws `file-not-found` and `document-invalid`. */
export function openCiFile(options: LoadOptions): CiFile {
  const { table, missing, warnings } = loadCiFile(options)
  const resolver = openResolver({ table, missing })
  const jobs = [...table.entries].flatMap(([name, { value }]) => (isJob(name) && value.kind === 'table' ? [name] : []))
  const workflow = table.entries.get('workflow')
  const ofFile: CiWarning[] = [
    ...warnings,
    ...(workflow === undefined ? [] : [{ ...workflow.at, message: '"workflow" has no effect in a local run: the job runs' }]),
    ...[...table.entries].flatMap(([name, { at, value }]) =>
      isJob(name) && value.kind !== 'table'
        ? [{ ...at, message: `"${name}" is not a job, because it is not a table, and has no effect` }]
        : [],
    ),
  ]
  return {
    warnings: ofFile,
    list: () => jobs.flatMap((name) => listed({ table, resolver }, name) ?? []),
    job(name) {
      if (!jobs.includes(name)) {
        const close = nearest(name, jobs)
        const usual = close === undefined ? 'List the jobs with `windlass gitlab exec --list`.' : `Did you mean "${close}"?`
        const isHidden = name.startsWith('.') && table.entries.has(name)
        const hint = isHidden ? 'A hidden job is only a template. Name a job that extends it.' : (hintFor(missing) ?? usual)
        throw fault('not-found', { message: `${options.file} has no job "${name}".`, hint })
      }
      const found: CiWarning[] = []
      return { job: readJob({ table, resolver, warnings: found }, name), warnings: found }
    },
  }
}

function isJob(name: string): boolean {
  return !name.startsWith('.') && !GLOBALS.includes(name)
}

/** Returns a job of the list. One that extends what does not exist has the stage that it names itself. */
function listed({ table, resolver }: Pick<Reading, 'table' | 'resolver'>, name: string): ListedJob | undefined {
  const own = table.entries.get(name)?.value
  if (own?.kind !== 'table') return undefined
  const stageIn = (one: TableNode): string => {
    const stage = fieldOf(one, 'stage')
    return stage?.kind === 'scalar' ? String(stage.value) : USUAL_STAGE
  }
  try {
    return { name, stage: stageIn(resolver.table(name)), at: own.at }
  } catch (error) {
    if (!isFault(error, 'document-invalid')) throw error
    return { name, stage: stageIn(own), at: own.at, problem: error.message }
  }
}

const USUAL_STAGE = 'test'

function stageOf(table: TableNode): string {
  const stage = fieldOf(table, 'stage')
  return stage === undefined ? USUAL_STAGE : textOf(stage, 'stage')
}

interface Reading {
  readonly table: TableNode
  readonly resolver: Resolver
  readonly warnings: CiWarning[]
}

function readJob(reading: Reading, name: string): CiJob {
  const { warnings, resolver } = reading
  const own = resolver.table(name)
  const inherit = readInherit(own)
  const table = withDefaults(own, defaultsOf(reading, inherit.default))
  checkFields(table, { known: KEYWORDS, prefix: '', job: name, warnings })
  const part = { job: name, warnings }
  const field = (key: string) => fieldOf(table, key)
  const [image, services, caches, artifacts] = ['image', 'services', 'cache', 'artifacts'].map(field)
  const [timeout, allowed] = ['timeout', 'allow_failure'].map(field)
  const script = commandsAt(table, 'script')
  if (script.length === 0) throw invalid(own.at, `the job "${name}" has no script`)
  return {
    name,
    stage: stageOf(table),
    at: own.at,
    script: [...commandsAt(table, 'before_script'), ...script],
    afterScript: commandsAt(table, 'after_script'),
    image: image === undefined ? undefined : readImage(image, part),
    services: services === undefined ? [] : readServices(services, part),
    variables: [...globalVariables(reading, inherit.variables), ...variablesOf(table)],
    caches: caches === undefined ? [] : readCaches(caches, part),
    artifacts: artifacts === undefined ? undefined : readArtifacts(artifacts, part),
    timeoutS: timeout === undefined ? undefined : secondsOf(timeout, 'timeout'),
    allowFailure: allowed === undefined ? false : readAllowed(allowed),
  }
}

function commandsAt(table: TableNode, key: string): string[] {
  const node = fieldOf(table, key)
  return node === undefined ? [] : commandsOf(node, key)
}

function variablesOf(table: TableNode): CiJob['variables'] {
  const node = fieldOf(table, 'variables')
  return node === undefined ? [] : readVariables(node, 'variables')
}

/** What `inherit` lets through: all, nothing, or the named ones. */
type Inherited = (name: string) => boolean

function readInherit(table: TableNode): { readonly default: Inherited; readonly variables: Inherited } {
  const inherit = fieldOf(table, 'inherit')
  const read = (key: string): Inherited => {
    const node = inherit?.kind === 'table' ? fieldOf(inherit, key) : undefined
    if (node === undefined) return () => true
    if (node.kind !== 'list') {
      const isOn = booleanOf(node, `inherit:${key}`)
      return () => isOn
    }
    const names = textsOf(node, `inherit:${key}`)
    return (name) => names.includes(name)
  }
  return { default: read('default'), variables: read('variables') }
}

/** Returns the values of `default`, and of the older keywords outside of jobs. */
function defaultsOf({ table, resolver }: Reading, isInherited: Inherited): Map<string, Entry> {
  const given = table.entries.has('default') ? resolver.table('default').entries : new Map<string, Entry>()
  const found = new Map<string, Entry>()
  for (const key of DEFAULTS) {
    const entry = given.get(key) ?? (GLOBALS.includes(key) ? topLevel({ table, resolver }, key) : undefined)
    if (entry !== undefined && isInherited(key)) found.set(key, entry)
  }
  return found
}

function topLevel({ table, resolver }: Pick<Reading, 'table' | 'resolver'>, key: string): Entry | undefined {
  const entry = table.entries.get(key)
  return entry === undefined ? undefined : { at: entry.at, value: resolver.value(entry.value) }
}

function withDefaults(own: TableNode, defaults: ReadonlyMap<string, Entry>): TableNode {
  return tableNode(own.at, new Map([...defaults, ...own.entries]))
}

function globalVariables(reading: Reading, isInherited: Inherited): CiJob['variables'] {
  const entry = topLevel(reading, 'variables')
  const given = entry === undefined ? [] : readVariables(entry.value, 'variables')
  return given.filter(({ key }) => isInherited(key))
}

function readAllowed(node: Parameters<typeof booleanOf>[0]): CiJob['allowFailure'] {
  if (node.kind !== 'table') return booleanOf(node, 'allow_failure')
  const codes = fieldOf(node, 'exit_codes')
  if (codes === undefined) throw invalid(node.at, 'allow_failure has no exit_codes')
  return textsOf(codes, 'allow_failure:exit_codes').map((text) => {
    if (!/^\d{1,3}$/.test(text)) throw invalid(codes.at, `allow_failure:exit_codes has "${text}", which is not an exit code`)
    return Number(text)
  })
}
