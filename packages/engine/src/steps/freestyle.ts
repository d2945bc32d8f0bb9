/** Runs freestyle steps: a container of the user's image. */
import type { ResolvedFreestyle } from '@windlass/plan'
import type { ContainerMount, ContainerSpec } from '../docker/containers.ts'
import { addCleanup, type StepRun } from '../attempt/context.ts'
import { archive } from '../attempt/workspace.ts'
import { readExports } from '../containers/exports.ts'
import { metaMount, readOutputs } from '../containers/meta.ts'
import { GREET, Greeting } from '../containers/greeting.ts'
import { exitOutcome, missingShell, toStepFailure } from '../containers/failures.ts'
import { toMounts } from '../containers/mounts.ts'
import { runContainer, type ContainerEnd } from '../containers/run-container.ts'
import { attemptLabels } from '../attempt/labels.ts'
import { toStepImage } from '../attempt/step-images.ts'
import type { StepOutcome } from '../attempt/step-outcome.ts'
import { BIN_PATH } from '../attempt/paths.ts'
import type { HeldContainer } from './step-runner.ts'

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** An argument of a process is limited to 128 KiB; longer scripts are passed as a file. Bytes. */
const MAX_ARGUMENT_BYTES = 100_000
const SCRIPT_PATH = '/windlass/script'

/** Runs the step's container. Never rejects because of the user's commands. */
export async function runFreestyle(run: StepRun<ResolvedFreestyle>): Promise<StepOutcome> {
  const { context, action, output, signal } = run
  const meta = await metaMount(context, run.step.name)
  const ids: string[] = []
  try {
    run.phases?.begin('pull')
    const { image, end } = await context.images.use(
      { name: action.image, registryContext: action.registryContext },
      { signal, say: (line) => output.say(line) },
      async (found) => {
        run.phases?.begin('create')
        // Directly before the container, because another step can put a link into a path that was checked earlier.
        const mounts = [...(await toMounts(context, action.mounts)), ...(meta === undefined ? [] : [meta])]
        const spec = (network: string): ContainerSpec =>
          toSpec(run, { image: found.id, imageEnvironment: found.environment, mounts, network })
        const begin = (network: string): Promise<ContainerEnd> => start(run, spec(network), ids)
        return { image: found, end: await context.namespaces.withNamespace(begin, run.serviceNetwork) }
      },
    )
    run.phases?.begin('export')
    const exports = await readExports(context, end.id)
    const own = meta === undefined ? undefined : await readOutputs(context, end.id)
    for (const problem of [...exports.problems, ...(own?.problems ?? [])]) await output.say(problem)
    return {
      ...(await endOf(run, end)),
      image: toStepImage(image),
      members: directoryMember(action, image.workingDirectory),
      exports: exports.variables,
      ...(own !== undefined && { outputs: own.outputs, sealed: { outputs: own.secret } }),
    }
  } catch (error) {
    throw toStepFailure(error, action)
  } finally {
    for (const id of ids) addCleanup(context, 'remove container', context.docker.removeContainer(id))
  }
}

/** Returns the debug container: that of the step without its program and network. Throws the same errors as `runFreestyle`. */
export async function freestyleContainer(run: StepRun<ResolvedFreestyle>): Promise<HeldContainer> {
  const { context, action, output, signal } = run
  const image = await context.images.ensure(
    { name: action.image, registryContext: action.registryContext },
    { signal, say: (line) => output.say(line) },
  )
  const mounts = await toMounts(context, action.mounts)
  const {
    environment,
    user,
    workingDirectory,
    mounts: all,
  } = toSpec(run, {
    image: image.id,
    imageEnvironment: image.environment,
    mounts,
    network: 'none',
  })
  return { spec: { image: image.id, environment, user, workingDirectory, mounts: all }, shell: action.shell }
}

/** Returns the outcome. With an init, a missing shell has the same exit code as a missing command. */
async function endOf(
  { context, action }: StepRun<ResolvedFreestyle>,
  end: ContainerEnd,
): Promise<ReturnType<typeof exitOutcome>> {
  if (end.exitCode !== 127 || action.commands === undefined) return exitOutcome(end, action)
  const places = ['/bin', '/usr/bin', '/usr/local/bin'].map((folder) =>
    context.docker.statFile(end.id, `${folder}/${action.shell}`),
  )
  const isThere = (await Promise.all(places)).some((stat) => stat !== undefined)
  return isThere ? exitOutcome(end, action) : { ...missingShell(action), status: 'error', exitCode: end.exitCode }
}

function directoryMember(action: ResolvedFreestyle, imageDirectory: string): Record<string, string> {
  return { workingDirectory: action.directory ?? (imageDirectory === '' ? '/' : imageDirectory) }
}

function start(
  { context, action, output, signal, meter, phases }: StepRun<ResolvedFreestyle>,
  spec: ContainerSpec,
  ids: string[],
): Promise<ContainerEnd> {
  const { docker, clock, input } = context
  const script = scriptOf(action)
  return runContainer(
    {
      docker,
      clock,
      spec,
      signal,
      graceMs: input.limits.stopGraceMs,
      meter,
      ...(spec.stdin && { greeting: () => new Greeting() }),
      onOutput: (parts, until) => output.write(parts, until),
      async onCreated(id) {
        if (isLong(script))
          await docker.putArchive(
            id,
            '/',
            await archive((tar) => tar.entry({ name: SCRIPT_PATH.slice(1), mode: 0o755 }, script ?? '')),
          )
        phases?.begin('run')
      },
    },
    (id) => ids.push(id),
  )
}

interface SpecParts {
  readonly image: string
  readonly imageEnvironment: readonly string[]
  readonly mounts: readonly ContainerMount[]
  readonly network: string
}

function toSpec({ context, step, action }: StepRun<ResolvedFreestyle>, parts: SpecParts): ContainerSpec {
  const socket: ContainerMount = {
    type: 'bind',
    source: context.docker.socketPath,
    target: '/var/run/docker.sock',
    readOnly: false,
  }
  return {
    image: parts.image,
    ...programOf(action),
    environment: toEnvironment(step.environment, parts.imageEnvironment),
    workingDirectory: action.directory,
    // The shared volume belongs to root, whatever user the image sets.
    user: '0:0',
    labels: attemptLabels(context.input, step.name),
    mounts: [...context.workspace.mounts, ...(context.input.userAccess ? [socket] : []), ...parts.mounts],
    network: parts.network,
    // Only for the greeting of the script. An image that runs its own program gets no standard input.
    stdin: action.commands !== undefined,
  }
}

function programOf(action: ResolvedFreestyle): Pick<ContainerSpec, 'entrypoint' | 'command' | 'init'> {
  const script = scriptOf(action)
  if (script === undefined) return { entrypoint: action.entryPoint, command: action.cmd, init: false }
  const command = isLong(script) ? [SCRIPT_PATH] : ['-c', script]
  // A shell ignores TERM as first process of a container; under an init it stops at once.
  return { entrypoint: [action.shell], command, init: true }
}

/** Returns the commands as one script that stops at the first failure. What is before them is one line, which shells count in their messages. */
function scriptOf(action: ResolvedFreestyle): string | undefined {
  return action.commands === undefined ? undefined : [`${GREET}; set -e`, ...action.commands].join('\n')
}

function isLong(script: string | undefined): boolean {
  return script !== undefined && Buffer.byteLength(script) > MAX_ARGUMENT_BYTES
}

/** Returns the environment. The folder of `cf_export` is last on the PATH, whatever the image or the user adds. */
export function toEnvironment(variables: Readonly<Record<string, string>>, image: readonly string[]): string[] {
  const path = variables['PATH'] ?? image.find((entry) => entry.startsWith('PATH='))?.slice('PATH='.length) ?? DEFAULT_PATH
  return Object.entries({ ...variables, PATH: `${path}:${BIN_PATH}` }).map(([name, value]) => `${name}=${value}`)
}
