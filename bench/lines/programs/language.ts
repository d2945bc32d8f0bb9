/** The cost of the language: a long document in a fresh process, and decisions about a large plan. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { compile } from '@windlass/pipeline'
import { decide, emptySnapshot, fold, type Plan, type Snapshot } from '@windlass/plan'
import { sample, spread, type Line, type Row } from '../../row.ts'

const LINES_OF_DOCUMENT = 10_000
const RUNS = 7

export const language: Line = { name: 'language', measure }

async function measure(): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-bench-'))
  try {
    return [await coldDocument(folder), ...deciding()]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs in its own process, so that nothing is compiled or cached yet. The start of the process and its imports are not counted. */
async function coldDocument(folder: string): Promise<Row> {
  const long = join(folder, 'long.yml')
  const short = join(folder, 'short.yml')
  await writeFile(long, documentOf(LINES_OF_DOCUMENT))
  await writeFile(short, documentOf(LINES_OF_DOCUMENT / 10))
  const cold = async (file: string, what: 'compile' | 'parse'): Promise<number> => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'language-process.ts'), what, file])
    return Number(stdout)
  }
  const value = await sample(RUNS, 1, () => cold(long, 'compile'))
  const tenth = await sample(RUNS, 1, () => cold(short, 'compile'))
  const floor = await sample(RUNS, 1, () => cold(long, 'parse'))
  return {
    name: 'language-document',
    figure: `a document of ${LINES_OF_DOCUMENT} lines to its plan, in a fresh process`,
    unit: 'ms',
    value,
    warmUp: 1,
    floor: { what: 'the YAML library reading the same text into objects', value: floor },
    goal: 300,
    note: `a tenth of the lines takes ${tenth.median.toFixed(0)} ms (${tenth.min.toFixed(0)}-${tenth.max.toFixed(0)}, n ${tenth.n})`,
  }
}

/** Returns a document of steps of six lines each, with conditions and references to each other. */
function documentOf(lines: number): string {
  const steps = Array.from({ length: Math.floor(lines / 6) }, (_, n) =>
    [
      `  step_${n}:`,
      `    image: 'registry.example.com/team/image:\${{TAG}}'`,
      `    environment: [NUMBER=${n}, 'NAME=\${{CF_BRANCH}}']`,
      '    when:',
      `      condition: { all: { ready: "includes('\${{CF_BRANCH}}', 'ma') && ${n} < 100000" } }`,
      `    commands: ['echo "\${{steps.step_${Math.max(0, n - 1)}.result}}"']`,
    ].join('\n'),
  )
  return `version: '1.0'\nsteps:\n${steps.join('\n')}\n`
}

const STEPS = 1_000

function deciding(): Row[] {
  const { plan } = compile({ text: documentOf(STEPS * 6), file: 'large.yml' })
  if (plan === undefined) throw new Error('the document does not compile')
  const samples: number[] = []
  for (let run = 0; run < 3; run += 1) {
    const startedAt = performance.now()
    runThrough(plan)
    samples.push((performance.now() - startedAt) / STEPS)
  }
  return [
    {
      name: 'language-decide',
      figure: `deciding the next steps in a plan of ${STEPS} steps, per step`,
      unit: 'ms',
      value: spread(samples),
      warmUp: 0,
      goal: 5,
    },
  ]
}

/** Every step succeeds immediately. */
function runThrough(plan: Plan): void {
  let snapshot: Snapshot = emptySnapshot(plan)
  for (let at = 1; ; at += 1) {
    const decisions = decide(plan, snapshot, { builtins: { CF_BRANCH: 'main', TAG: '1' } })
    if (decisions.some(({ type }) => type === 'end')) return
    for (const decision of decisions) {
      if (decision.type !== 'start') throw new Error(`a plain plan was told to ${decision.type}`)
      const { step } = decision
      snapshot = fold(snapshot, { type: 'step.started', step, try: 1, at })
      snapshot = fold(snapshot, { type: 'step.finished', step, try: 1, at, status: 'success', members: {}, exports: [] })
    }
  }
}
