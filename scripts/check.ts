/** The quick checks: format, lint, types, import table, generated files, documentation, unit tests. Runs two at a time and prints each with its time. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { keep, take, type Kept } from './kept.ts'

const root = resolve(import.meta.dirname, '..')
const bin = (name: string): string => join(root, 'node_modules/.bin', name)
const node = process.execPath

interface Check {
  readonly name: string
  readonly command: readonly string[]
  /** File in which it keeps what it found, so that the next run checks only what depends on a change. */
  readonly found?: string
}

/** Checks the types of a project. One checker: each further one checks what they share again. */
function types(name: string, project: string, key: string): Check {
  const found = join(root, 'node_modules/.cache/types', `${key}.tsbuildinfo`)
  return {
    name,
    command: [bin('tsc'), '--noEmit', '--checkers', '1', '--incremental', '--tsBuildInfoFile', found, '-p', project],
    found,
  }
}

/** Longest first, so that the short ones fill the second core. */
const CHECKS: readonly Check[] = [
  {
    name: 'unit tests',
    command: [node, join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--project', 'unit', '--reporter=dot'],
  },
  { name: 'lint', command: [bin('oxlint'), '--type-aware', '.'] },
  types('types', '.', 'all'),
  types('types of the page', 'packages/web', 'page'),
  { name: 'format', command: [bin('oxfmt'), '--check', 'packages', 'scripts', 'e2e', 'bench', 'vitest.config.ts'] },
  { name: 'imports', command: [node, 'scripts/check-imports.ts'] },
  { name: 'generated files', command: [node, 'scripts/gen.ts', '--check'] },
  { name: 'feature rows', command: [node, 'scripts/features.ts'] },
  { name: 'documentation', command: [node, 'scripts/check-docs.ts'] },
]

interface Result {
  readonly name: string
  readonly ok: boolean
  readonly output: string
  readonly seconds: number
}

/** Where clones find what a check of another one found: it names sources relative to the clone, with hashes of their content. */
const keptAs = (found: string): Kept => ({ name: basename(found), key: 'last' })

async function run(check: Check): Promise<Result> {
  const start = performance.now()
  const { found } = check
  if (found !== undefined && !existsSync(found)) take(keptAs(found), found)
  const [file = '', ...args] = check.command
  const child = spawn(file, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const { promise, resolve: ended } = Promise.withResolvers<number | null>()
  child.once('close', ended)
  child.once('error', () => ended(null))
  const [code, out, err] = await Promise.all([promise, text(child.stdout), text(child.stderr)])
  if (found !== undefined && existsSync(found)) keep(keptAs(found), found)
  return { name: check.name, ok: code === 0, output: out + err, seconds: (performance.now() - start) / 1000 }
}

async function main(): Promise<void> {
  const only = process.argv.slice(2)
  const queue = CHECKS.filter(({ name }) => only.length === 0 || only.includes(name))
  const results: Result[] = []
  const worker = async (): Promise<void> => {
    for (let check = queue.shift(); check !== undefined; check = queue.shift()) {
      const result = await run(check)
      results.push(result)
      console.log(`${result.ok ? 'ok  ' : 'FAIL'} ${result.name} (${result.seconds.toFixed(1)} s)`)
      if (!result.ok) console.log(result.output.trimEnd())
    }
  }
  await Promise.all([worker(), worker()])
  const failed = results.filter(({ ok }) => !ok).length
  console.log(`${results.length - failed} passed, ${failed} failed`)
  if (failed > 0) process.exit(1)
}

await main()
