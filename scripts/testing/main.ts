/**
 * `scripts/test [--long] [GROUP...]`: prepares what the groups need, runs them in lanes, and prints the results. WINDLASS_TEST_BEGAN is
 * when the script began, in seconds.
 */
import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { runAgain } from './again.ts'
import { GROUPS, type Group } from './groups.ts'
import { type Job, runLanes } from './lanes.ts'
import { awaitNothingLeft, lookAround, removeBuilderCache } from './left-behind.ts'
import { type Outcome, readChecks, readGroup } from './outcome.ts'
import { startPreparing, type Preparation } from './prepare.ts'
import { endAll, readText, run } from './run.ts'
import { describe, lastLine, type Budgets, type GroupResult, type RunResult } from './summary.ts'

const root = resolve(import.meta.dirname, '../..')
const node = join(root, 'node_modules/node/bin/node')
const cache = process.env['WINDLASS_CACHE'] ?? join(homedir(), '.cache/windlass')
const state = join(cache, 'run')
/** On two processors. More groups that mostly wait would not end earlier, but make each test wait longer (ADR 0164). */
const LANES = {
  busy: Number(process.env['WINDLASS_TEST_LANES'] ?? 2),
  waiting: Number(process.env['WINDLASS_TEST_WAITING_LANES'] ?? 2),
}
const HOUR = 3_600

const answers = (...command: readonly [string, ...string[]]): boolean => {
  try {
    execFileSync(command[0], command.slice(1), { cwd: root, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Returns a number that depends on the commit; 1 outside of a repository. */
function seedOfCommit(): string {
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return String(Number.parseInt(commit.slice(0, 7), 16))
  } catch {
    return '1'
  }
}

/** Returns the busy and the total CPU seconds of this machine since it started. */
function processorSeconds(): { busy: number; all: number } {
  const times = cpus().flatMap(({ times: { idle, ...busy } }) => [
    { idle, busy: Object.values(busy).reduce((sum, each) => sum + each, 0) },
  ])
  const busy = times.reduce((sum, each) => sum + each.busy, 0) / 1_000
  return { busy, all: busy + times.reduce((sum, each) => sum + each.idle, 0) / 1_000 }
}

/** Runs the command that follows in a network namespace of its own. */
const ON_LOOPBACK = ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']

/** Returns the command of a group, whose report is `<folder>/<group>.json`; with `files` that of these files. */
function commandOf(group: Group, folder: string, files: readonly string[] = []): string[] {
  if (group.name === 'demo') return ['scripts/demo']
  if (group.name === 'check')
    return [
      node,
      'scripts/check.ts',
      'format',
      'lint',
      'types',
      'types of the page',
      'imports',
      'generated files',
      'feature rows',
      'documentation',
    ]
  const report = `--outputFile.json=${join(folder, `${group.name}.json`)}`
  // What it starts has the options of `vitest.config.ts`.
  const vitest = [node, '--min-semi-space-size=16', 'node_modules/vitest/vitest.mjs', 'run', '--project', group.name]
  return [
    ...(group.isOnLoopback === true ? ON_LOOPBACK : []),
    ...vitest,
    '--reporter=default',
    '--reporter=json',
    report,
    ...files,
  ]
}

function outcomeOf(group: Group, code: number, folder: string): Outcome {
  if (group.name === 'check') return readChecks(readText(join(folder, 'check.log')))
  const report = join(folder, `${group.name}.json`)
  return readGroup(group.name, code, existsSync(report) ? readFileSync(report, 'utf8') : undefined)
}

interface GroupRun {
  readonly preparation: Preparation
  /** For its log and its report. */
  readonly folder: string
  /** Only these files; all without any. */
  readonly files?: readonly string[]
}

async function runGroup(group: Group, { preparation, folder, files = [] }: GroupRun): Promise<GroupResult> {
  const { faults, env } = await preparation.ready(group.parts)
  const log = join(folder, `${group.name}.log`)
  const name = files.length === 0 ? group.name : `${group.name} again`
  console.log(`-- ${name} begins`)
  if (faults.length > 0) appendFileSync(log, faults.join('\n'))
  const limitSeconds = (process.env['WINDLASS_TEST_LONG'] === undefined ? 1 : 4) * HOUR
  const { code, isLate, seconds, cpuSeconds } =
    faults.length > 0
      ? { code: 1, isLate: false, seconds: 0, cpuSeconds: 0 }
      : await run(commandOf(group, folder, files), { log, env: environmentOf(env), limitSeconds, nice: group.nice ?? 0 })
  if (isLate) appendFileSync(log, `\nended after ${limitSeconds} s\n`)
  // One write, so that the output of two groups does not mix.
  console.log(`\n== ${name} (${seconds.toFixed(0)} s)\n${readText(log).trimEnd()}`)
  return { name: group.name, outcome: outcomeOf(group, code, folder), seconds, cpuSeconds }
}

/** References of images go into one variable, which `e2e/support/images.ts` reads; other variables are what programs know. */
function environmentOf(made: Readonly<Record<string, string>>): Record<string, string> {
  const isImage = ([name]: readonly [string, string]): boolean => name.endsWith('_IMAGE')
  const images = Object.entries(made).filter(isImage)
  const others = Object.entries(made).filter((entry) => !isImage(entry))
  return {
    ...Object.fromEntries(others),
    WINDLASS_TEST_IMAGES: images.map((pair) => pair.join('=')).join('\n'),
    // Every server, agent and engine of a test is a process that reads our sources: half of its start is compiling them.
    NODE_COMPILE_CACHE: join(cache, 'compile-cache'),
    // `kubectl`, `helm` and `docker` end before their garbage matters.
    GOGC: '400',
  }
}

function askedGroups(names: readonly string[], isLong: boolean): readonly Group[] {
  const known = GROUPS.map(({ name }) => name)
  const strange = names.find((name) => !known.includes(name))
  if (strange === undefined)
    return GROUPS.filter((group) => (names.length === 0 ? isLong || group.isLong !== true : names.includes(group.name)))
  console.error(`error: there is no group '${strange}': it is one of ${known.join(' ')}`)
  process.exit(2)
}

/** The kubeconfig and the program of the one-node Kubernetes, when it is up. */
function cluster(): { kubeconfig: string; kubectl: string } | undefined {
  if (!answers('scripts/cluster', 'status')) return undefined
  const [, kubeconfig = '', path = ''] =
    /KUBECONFIG=(\S+) PATH=([^:]+)/.exec(execFileSync('scripts/cluster', ['env'], { cwd: root, encoding: 'utf8' })) ?? []
  return { kubeconfig, kubectl: join(path, 'kubectl') }
}

async function main(args: readonly string[]): Promise<void> {
  const names = args.filter((arg) => arg !== '--long')
  const isLong = args.includes('--long')
  const groups = askedGroups(names, isLong)
  if (isLong) process.env['WINDLASS_TEST_LONG'] = '1'
  // A gate makes the same random choices for the same commit, and others for the next one; the long drills use a new seed each time.
  else process.env['WINDLASS_SEED'] ??= seedOfCommit()
  if (process.env['WINDLASS_SEED'] !== undefined) console.log(`WINDLASS_SEED=${process.env['WINDLASS_SEED']}`)
  const began = Number(process.env['WINDLASS_TEST_BEGAN'] ?? Date.now() / 1_000)
  const processors = processorSeconds()
  const folder = mkdtempSync(join(state, 'test.'))
  const hadDocker = answers('docker', 'version')
  const hadCluster = cluster()
  const parts = groups.flatMap((group) => group.parts)
  // Objects that an earlier run left on a stopped daemon do not count for this run.
  if (!hadDocker && parts.includes('docker') && answers('dockerd', '--version')) answers('scripts/docker', 'up')
  const look = (): Promise<Set<string>> =>
    lookAround({
      kubeconfig: hadCluster?.kubeconfig,
      kubectl: hadCluster?.kubectl ?? 'kubectl',
      root,
      state,
      hasDocker: parts.includes('docker'),
    })
  const before = await look()

  const leave = (): void => {
    endAll()
    if (parts.includes('cluster') && hadCluster === undefined) answers('scripts/cluster', 'down')
    // A CI machine is restored. On a developer machine the Docker daemon keeps running for the next run.
    if (process.env['CI'] === 'true' && !hadDocker) answers('scripts/docker', 'down')
    rmSync(folder, { recursive: true, force: true })
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      leave()
      process.exit(130)
    })
  }

  try {
    const preparation = startPreparing(parts, folder)
    const results: GroupResult[] = []
    const jobs = groups.map((group): Job => ({
      name: group.name,
      ready: preparation.ready(group.parts),
      run: async () => void results.push(await runGroup(group, { preparation, folder })),
      after: group.isLast === true ? groups.filter((other) => other !== group).map(({ name }) => name) : (group.after ?? []),
      ...(group.beside !== undefined && { beside: group.beside }),
      mostlyWaits: group.mostlyWaits === true,
    }))
    await runLanes(jobs, LANES)
    const again = await runAgain(results, async (name, files) => {
      const group = groups.find((one) => one.name === name)
      if (group === undefined) throw new Error(`no group is named ${name}`)
      return (await runGroup(group, { preparation, folder: mkdtempSync(join(folder, 'again.')), files })).outcome
    })
    again.push(await nothingLeft(before, look))
    const isWhole = names.length === 0 && !isLong
    const seconds = Date.now() / 1_000 - began
    const { busy, all } = processorSeconds()
    const busyShare = (busy - processors.busy) / (all - processors.all)
    const others = GROUPS.filter((group) => !groups.includes(group)).map(({ name }) => name)
    conclude({ groups: again, seconds, busyShare, wasBare: preparation.wasBare(), isWhole, others })
  } finally {
    leave()
  }
}

async function nothingLeft(before: ReadonlySet<string>, look: () => Promise<Set<string>>): Promise<GroupResult> {
  const from = performance.now()
  const lines = execFileSync('scripts/images', ['--refs'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
  const images = lines.map((line) => line.slice(line.indexOf('=') + 1))
  await removeBuilderCache(before, look)
  const left = await awaitNothingLeft(before, look, images)
  const failures =
    left.length === 0 ? [] : [`nothing-left-behind: this came with the run and is there still\n    ${left.join('\n    ')}`]
  const outcome = { passed: left.length === 0 ? 1 : 0, failures, skips: [], repeats: [], unsteady: [], files: [] }
  return { name: 'nothing-left-behind', outcome, seconds: (performance.now() - from) / 1_000, cpuSeconds: 0 }
}

function conclude(run: RunResult): void {
  const budgets: Budgets = JSON.parse(readFileSync(join(root, 'scripts/test-budget.json'), 'utf8'))
  console.log('\n== result')
  for (const line of describe(run, budgets, root)) console.log(line)
  console.log(lastLine(run.groups))
  if (run.groups.some(({ outcome }) => outcome.failures.length + outcome.skips.length > 0)) process.exitCode = 1
}

process.chdir(root)
await main(process.argv.slice(2))
