/** One set of services: starts its containers, waits until they are ready, and runs their setup. */
import { defined, isFault, sentences, sha256 } from '@windlass/kit'
import { VOLUME_PATH, type ResolvedServices } from '@windlass/plan'
import { addCleanup, addDeferredCleanup, type AttemptContext, type StepPart } from '../attempt/context.ts'
import type { ComposeNetwork } from '../compose/document.ts'
import { describeFailures, followContainers, quoteLines, type Following } from '../compose/follow.ts'
import { createProject, type Project } from '../compose/project.ts'
import { removeProject } from '../compose/remove-project.ts'
import type { StepOutput } from '../output/step-output.ts'
import { runProbe, type ProbeEnd } from './probe.ts'
import { attemptLabels } from '../attempt/labels.ts'
import { StepFailure } from '../attempt/step-outcome.ts'
import type { ServiceNetwork } from '../attempt/service-network.ts'

export interface SetOptions {
  /** Unique among all sets of the build, including other tries. */
  readonly key: string
  readonly services: ResolvedServices
  /** Networks of the enclosing services: those of groups around it and of the build. */
  readonly outer: ServiceNetwork
  /** Variables for readiness and setup. */
  readonly environment: Readonly<Record<string, string>>
  /** Receives the output of the services. */
  readonly log: StepOutput
}

export interface RunningSet {
  readonly serviceNetwork: ServiceNetwork
  /** Describes failed services with their last lines, also those that have ended just now. Empty if none failed. */
  explain(): Promise<string>
  /** Ends the output, then stops and removes everything in the background. */
  stop(): Promise<void>
}

/** How long services may take to stop, in the background. Milliseconds. */
const STOP_MS = 2_000

/**
 * Starts the services and resolves when they are ready. Throws `StepFailure` (`service-failed`) with the last lines of failed services, after
 * stopping all.
 */
export async function startServices(part: StepPart, options: SetOptions): Promise<RunningSet> {
  const { context } = part
  const name = `windlass-${context.input.buildId}-${sha256(options.key).slice(0, 12)}`
  const parts: { following?: Following; project?: Project } = {}
  async function stop(): Promise<void> {
    await parts.following?.stop()
    await options.log.end()
    const add = parts.project?.sharesVolume === true ? addCleanup : addDeferredCleanup
    add(context, 'remove services', remove(context, { name, builds: parts.project?.builds !== false }, options))
  }
  try {
    const { network, serviceNetwork } = await makeNetwork(part, name, options)
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
    const explain = async (): Promise<string> => {
      await following.settle()
      return describeFailures(following.all)
    }
    try {
      await project.start(part.signal)
      await awaitReady(part, { ...options, serviceNetwork, following })
      await setUp(part, { ...options, serviceNetwork })
    } catch (error) {
      throw withLastLines(error, following)
    }
    return { serviceNetwork, explain, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Creates the network of the set and returns how to reach it together with the enclosing services. */
async function makeNetwork(
  { context, step }: StepPart,
  name: string,
  { services, outer }: SetOptions,
): Promise<{ network: ComposeNetwork; serviceNetwork: ServiceNetwork }> {
  const { docker, namespaces, input } = context
  if (services.sharedHostNetwork) {
    const namespace = outer.namespace ?? (await namespaces.open(outer.networks))
    return { network: { kind: 'namespace', namespace }, serviceNetwork: { networks: outer.networks, namespace } }
  }
  await docker.createNetwork(name, attemptLabels(input, step.name)).catch((error: unknown) => {
    throw isFault(error, 'docker-refused') && /address pool/i.test(error.message)
      ? new StepFailure('service-failed', `The Docker daemon has no addresses left for a network: ${error.message}`, {
          hint: 'Too many builds with services run at once on this daemon; give it more `default-address-pools`.',
        })
      : error
  })
  const serviceNetwork = { ...outer, networks: [...outer.networks, name] }
  if (outer.namespace === undefined) namespaces.prepare(serviceNetwork.networks)
  else await docker.connectNetwork(name, outer.namespace.slice('container:'.length))
  return { network: { kind: 'network', name }, serviceNetwork }
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
  readonly serviceNetwork: ServiceNetwork
}

/** Retries the readiness check like Kubernetes. Fails at once if a service has failed, because waiting cannot help then. */
async function awaitReady(part: StepPart, options: Started & { readonly following: Following }): Promise<void> {
  const { readiness } = options.services
  if (readiness === undefined) return
  const { context, output } = part
  const started = context.clock.monotonic()
  for (let failures = 1; ; failures += 1) {
    const end = await probeOnce(part, options, readiness.timeoutMs)
    if (end.exitCode === 0) break
    await output.say(`The services are not ready yet (attempt ${failures} of ${readiness.failureThreshold}).`)
    const broken = options.following.all.some(({ exitCode }) => exitCode !== undefined && exitCode !== 0)
    if (failures >= readiness.failureThreshold || broken)
      throw new StepFailure(
        'service-failed',
        `The services did not become ready: ${failures} of ${readiness.failureThreshold} attempts of \`readiness\` failed, the last with ${describeEnd(end)}`,
        { hint: 'Give them more time with `periodSeconds` and `failureThreshold`.' },
      )
    await context.clock.sleep(readiness.periodMs, part.signal)
  }
  await output.say(`The services are ready after ${((context.clock.monotonic() - started) / 1000).toFixed(1)} s.`)
}

const TIMED_OUT = 124

/** Runs the check once. A timeout counts as a failure. */
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
  if (end.exitCode !== 0) throw new StepFailure('service-failed', `The \`setup\` of the services failed with ${describeEnd(end)}`)
  await part.output.say('The setup of the services is done.')
}

function probeOf({
  environment,
  serviceNetwork,
  log,
}: Started): Pick<Parameters<typeof runProbe>[1], 'environment' | 'serviceNetwork' | 'write'> {
  return { environment, serviceNetwork, write: (pieces) => log.write(pieces) }
}

function describeEnd({ exitCode, lastLines }: ProbeEnd): string {
  return `exit code ${exitCode}${quoteLines(lastLines)}`
}

/** Adds the last lines of the services to an error, even of those that still run. */
function withLastLines(error: unknown, { all }: Following): unknown {
  if (!(error instanceof StepFailure)) return error
  const failed = describeFailures(all)
  const details =
    failed !== ''
      ? failed
      : sentences(
          ...all
            .filter(({ lastLines }) => lastLines.length > 0)
            .map(({ container, lastLines }) => `Service "${container.service}" runs${quoteLines(lastLines)}`),
        )
  return details === ''
    ? error
    : new StepFailure(error.reason, sentences(error.message, details), {
        ...defined({ hint: error.hint }),
        cause: error,
      })
}
