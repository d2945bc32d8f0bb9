/** One set of services: containers, then the wait until they are ready, then their setup (pipeline language 3.10). */
import { isFault, sha256 } from '@windlass/kit'
import { VOLUME_PATH, type ResolvedServices } from '@windlass/plan'
import {
  addChore,
  addPatientChore,
  attemptLabels,
  StepFailure,
  type AttemptContext,
  type Reach,
  type StepPart,
} from '../attempt/context.ts'
import type { ComposeNetwork } from '../compose/document.ts'
import { describeFailures, followContainers, quoteLines, type Following } from '../compose/follow.ts'
import { createProject, type Project } from '../compose/project.ts'
import { removeProject } from '../compose/remove-project.ts'
import type { StepOutput } from '../output/step-output.ts'
import { runProbe, type ProbeEnd } from './probe.ts'

export interface SetOptions {
  /** Unique among all sets of the build, tries included. */
  readonly key: string
  readonly services: ResolvedServices
  /** What is reached already: services of groups around, and those of the build. */
  readonly outer: Reach
  /** For readiness and setup. */
  readonly environment: Readonly<Record<string, string>>
  /** Where the services' output goes. */
  readonly log: StepOutput
}

export interface RunningSet {
  readonly reach: Reach
  /** The words of the services that ended badly; empty when none did. */
  explain(): string
  /** Lets go of the output, then stops and removes everything in the background. */
  stop(): Promise<void>
}

/** Services get so long to stop; nobody waits for it. */
const STOP_MS = 2_000

/** Resolves when the services can be used. Throws `StepFailure` (`service-failed`) with the last words of whichever failed; nothing runs then. */
export async function startServices(part: StepPart, options: SetOptions): Promise<RunningSet> {
  const { context } = part
  const name = `windlass-${context.input.buildId}-${sha256(options.key).slice(0, 12)}`
  const parts: { following?: Following; project?: Project } = {}
  async function stop(): Promise<void> {
    await parts.following?.stop()
    await options.log.end()
    const add = parts.project?.sharesVolume === true ? addChore : addPatientChore
    add(context, 'remove services', remove(context, { name, builds: parts.project?.builds !== false }, options))
  }
  try {
    const { network, reach } = await makeNetwork(part, name, options)
    const project = await createProject(part, {
      name,
      compose: options.services.compose,
      variables: options.services.variables,
      directory: VOLUME_PATH,
      registryContexts: [],
      addVolume: false,
      network,
      moreNetworks: [],
      publish: false,
      keepLogs: false,
      reason: 'service-failed',
    })
    parts.project = project
    const following = await followContainers(project.containers, { part, write: (pieces) => options.log.write(pieces) })
    parts.following = following
    const explain = (): string => describeFailures(following.all)
    try {
      await project.start(part.signal)
      await awaitReady(part, { ...options, reach, following })
      await setUp(part, { ...options, reach })
    } catch (error) {
      throw withWords(error, following)
    }
    return { reach, explain, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The network of the set, and how it is reached together with what is around it. */
async function makeNetwork(
  { context, step }: StepPart,
  name: string,
  { services, outer }: SetOptions,
): Promise<{ network: ComposeNetwork; reach: Reach }> {
  const { docker, namespaces, input } = context
  if (services.sharedHostNetwork) {
    const namespace = outer.namespace ?? (await namespaces.open(outer.networks))
    return { network: { kind: 'namespace', namespace }, reach: { networks: outer.networks, namespace } }
  }
  await docker.createNetwork(name, attemptLabels(input, step.name)).catch((error: unknown) => {
    throw isFault(error, 'docker-refused') && /address pool/i.test(error.message)
      ? new StepFailure('service-failed', `The Docker daemon has no addresses left for a network: ${error.message}`, {
          hint: 'Too many builds with services run at once on this daemon; give it more `default-address-pools`.',
        })
      : error
  })
  const reach = { ...outer, networks: [...outer.networks, name] }
  if (outer.namespace === undefined) namespaces.prepare(reach.networks)
  else await docker.connectNetwork(name, outer.namespace.slice('container:'.length))
  return { network: { kind: 'network', name }, reach }
}

async function remove(
  { docker, namespaces }: AttemptContext,
  { name, builds }: { name: string; builds: boolean },
  { services, outer }: SetOptions,
): Promise<void> {
  await removeProject(docker, name, { graceMs: STOP_MS, builds })
  if (services.sharedHostNetwork) return
  await namespaces.forget(name)
  if (outer.namespace !== undefined) await docker.disconnectNetwork(name, outer.namespace.slice('container:'.length))
  await docker.removeNetwork(name)
}

interface Started extends SetOptions {
  readonly reach: Reach
}

/** Tries until it succeeds, as Kubernetes does; gives up at once when a service has ended badly, because waiting cannot help then. */
async function awaitReady(part: StepPart, options: Started & { readonly following: Following }): Promise<void> {
  const { readiness } = options.services
  if (readiness === undefined) return
  const { context, output } = part
  const started = context.clock.monotonic()
  for (let failures = 1; ; failures += 1) {
    const end = await probeOnce(part, options, readiness.timeoutMs)
    if (end.exitCode === 0) break
    await output.say(`The services are not ready yet (try ${failures} of ${readiness.failureThreshold}).`)
    const broken = options.following.all.some(({ exitCode }) => exitCode !== undefined && exitCode !== 0)
    if (failures >= readiness.failureThreshold || broken)
      throw new StepFailure(
        'service-failed',
        `The services did not become ready: ${failures} of ${readiness.failureThreshold} tries of \`readiness\` failed, the last with ${said(end)}`,
        { hint: 'Give them more time with `periodSeconds` and `failureThreshold`.' },
      )
    await context.clock.sleep(readiness.periodMs, part.signal)
  }
  await output.say(`The services are ready after ${((context.clock.monotonic() - started) / 1000).toFixed(1)} s.`)
}

const TIMED_OUT = 124

/** A try that takes longer than it may has failed. */
async function probeOnce(part: StepPart, options: Started, timeoutMs: number): Promise<ProbeEnd> {
  const { readiness } = options.services
  if (readiness === undefined) return { exitCode: 0, lastLines: [] }
  const limit = AbortSignal.timeout(timeoutMs)
  try {
    return await runProbe(
      { ...part, signal: AbortSignal.any([part.signal, limit]) },
      { ...readiness, ...probeOf(options), title: 'readiness' },
    )
  } catch (error) {
    if (part.signal.aborted || !limit.aborted) throw error
    return { exitCode: TIMED_OUT, lastLines: [`It took longer than ${timeoutMs / 1000} s.`] }
  }
}

async function setUp(part: StepPart, options: Started): Promise<void> {
  const { setup } = options.services
  if (setup === undefined) return
  const end = await runProbe(part, { ...setup, ...probeOf(options), title: 'setup' })
  if (end.exitCode !== 0) throw new StepFailure('service-failed', `The \`setup\` of the services failed with ${said(end)}`)
  await part.output.say('The setup of the services is done.')
}

function probeOf({ environment, reach, log }: Started): Pick<Parameters<typeof runProbe>[1], 'environment' | 'reach' | 'write'> {
  return { environment, reach, write: (pieces) => log.write(pieces) }
}

function said({ exitCode, lastLines }: ProbeEnd): string {
  return `exit code ${exitCode}${quoteLines(lastLines)}`
}

/** What the services said last is what helps, also when they still run. */
function withWords(error: unknown, { all }: Following): unknown {
  if (!(error instanceof StepFailure)) return error
  const failed = describeFailures(all)
  const words =
    failed !== ''
      ? failed
      : all
          .filter(({ lastLines }) => lastLines.length > 0)
          .map(({ container, lastLines }) => `Service "${container.service}" runs${quoteLines(lastLines)}`)
          .join(' ')
  return words === ''
    ? error
    : new StepFailure(error.reason, `${error.message} ${words}`, {
        ...(error.hint !== undefined && { hint: error.hint }),
        cause: error,
      })
}
