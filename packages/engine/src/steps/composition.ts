/** Runs composition steps: containers side by side, until the candidates have ended. */
import { sentences } from '@windlass/kit'
import type { ResolvedComposition } from '@windlass/plan'
import { addCleanup, addDeferredCleanup, type StepRun } from '../attempt/context.ts'
import { describeFailures, followContainers, quoteLines, type Followed, type Following } from '../compose/follow.ts'
import { createProject, projectName, type Project } from '../compose/project.ts'
import { removeProject } from '../compose/remove-project.ts'
import type { OutputPart } from '../docker/demux.ts'
import { StepFailure, type StepOutcome } from '../attempt/step-outcome.ts'

/** How long services may take to stop once the candidates have ended. Milliseconds. Short, because some processes ignore their stop signal. */
const STOP_MS = 2_000

/** Runs the composition and removes all of its objects in any case. */
export async function runComposition(run: StepRun<ResolvedComposition>): Promise<StepOutcome> {
  const { context, action, step, output } = run
  const name = projectName(context.input.buildId, `${step.name}#${step.environment['CF_CURRENT_ATTEMPT'] ?? '1'}`)
  let following: Following | undefined
  let project: Project | undefined
  try {
    project = await createProject(run, {
      name,
      compose: action.compose,
      candidates: action.candidates,
      variables: action.variables,
      directory: action.directory,
      registryContexts: action.registryContexts,
      addVolume: action.addVolume,
      network: { kind: 'own' },
      moreNetworks: run.serviceNetwork?.networks ?? [],
      publish: true,
      keepLogs: false,
      reason: 'composition-failed',
    })
    const write = (parts: readonly OutputPart[]): Promise<void> => output.write(parts)
    following = await followContainers(project.containers, { part: run, write })
    observeTasks(run, following)
    return await awaitCandidates(run, { project, following })
  } finally {
    await following?.stop()
    const removed = removeProject(context.docker, name, { graceMs: STOP_MS, builds: project?.builds !== false })
    // The next step does not have to wait, unless it may need the same ports.
    if (project?.publishes !== false) await removed
    else if (project.sharesVolume) addCleanup(context, 'remove composition', removed)
    else addDeferredCleanup(context, 'remove composition', removed)
  }
}

/** Measures the containers from now, right before they start. */
function observeTasks({ context: { observer }, step }: StepRun, { all }: Following): void {
  if (observer === undefined) return
  for (const { title, ended } of all) {
    const task = { step: step.name, name: title }
    observer.task(task, 'started')
    const onEnd = (): void => observer.task(task, 'ended')
    ended.then(onEnd, onEnd)
  }
}

interface Parts {
  readonly project: Project
  readonly following: Following
}

async function awaitCandidates(run: StepRun<ResolvedComposition>, { project, following }: Parts): Promise<StepOutcome> {
  const { action, signal } = run
  const names = Object.keys(action.candidates)
  const candidates = following.all.filter(({ container }) => names.includes(container.service))
  if (candidates.length === 0) throw new StepFailure('composition-failed', 'The composition has no candidate that is started.')
  const over = new AbortController()
  const { promise: stopped, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  stopped.catch(() => undefined)
  try {
    const ended = Promise.all(candidates.map(({ ended: code }) => code))
    const broken = project.start(AbortSignal.any([signal, over.signal])).then(
      () => stopped,
      (error: unknown) => {
        throw explain(error, following.all)
      },
    )
    await Promise.race([ended, broken, stopped])
    await logOthers(
      run,
      following.all.filter((one) => !candidates.includes(one)),
    )
    return outcomeOf(action, candidates, following.all)
  } finally {
    signal.removeEventListener('abort', onAbort)
    over.abort(new DOMException('the composition is over', 'AbortError'))
  }
}

/** Logs the exit codes of services. They do not affect the outcome, but may be why a candidate failed. */
async function logOthers({ output }: StepRun, others: readonly Followed[]): Promise<void> {
  for (const { title, exitCode } of others)
    if (exitCode !== undefined && exitCode !== 0)
      await output.say(`${title} ended with exit code ${exitCode}. It is not a candidate, so this does not affect the step.`)
}

function outcomeOf(action: ResolvedComposition, candidates: readonly Followed[], all: readonly Followed[]): StepOutcome {
  const members = { workingDirectory: action.directory }
  const failed = candidates.filter(({ exitCode }) => exitCode !== 0)
  const [first] = failed
  if (first === undefined) return { status: 'success', exitCode: 0, members, exports: [] }
  const others = describeFailures(all.filter((one) => !candidates.includes(one)))
  const ends = failed.map(
    ({ container, exitCode, lastLines }) =>
      `Candidate "${container.service}" ended with exit code ${exitCode ?? 'unknown'}${quoteLines(lastLines)}`,
  )
  return {
    status: 'error',
    reason: 'composition-failed',
    message: sentences(...ends, others),
    exitCode: first.exitCode,
    members,
    exports: [],
  }
}

/** Adds the last lines of containers to an error. Compose names a container that did not become healthy, whose output helps most. */
function explain(error: unknown, all: readonly Followed[]): unknown {
  if (!(error instanceof StepFailure)) return error
  const named = all.filter(
    ({ container, exitCode }) => exitCode === undefined && error.message.includes(`-${container.service}-`),
  )
  const details = [
    describeFailures(all),
    ...named.map(({ container, lastLines }) => `Service "${container.service}" is still running${quoteLines(lastLines)}`),
  ].filter((text) => text !== '')
  return details.length === 0 ? error : new StepFailure(error.reason, sentences(error.message, ...details), { cause: error })
}
