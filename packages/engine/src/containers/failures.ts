/** Maps the end of a container to a reason, message and hint. */
import { isFault, type Fault } from '@windlass/kit'
import type { ResolvedFreestyle } from '@windlass/plan'
import { isDiskFull, refusalStatus } from '../docker/containers.ts'
import type { ContainerEnd } from './run-container.ts'
import { StepFailure, type StepOutcome } from '../attempt/step-outcome.ts'

type Ended = Pick<StepOutcome, 'status' | 'reason' | 'message' | 'hint' | 'exitCode'>

/** Returns status and reason for an exit code. */
export function exitOutcome(end: ContainerEnd, action: Pick<ResolvedFreestyle, 'commands'>): Ended {
  const { exitCode } = end
  if (exitCode === 0) return { status: 'success', exitCode }
  const failed = { status: 'error', exitCode } as const
  if (end.oomKilled) return { ...failed, ...outOfMemory(end) }
  if (exitCode === 137) return { ...failed, ...killed(end) }
  if (action.commands !== undefined && (exitCode === 127 || exitCode === 126)) {
    const what = exitCode === 127 ? 'A command was not found in the image' : 'A command cannot be executed'
    return {
      ...failed,
      reason: 'command-not-found',
      message: `${what} (exit code ${exitCode}).`,
      hint: 'See the last lines of the log for its name. Install it, or use another image.',
    }
  }
  const signal = exitCode > 128 && exitCode < 160 ? ` (signal ${exitCode - 128})` : ''
  return { ...failed, reason: 'exit-code', message: `Exit code ${exitCode}${signal}.` }
}

type Explanation = Pick<StepOutcome, 'reason' | 'message' | 'hint'>

function outOfMemory({ exitCode, memoryLimit, usage }: ContainerEnd): Explanation {
  const limit = memoryLimit > 0 ? memoryLimit : (usage?.memoryLimitBytes ?? 0)
  const limited = limit > 0 ? ` The limit is ${inMib(limit)}.` : ''
  const peak = usage?.memoryPeakBytes ?? 0
  const peaked = peak > 0 ? ` Peak usage was ${inMib(peak)}.` : ''
  return {
    reason: 'out-of-memory',
    message: `Memory ran out, and the kernel killed a process of the step (exit code ${exitCode}).${limited}${peaked}`,
    hint: 'Give the Docker daemon of the runtime more memory (defaultDindResources), or let the step use less.',
  }
}

/** SIGKILL without an out-of-memory event of this container: another process sent it, or the machine as a whole ran out of memory. */
function killed({ exitCode, usage }: ContainerEnd): Explanation {
  const peak = usage?.memoryPeakBytes ?? 0
  const peaked = peak > 0 ? ` Peak memory usage was ${inMib(peak)}.` : ''
  return {
    reason: 'exit-code',
    message: `A process was killed from outside (exit code ${exitCode}, SIGKILL); the container did not run out of memory.${peaked}`,
    hint: 'A command of the step may have sent the signal, the container may have been removed, or the machine as a whole ran out of memory.',
  }
}

function inMib(bytes: number): string {
  return `${Math.round(bytes / 1_048_576)} MiB`
}

const SHELL_HINT = 'Name a program that the image has; `shell: sh` works in most images.'

interface StartProblem {
  readonly pattern: RegExp
  readonly reason: 'image-not-found' | 'command-not-found' | 'mount-invalid'
  readonly say: (message: string, action: ResolvedFreestyle) => string
  readonly hint: string
}

/** Messages of dockerd and runc that refuse to create or start a container, and what they mean for the pipeline. */
const START_PROBLEMS: readonly StartProblem[] = [
  {
    pattern: /No such image/i,
    reason: 'image-not-found',
    say: (message) => message,
    hint: 'Another process removed it from the daemon; run the step again.',
  },
  {
    pattern: /Duplicate mount point/i,
    reason: 'mount-invalid',
    say: (message) => `Two volumes have the same target: ${message}`,
    hint: 'Everything at /codefresh/volume is the shared volume already; mount below another folder.',
  },
  {
    pattern: /(\/codefresh|\/windlass).*not a directory|not a directory.*(\/codefresh|\/windlass)/is,
    reason: 'mount-invalid',
    say: (message, action) => `The image ${action.image} has a file where a folder is needed to mount a volume: ${message}`,
    hint: 'The image must not contain plain files at /codefresh, /codefresh/volume or /windlass.',
  },
  {
    pattern:
      /exec: .*(executable file not found|no such file or directory|permission denied|exec format error)|exec format error/is,
    reason: 'command-not-found',
    say: missingProgram,
    hint: SHELL_HINT,
  },
  {
    pattern: /invalid mount config|error mounting|bind source path does not exist|failed to mount|mount destination/i,
    reason: 'mount-invalid',
    say: (message) => `A volume cannot be mounted: ${message}`,
    hint: 'Check `volumes`: source:/target, the source below the shared volume.',
  },
]

function missingProgram(message: string, action: ResolvedFreestyle): string {
  return action.commands === undefined
    ? `The program of the container cannot be started: ${lastPart(message)}`
    : missingShell(action).message
}

/** Returns the failure of a step whose image does not have the shell. */
export function missingShell(action: ResolvedFreestyle): { reason: 'command-not-found'; message: string; hint: string } {
  return {
    reason: 'command-not-found',
    message: `The image ${action.image} has no working ${action.shell}, which is needed to run commands.`,
    hint: SHELL_HINT,
  }
}

/** Returns the cause from a message of runc, which wraps it. */
function lastPart(message: string): string {
  return /exec: .*/s.exec(message)?.[0].replace(/: unknown$/, '') ?? message
}

/** Converts a refusal by the daemon to the failure of the step. Returns other errors unchanged. */
export function toStepFailure(error: unknown, action: ResolvedFreestyle): unknown {
  if (!isFault(error, 'docker-refused')) return error
  // The runtime of the container reports a full disk as a mount or a program that fails.
  const problem = isDiskFull(error) ? undefined : START_PROBLEMS.find(({ pattern }) => pattern.test(error.message))
  if (problem === undefined) return toUnknownFailure('The container cannot be run', error)
  return new StepFailure(problem.reason, problem.say(error.message, action), { hint: problem.hint, cause: error })
}

/** Messages of the container runtime: a refusal of the requested container, even if the daemon's status is 5xx. */
const RUNTIME_REFUSAL = /OCI runtime|runc|shim task|unable to find user|no matching entries/i

/** Converts an unrecognized refusal. A full disk or a 5xx status means that the daemon itself failed: another attempt may succeed. */
export function toUnknownFailure(what: string, error: Fault): StepFailure {
  if (isDiskFull(error)) return new StepFailure('disk-full', `${what}: ${error.message}`, { cause: error })
  const isDaemon = (refusalStatus(error) ?? 400) >= 500 && !RUNTIME_REFUSAL.test(error.message)
  return new StepFailure(isDaemon ? 'dind-lost' : 'invalid-step', `${what}: ${error.message}`, { cause: error })
}
