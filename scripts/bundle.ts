/**
 * `node scripts/bundle.ts FOLDER [PROGRAM]`: bundles each program, or one, into one file with its packages, as the images have them. A program that is one
 * file starts in about half the processor time of its sources (ADR 0075).
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { build, type Plugin } from 'rolldown'
import { buildPage } from './build-page.ts'
import { PROGRAMS } from './programs.ts'

const root = resolve(import.meta.dirname, '..')

/** Programs that load most of their modules only for some of their commands. */
const SPLIT: ReadonlySet<string> = new Set(['windlass', 'gitlab-helper'])

/** Folders of files that a program serves, and their place beside the program. */
const FOLDERS: Readonly<Record<string, string>> = {
  'packages/server/src/http/public': 'http/public',
  'packages/web/dist': 'web',
}

/** `readFileSync(new URL('clone.sh', import.meta.url), 'utf8')`: a file that is part of the program. */
const FILE = /readFileSync\(new URL\('([^']+)', import\.meta\.url\)(, 'utf8')?\)/g

/** Puts files that a module reads beside itself into the bundle, as strings or buffers. */
const inlineFiles: Plugin = {
  name: 'inline-files',
  transform(code, id) {
    if (!id.startsWith(join(root, 'packages/')) || !code.includes('import.meta.url')) return null
    return code.replaceAll(FILE, (_, path: string, asText: string | undefined) => {
      const content = readFileSync(resolve(dirname(id), path))
      return asText === undefined
        ? `Buffer.from(${JSON.stringify(content.toString('base64'))}, 'base64')`
        : JSON.stringify(content.toString('utf8'))
    })
  },
}

/** Refers to the bundle of a program that another one starts. */
const followPrograms: Plugin = {
  name: 'follow-programs',
  transform(code, id) {
    if (!id.startsWith(join(root, 'packages/'))) return null
    return code.replaceAll(/new URL\('\.\/([\w-]+)\.ts', import\.meta\.url\)/g, "new URL('./$1.js', import.meta.url)")
  },
}

/** An import of a module of Node in a bundle: `import fs, { readFileSync as read } from "node:fs"`. */
const BUILTIN = /^import (?:([\w$]+)(?:, )?)?(?:\* as ([\w$]+)|\{([^}]*)\})? ?from "([^"]+)";$/gm

/**
 * Gets the modules of Node by a call. A static import reads each of their exports, and some exports of `node:http` and `node:crypto` load what few
 * programs need: up to 30 ms of processor time per start.
 */
const callBuiltins: Plugin = {
  name: 'call-builtins',
  renderChunk(code) {
    return code.replaceAll(BUILTIN, (line, ...groups: readonly (string | undefined)[]) => {
      const [whole, all, named, id = ''] = groups
      if (!isBuiltin(id)) return line
      const names = [whole, all, named === undefined ? undefined : `{${named.replaceAll(' as ', ': ')}}`]
      return names.flatMap((name) => (name === undefined ? [] : `const ${name} = process.getBuiltinModule("${id}");`)).join(' ')
    })
  },
}

/** How one program is bundled. */
export interface Program {
  readonly name: string
  /** Entry point, relative to the root of the repository. */
  readonly entry: string
  /** True for a chunk per dynamic import. False by default: one file. */
  readonly isSplit?: boolean
  /** Oldest Node that runs the program; its syntax and missing functions are replaced. Default: the Node of the images. */
  readonly oldNode?: { readonly target: string; readonly plugin: Plugin }
}

/** Bundles one program into `NAME.js` of `folder`. Resolves to the folders of the npm packages in it, relative to the root of the repository. */
export async function bundleProgram({ name, entry, isSplit = false, oldNode }: Program, folder: string): Promise<string[]> {
  const { output } = await build({
    // The comments of a bundle name the sources relative to this folder.
    cwd: root,
    input: join(root, entry),
    platform: 'node',
    // An old Node has no `process.getBuiltinModule`.
    plugins: [inlineFiles, followPrograms, oldNode === undefined ? callBuiltins : oldNode.plugin],
    // ssh2 and ws try native helpers and do without them.
    external: [/\.node$/, 'cpu-features', 'bufferutil', 'utf-8-validate', 'pg-native'],
    ...(oldNode !== undefined && { transform: { target: oldNode.target } }),
    output: {
      dir: folder,
      entryFileNames: `${name}.js`,
      chunkFileNames: `${name}-[name]-[hash].js`,
      format: 'esm',
      codeSplitting: isSplit,
    },
    logLevel: 'warn',
  })
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
  return [...new Set(modules.flatMap((id) => packageOf(relative(root, id)) ?? []))].toSorted()
}

/** Returns the folder of the npm package that a module belongs to: `node_modules/@scope/name` of any file in it. */
function packageOf(path: string): string | undefined {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]
}

/** Builds the page if necessary, and copies the files that programs serve beside them. */
export function copyFolders(folder: string): void {
  buildPage()
  const isShown = (path: string): boolean => !basename(path).startsWith('.')
  for (const [from, to] of Object.entries(FOLDERS))
    if (existsSync(join(root, from))) cpSync(join(root, from), join(folder, to), { recursive: true, filter: isShown })
}

/** Bundles all programs into `folder`, whose content it replaces. `packages.json` lists the npm packages in the bundles. */
export async function bundle(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const packages = new Set<string>()
  for (const [name, entry] of Object.entries(PROGRAMS))
    for (const path of await bundleProgram({ name, entry, isSplit: SPLIT.has(name) }, folder)) packages.add(path)
  copyFolders(folder)
  writeFileSync(join(folder, 'packages.json'), `${JSON.stringify(describePackages([...packages]), null, 2)}\n`)
}

/** An npm package of a bundle. */
export interface BundledPackage {
  readonly name: string
  readonly version: string
  readonly license?: string
}

/** Returns name, version and license of npm packages, given their folders. */
export function describePackages(folders: readonly string[]): BundledPackage[] {
  const found = folders.toSorted().map((path) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')) as BundledPackage
    return { name, version, ...(typeof license === 'string' && { license }) }
  })
  const unique = new Map(found.map((each) => [`${each.name}@${each.version}`, each]))
  return [...unique.values()]
}

if (import.meta.main) {
  const [folder, name] = process.argv.slice(2)
  if (folder === undefined) throw new Error('usage: node scripts/bundle.ts FOLDER [PROGRAM]')
  const entry = Object.entries(PROGRAMS).find(([program]) => program === name)?.[1]
  if (name !== undefined && entry === undefined) throw new Error(`there is no program ${name}`)
  if (name === undefined || entry === undefined) await bundle(resolve(folder))
  else await bundleProgram({ name, entry, isSplit: SPLIT.has(name) }, resolve(folder))
}
