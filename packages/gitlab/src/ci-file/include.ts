/** Loads a `.gitlab-ci.yml` with the local files that it includes. Files outside of the repository are refused. */
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import { fault, hasCode } from '@windlass/kit'
import picomatch from 'picomatch'
import { expandText } from '../job/expand.ts'
import {
  invalid,
  MAX_VALUES,
  MergeLimit,
  mergeTables,
  without,
  type CiWarning,
  type Node,
  type Place,
  type TableNode,
} from './node.ts'
import { readYaml } from './read-yaml.ts'

/** Largest file. Bytes. */
const MAX_BYTES = 1_048_576
/** Most files, as on a GitLab server. */
const MAX_FILES = 150
/** Most files of the repository that a pattern is compared with. */
const MAX_LOOKED_AT = 100_000

export interface LoadOptions {
  /** Folder of the repository. */
  readonly root: string
  /** Path of the first file, relative to the root. */
  readonly file: string
  /** Returns the value of a variable in the path of an included file. */
  readonly valueOf: (name: string) => string | undefined
}

/** An include that a local run does not follow. */
export interface MissingInclude extends Place {
  /** `remote https://…`, for messages. */
  readonly what: string
}

export interface LoadedFile {
  readonly table: TableNode
  readonly missing: readonly MissingInclude[]
  readonly warnings: readonly CiWarning[]
}

/** Loads a file. Throws `file-not-found`, and `document-invalid` with the place. */
export function loadCiFile(options: LoadOptions): LoadedFile {
  const loader = new Loader(options)
  const path = posix.normalize(options.file)
  return { table: loader.load(path, undefined), missing: loader.missing, warnings: loader.warnings }
}

class Loader {
  readonly missing: MissingInclude[] = []
  readonly warnings: CiWarning[] = []
  readonly #options: LoadOptions
  readonly #root: string
  /** Files that are being loaded, each included by the one before. */
  readonly #open: string[] = []
  /** Each file is merged into those before it. */
  readonly #merges = new MergeLimit(MAX_FILES * MAX_VALUES)
  #count = 0

  constructor(options: LoadOptions) {
    this.#options = options
    this.#root = realpathSync(options.root)
  }

  load(path: string, from: Place | undefined): TableNode {
    if (this.#open.includes(path))
      throw invalid(from ?? { file: path, line: 1 }, `the files include each other: ${[...this.#open, path].join(' → ')}`)
    if ((this.#count += 1) > MAX_FILES)
      throw invalid(from ?? { file: path, line: 1 }, `more than ${MAX_FILES} files are included`)
    this.#open.push(path)
    const own = readYaml(this.#read(path, from), path, this.warnings)
    const include = own.entries.get('include')
    const included = include === undefined ? [] : itemsOf(include.value).flatMap((item) => this.#include(item))
    this.#open.pop()
    const all = [...included, without(own, 'include')]
    return all.reduce((under, over) => mergeTables(under, over, this.#merges))
  }

  #include(item: Node): TableNode[] {
    if (item.kind === 'scalar' && typeof item.value === 'string')
      return /^https?:\/\//.test(item.value) ? this.#skip(item.at, `remote ${item.value}`) : this.#local(item.at, item.value)
    if (item.kind !== 'table') throw invalid(item.at, '`include` takes paths and tables with `local`')
    const local = item.entries.get('local')?.value
    if (local === undefined) {
      const kind = ['remote', 'project', 'template', 'component', 'artifact'].find((key) => item.entries.has(key))
      if (kind === undefined) throw invalid(item.at, '`include` has none of local, remote, project, template and component')
      const value = item.entries.get(kind)?.value
      return this.#skip(item.at, `${kind} ${value?.kind === 'scalar' ? String(value.value) : ''}`.trim())
    }
    if (local.kind !== 'scalar' || typeof local.value !== 'string') throw invalid(local.at, '`include:local` takes a path')
    const inputs = item.entries.get('inputs')
    if (inputs !== undefined)
      throw invalid(inputs.at, 'a local run does not fill in the inputs of an included file', 'Write the values into the file.')
    const rules = item.entries.get('rules')
    if (rules !== undefined)
      this.warnings.push({ ...rules.at, message: '`include:rules` has no effect in a local run: the file is included' })
    return this.#local(local.at, local.value)
  }

  #skip(at: Place, what: string): TableNode[] {
    this.missing.push({ ...at, what })
    this.warnings.push({ ...at, message: `a local run does not include ${what}: its jobs and settings are missing` })
    return []
  }

  #local(at: Place, given: string): TableNode[] {
    const path = posix.normalize(expandText(given, this.#options.valueOf).replace(/^\/+/, ''))
    if (path === '..' || path.startsWith('../')) throw invalid(at, `"${given}" leads out of the repository`)
    if (!/\.ya?ml$/.test(path)) throw invalid(at, `"${given}" is not the path of a .yml or .yaml file`)
    const paths = path.includes('*') ? this.#matching(at, path) : [path]
    if (paths.length === 0) throw invalid(at, `no file matches "${given}"`)
    return paths.map((one) => this.load(one, at))
  }

  #matching(at: Place, pattern: string): string[] {
    const { base } = picomatch.scan(pattern)
    const isMatch = picomatch(pattern)
    const found: string[] = []
    let count = 0
    const look = (folder: string): void => {
      // Links are not followed.
      for (const entry of readdirSync(join(this.#root, folder), { withFileTypes: true })) {
        const path = folder === '' ? entry.name : `${folder}/${entry.name}`
        if ((count += 1) > MAX_LOOKED_AT)
          throw invalid(at, `"${pattern}" is compared with more than ${MAX_LOOKED_AT} files`, 'Begin the pattern with a folder.')
        if (entry.isDirectory() && entry.name !== '.git') look(path)
        else if (entry.isFile() && isMatch(path)) found.push(path)
      }
    }
    if (base === '' || this.#placeOf(base)?.isFolder === true) look(base)
    return found.toSorted()
  }

  #read(path: string, from: Place | undefined): string {
    const place = this.#placeOf(path)
    if (place === undefined || place.isFolder) {
      if (from !== undefined) throw invalid(from, `the file "${path}" does not exist in the repository`)
      throw fault('file-not-found', { message: `${path} does not exist in ${this.#root}.`, hint: 'Name the file with --file.' })
    }
    if (!place.isInside) throw invalid(from ?? { file: path, line: 1 }, `"${path}" is a link that leads out of the repository`)
    if (place.bytes > MAX_BYTES)
      throw invalid(from ?? { file: path, line: 1 }, `"${path}" has more than ${MAX_BYTES} bytes`, 'Split the file.')
    return readFileSync(place.path, 'utf8')
  }

  #placeOf(path: string): { path: string; isInside: boolean; isFolder: boolean; bytes: number } | undefined {
    try {
      const real = realpathSync(join(this.#root, path))
      const stat = statSync(real)
      const isInside = real === this.#root || real.startsWith(this.#root + sep)
      return { path: real, isInside, isFolder: !stat.isFile(), bytes: stat.size }
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined
      throw error
    }
  }
}

function itemsOf(node: Node): readonly Node[] {
  return node.kind === 'list' ? node.items.flatMap((item) => itemsOf(item)) : [node]
}
