/**
 * Writes the reference pages from the code that they describe; `--check` only compares and exits 1 when a page is stale.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { faults, type FaultSpec } from '../packages/kit/src/faults.ts'
import { BUILD_STATUSES, REASONS, STEP_STATUSES } from '../packages/plan/src/index.ts'
import { RuntimeInput } from '../packages/protocol/src/index.ts'
import { featurePage } from './features.ts'

const root = resolve(import.meta.dirname, '..')
const NOTE = '<!-- Written by `npm run gen`; edit the source it names instead. -->'

/** A Markdown table; `|` in cells is escaped. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

function faultPage(): string {
  const rows = Object.entries<FaultSpec>(faults).map(([code, spec]) => [
    `\`${code}\``,
    String(spec.status),
    spec.text,
    spec.hint,
    spec.retry === true ? 'yes' : '',
  ])
  return `${NOTE}\n# Error codes\n\nSource: packages/kit/src/faults.ts. The API answers them as \`application/problem+json\` with \`code\`, \`detail\` and \`hint\`.\n\n${table(['code', 'HTTP', 'meaning', 'what to do', 'try again'], rows)}\n`
}

function statePage(): string {
  const rows = Object.entries(REASONS).map(([reason, { blame, text }]) => [`\`${reason}\``, blame, text])
  const list = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(' · ')
  return `${NOTE}
# States and reasons

Source: packages/plan/src/lists.ts.

Builds: ${list(BUILD_STATUSES)}

Steps: ${list(STEP_STATUSES)}

A reason says why a build waits or how it ended. \`user\`: the pipeline or its code; \`infra\`: the cluster or Windlass, tried again by itself;
\`control\`: somebody or something decided it; \`waiting\`: what the build waits for.

${table(['reason', 'kind', 'meaning'], rows)}
`
}

/** Every generated file: path -> text. */
async function pages(): Promise<Record<string, string>> {
  return {
    'docs/reference/errors.md': faultPage(),
    'docs/reference/states.md': statePage(),
    'docs/reference/runtime.schema.json': `${JSON.stringify(z.toJSONSchema(RuntimeInput, { io: 'input' }), null, 2)}\n`,
    'docs/features/README.md': featurePage(),
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

const check = process.argv.includes('--check')
const stale: string[] = []
for (const [path, text] of Object.entries(await pages())) {
  const full = join(root, path)
  if (readOrEmpty(full) === text) continue
  stale.push(path)
  if (check) continue
  mkdirSync(dirname(full), { recursive: true })
  writeFileSync(full, text)
}
if (check && stale.length > 0) {
  console.error(`stale, run \`npm run gen\`: ${stale.join(', ')}`)
  process.exit(1)
}
console.log(check ? 'generated files are current' : `written: ${stale.length === 0 ? 'nothing to change' : stale.join(', ')}`)
