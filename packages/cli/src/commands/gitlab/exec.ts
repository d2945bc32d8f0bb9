/** Runs `gitlab exec`: one job of a `.gitlab-ci.yml` of the working tree, on the Docker of this machine. */
import {
  execJob,
  openCiFile,
  planExec,
  predefinedVariables,
  projectPath,
  type CiFile,
  type CiJob,
  type CiWarning,
  type JobResult,
} from '@windlass/gitlab'
import { isAbort, sha256, systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { readRegistryLogins } from '@windlass/local/machine'
import { VERSION, windlassImage } from '@windlass/plan/version'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { alignColumns } from '../../format/columns.ts'
import { parseSecrets, parseVariables, readVariableFile } from '../../input/variables.ts'
import type { Printer } from '../../printer.ts'
import { catchInterrupts } from '../run/interrupt.ts'
import { findCiSource, type CiSource } from './ci-source.ts'
import { jobOutput } from './job-output.ts'

export interface ExecOptions {
  readonly file: string | undefined
  readonly list: boolean
  readonly output: 'json' | undefined
  readonly env: readonly string[]
  readonly envFile: readonly string[]
  readonly secret: readonly string[]
  readonly image: string | undefined
  readonly helperImage: string | undefined
  readonly artifacts: string | undefined
  readonly resetCache: boolean
  readonly privileged: boolean
}

type Variables = Parameters<typeof planExec>[0]['given']

/** Runs the command. Resolves to the exit code of the script of the job. */
export async function exec(invocation: Invocation<ExecOptions>): Promise<number> {
  const { args, options, out } = invocation
  const [name] = args
  if (name === undefined && !options.list)
    throw fault('usage', {
      message: 'Name the job to run.',
      hint: 'Run `windlass gitlab exec JOB`, or list the jobs with `windlass gitlab exec --list`.',
    })
  if (options.output !== undefined && !options.list) throw fault('usage', { message: '--output needs --list.' })
  const source = await findCiSource(options.file)
  const given = await givenVariables(invocation)
  const file = openFile(source, given)
  if (options.list) return listJobs(file, invocation)
  const { job, warnings } = file.job(name ?? '')
  for (const warning of [...file.warnings, ...warnings]) warn(out, warning)
  return runOne(invocation, { source, given, job })
}

async function givenVariables({ options, settings }: Invocation<ExecOptions>): Promise<Variables> {
  const files = await Promise.all(options.envFile.map((path) => readVariableFile(path)))
  const shown: Record<string, string> = Object.assign({}, ...files, parseVariables(options.env, '--env'))
  const masked = parseSecrets(options.secret, settings.environment)
  return [
    ...Object.entries(shown).map(([key, value]) => ({ key, value, public: true, raw: true })),
    // Not public: they are exported by the script, and are no part of the containers.
    ...Object.entries(masked).map(([key, value]) => ({ key, value, public: false, masked: true, raw: true })),
  ]
}

function openFile(source: CiSource, given: Variables): CiFile {
  const predefined = predefinedVariables({ ...source, job: { name: '', stage: '' }, now: systemClock.now() })
  // Without the secrets: the path of a file that does not exist is shown.
  const values = new Map(
    [...predefined, ...given.filter(({ masked }) => masked !== true)].map(({ key, value }) => [key, value ?? '']),
  )
  return openCiFile({ root: source.root, file: source.configPath, valueOf: (key) => values.get(key) })
}

function listJobs(file: CiFile, { options, out }: Invocation<ExecOptions>): number {
  const jobs = file.list()
  for (const warning of file.warnings) warn(out, warning)
  for (const { problem } of jobs) if (problem !== undefined) out.note(problem)
  if (options.output === 'json') {
    const records = jobs.map(({ name, stage, at, problem = null }) => ({ name, stage, file: at.file, line: at.line, problem }))
    out.line(JSON.stringify(records, null, 2))
    return EXIT.success
  }
  const rows = jobs.map(({ name, stage, at }) => [name, stage, `${at.file}:${at.line}`])
  for (const line of alignColumns([['NAME', 'STAGE', 'PLACE'], ...rows])) out.line(line)
  return EXIT.success
}

function warn(out: Printer, { file, line, message }: CiWarning): void {
  out.note(`${file}:${line}: ${out.stderr.style.yellow('warning')}: ${message}`)
}

interface Run {
  readonly source: CiSource
  readonly given: Variables
  readonly job: CiJob
}

async function runOne({ options, out, settings }: Invocation<ExecOptions>, { source, given, job }: Run): Promise<number> {
  const { environment } = settings
  const { root, commit } = source
  const plan = planExec({
    job,
    root,
    project: projectPath(source),
    ref: commit?.branch ?? commit?.tag ?? commit?.sha ?? 'local',
    predefined: predefinedVariables({ ...source, job, now: systemClock.now() }),
    given,
    defaultImage: options.image,
    keepsArtifacts: options.artifacts !== undefined,
    version: VERSION,
    revision: environment['WINDLASS_REVISION'] ?? 'release',
  })
  if (job.artifacts !== undefined && options.artifacts === undefined)
    out.note('The artifacts of the job are not kept. Name a folder for them with --artifacts.')
  using interrupts = catchInterrupts(systemClock)
  using pipe = out.catchClosedPipe()
  interrupts.first.addEventListener('abort', () => {
    out.note(out.stderr.style.yellow('Stopping the job. Press Ctrl-C again to exit immediately.'))
    void interrupts.second(600_000).then((again) => {
      if (again) process.exit(EXIT.interrupted)
    })
  })
  const output = jobOutput(out.stdout)
  try {
    const result = await execJob({
      plan,
      root,
      helperImage: options.helperImage ?? environment['WINDLASS_GITLAB_HELPER_IMAGE'] ?? windlassImage('gitlab-helper'),
      cacheVolume: `windlass-gitlab-cache-${sha256(root).slice(0, 12)}`,
      resetsCache: options.resetCache,
      artifactsFolder: options.artifacts,
      isPrivileged: options.privileged,
      environment,
      logins: readRegistryLogins(environment).flatMap(({ domain, username, password }) =>
        username === undefined || password === undefined ? [] : [{ domain, username, password }],
      ),
      clock: systemClock,
      signal: AbortSignal.any([interrupts.first, pipe.signal]),
      write: output.write,
      note: (line) => out.note(line),
    })
    output.end()
    return pipe.signal.aborted ? EXIT.success : exitCodeOfJob(result, job, out)
  } catch (error) {
    output.end()
    if (interrupts.first.aborted && isAbort(error)) return EXIT.interrupted
    if (pipe.signal.aborted && isAbort(error)) return EXIT.success
    throw error
  }
}

/** Returns the exit code of the script. Other failures, such as the time limit, are 1. */
function exitCodeOfJob(result: JobResult, { name, allowFailure }: CiJob, out: Printer): number {
  if (result.state === 'success') return EXIT.success
  const code = result.reason === 'script_failure' ? (result.exitCode ?? EXIT.failed) : EXIT.failed
  const isAllowed = typeof allowFailure === 'boolean' ? allowFailure : allowFailure.includes(code)
  if (isAllowed) out.note(`The job "${name}" is allowed to fail: its pipeline would continue.`)
  return code
}
