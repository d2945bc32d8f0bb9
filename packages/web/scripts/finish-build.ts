/** After a build of the page: writes compressed files beside the built ones, and checks the sizes that browsers load against their budgets. */
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const dist = resolve(import.meta.dirname, '../dist')
const COMPRESSED = /\.(?:css|js|html|svg|json)$/
/** Smaller files are sent as they are. Bytes. */
const SMALLEST = 1_024

interface Chunk {
  readonly file: string
  readonly name?: string
  readonly imports?: readonly string[]
  readonly css?: readonly string[]
}

/** Budgets after gzip, of a chunk with what it imports and the first page does not. Kilobytes of 1,000 bytes. */
const BUDGETS_KB = {
  'first script': 170,
  styles: 20,
  fonts: 100,
  viewer: 45,
  editor: 200,
  'language worker': 150,
  'spec-editor': 40,
  terminal: 110,
  other: 30,
} as const

/** The documents that have entries of their own. */
const PAGE = 'index.html'
const TERMINAL = 'terminal.html'

function compress(): void {
  for (const path of globSync('**/*', { cwd: dist })) {
    const file = join(dist, path)
    if (!COMPRESSED.test(path) || !statSync(file).isFile()) continue
    const bytes = readFileSync(file)
    if (bytes.length < SMALLEST) continue
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }))
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
  }
}

function gzipped(files: Iterable<string>): number {
  return [...files].reduce((sum, file) => sum + gzipSync(readFileSync(join(dist, file)), { level: 9 }).length, 0)
}

/** Returns a chunk and all that it imports at once. */
function withImports(key: string, manifest: Readonly<Record<string, Chunk>>, found = new Set<string>()): Set<string> {
  if (found.has(key)) return found
  found.add(key)
  for (const one of manifest[key]?.imports ?? []) withImports(one, manifest, found)
  return found
}

/** Chunks with a budget of their own, by the module that names them. */
const OWN_BUDGETS: Readonly<Record<string, number>> = {
  viewer: BUDGETS_KB.viewer,
  'code-editor': BUDGETS_KB.editor,
  'spec-editor': BUDGETS_KB['spec-editor'],
}

function limitOf(name: string | undefined): number {
  return OWN_BUDGETS[name ?? ''] ?? BUDGETS_KB.other
}

/** Returns the sizes that have a budget, in kilobytes. */
function measure(
  manifest: Readonly<Record<string, Chunk>>,
): { readonly what: string; readonly kb: number; readonly limit: number }[] {
  const first = withImports(PAGE, manifest)
  const terminal = withImports(TERMINAL, manifest).difference(first)
  const filesOf = (keys: Iterable<string>): string[] => [...keys].flatMap((key) => manifest[key]?.file ?? [])
  const css = [...first].flatMap((key) => manifest[key]?.css ?? [])
  const fonts = globSync('assets/*-latin-wght-normal-*.woff2', { cwd: dist })
  const fontBytes = fonts.reduce((sum, file) => sum + statSync(join(dist, file)).size, 0)
  const isScreen = (key: string): boolean => !first.has(key) && !terminal.has(key) && manifest[key]?.file.endsWith('.js') === true
  const screens = Object.keys(manifest).filter(isScreen)
  return [
    { what: 'first script', kb: gzipped(filesOf(first)) / 1_000, limit: BUDGETS_KB['first script'] },
    { what: 'styles', kb: gzipped(css) / 1_000, limit: BUDGETS_KB.styles },
    { what: 'terminal', kb: gzipped(filesOf(terminal)) / 1_000, limit: BUDGETS_KB.terminal },
    { what: 'fonts', kb: fontBytes / 1_000, limit: BUDGETS_KB.fonts },
    ...screens.map((key) => ({
      what: `chunk ${manifest[key]?.name ?? key}`,
      kb: gzipped(filesOf([key])) / 1_000,
      limit: limitOf(manifest[key]?.name),
    })),
    // A worker is not part of the manifest.
    ...globSync('assets/language-worker-*.js', { cwd: dist }).map((file) => ({
      what: 'language worker',
      kb: gzipped([file]) / 1_000,
      limit: BUDGETS_KB['language worker'],
    })),
  ]
}

// With `--check` the built files stay as they are.
if (!process.argv.includes('--check')) compress()
const manifest: Record<string, Chunk> = JSON.parse(readFileSync(join(dist, '.vite/manifest.json'), 'utf8'))
const sizes = measure(manifest)
for (const { what, kb, limit } of sizes)
  console.log(`${kb > limit ? 'OVER' : 'ok  '} ${what}: ${kb.toFixed(1)} kB of ${limit} kB`)
if (sizes.some(({ kb, limit }) => kb > limit)) process.exit(1)
