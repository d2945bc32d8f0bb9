/**
 * Checks the code against the import table of ARCHITECTURE.md, and against four rules that lint does not have: settings are read only in
 * config files, wall time only in kit, a package declares its imports, and there are no import cycles, types included. Prints each violation and
 * exits with 1.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { findCycles } from './cycles.ts'

const root = resolve(import.meta.dirname, '..')
const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^'"]*?\bfrom\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)\s*import\s+['"]([^'"]+)['"]/g

interface Rule {
  readonly from: string
  readonly to: readonly string[]
}

/** Reads the rows `| package | may import |` of ARCHITECTURE.md. */
export function readImportTable(markdown: string): Rule[] {
  const lines = markdown.split('\n')
  const start = lines.findIndex((line) => /^\|\s*package\s*\|\s*may import\s*\|/.test(line))
  const rules: Rule[] = []
  for (const line of lines.slice(start + 2)) {
    const cells = /^\|([^|]*)\|([^|]*)\|$/.exec(line)
    if (cells === null) break
    const to = (cells[2] ?? '').split(',').map((cell) => cell.trim())
    rules.push({ from: (cells[1] ?? '').trim(), to: to.filter((name) => name !== '' && name !== '–') })
  }
  return rules
}

/** Returns the module specifiers that a TypeScript text imports. */
export function importsOf(text: string): string[] {
  return [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}

/** Returns the violations in one source file of `packages/<name>/src`. */
export function breaches(
  file: { name: string; path: string; text: string },
  rules: readonly Rule[],
  declared: ReadonlySet<string>,
): string[] {
  const rule = rules.find(({ from }) => from === file.name)
  if (rule === undefined) return [`${file.path}: package ${file.name} is not in the table of ARCHITECTURE.md`]
  const found: string[] = []
  for (const module of importsOf(file.text)) {
    if (module.startsWith('.')) {
      const target = relative(root, resolve(root, dirname(file.path), module)).split(sep)
      if (target[0] !== 'packages' || target[1] !== file.name) found.push(`${file.path}: ${module} leaves the package`)
    } else if (module.startsWith('@windlass/')) {
      const target = module.slice('@windlass/'.length)
      const allowed = rule.to.some((name) => name === target || (!name.includes('/') && name === target.split('/')[0]))
      if (!allowed && target.split('/')[0] !== file.name) found.push(`${file.path}: ${file.name} may not import ${target}`)
      else if (!declared.has(`@windlass/${target.split('/')[0]}`) && target.split('/')[0] !== file.name)
        found.push(`${file.path}: ${module} is not declared in package.json`)
    } else if (!module.startsWith('node:')) {
      const name = module.startsWith('@') ? module.split('/').slice(0, 2).join('/') : (module.split('/')[0] ?? module)
      if (!declared.has(name)) found.push(`${file.path}: ${name} is not declared in package.json`)
    }
  }
  const isConfig = /(^|\/)(config|main)\.ts$/.test(file.path)
  if (!isConfig && /\bprocess\.env\b/.test(file.text)) found.push(`${file.path}: process.env is read outside a config file`)
  const hasClock = file.name === 'kit' || file.path === join('packages', 'web', 'src', 'looks', 'clock.ts')
  if (!hasClock && /\bDate\.now\(/.test(file.text))
    found.push(`${file.path}: Date.now() is called outside kit/clock and web/looks/clock`)
  return found
}

/** Returns the files that a file imports by relative paths. */
function relativeImports(path: string): string[] {
  const modules = importsOf(readFileSync(join(root, path), 'utf8'))
  return modules.filter((module) => module.startsWith('.')).map((module) => join(dirname(path), module))
}

function declaredBy(name: string): Set<string> {
  const manifest: { dependencies?: Record<string, string> } = JSON.parse(
    readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'),
  )
  return new Set(Object.keys(manifest.dependencies ?? {}))
}

function main(): void {
  const rules = readImportTable(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8'))
  const paths = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root }).filter((path) => !path.endsWith('.test.ts'))
  const found = paths.flatMap((path) => {
    const name = path.split(sep)[1] ?? ''
    return breaches({ name, path, text: readFileSync(join(root, path), 'utf8') }, rules, declaredBy(name))
  })
  const others = globSync('{scripts,e2e,bench}/**/*.ts', { cwd: root }).filter((path) => !path.endsWith('.test.ts'))
  const imports = new Map([...paths, ...others].map((path) => [path, relativeImports(path)]))
  for (const cycle of findCycles(imports)) found.push(`cycle: ${[...cycle, cycle[0]].join(' -> ')}`)
  for (const line of found) console.error(line)
  if (found.length > 0) process.exit(1)
  console.log(`imports: ${paths.length} files obey the table, ${imports.size} have no cycle`)
}

if (import.meta.main) main()
