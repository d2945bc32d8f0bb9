/**
 * A BuildKit daemon next to the Docker daemon, for features that the builder in dockerd lacks: multi-platform images, and layer caches in a registry.
 * The first step that needs it creates one container per attempt. Its state is a volume of the disk, so caches outlive the build.
 */
import { readFileSync } from 'node:fs'
import { isFault } from '@windlass/kit'
import type { Buildx, ResolvedBuild } from '@windlass/plan'
import type { EngineClaimed } from '@windlass/protocol'
import { BUILDKIT_IMAGE, type AttemptContext, type StepRun } from '../attempt/context.ts'
import { archive } from '../attempt/workspace.ts'
import { isDiskFull, isImageGone, type ContainerSpec } from '../docker/containers.ts'
import { openDriverOptions, type DriverOptions } from './driver-options.ts'
import { isTrusted } from './trusted-images.ts'
import { attemptLabels } from '../attempt/labels.ts'
import { StepFailure } from '../attempt/step-outcome.ts'

/** Volume of the disk with the state of the builder. */
const STATE_VOLUME = 'windlass-buildkit'
const LABEL_BUILDER = 'windlass.io/builder'
const STATE_PATH = '/var/lib/buildkit'
const CONFIG_PATH = '/run/windlass/buildkitd.toml'
const SCRIPT = readFileSync(new URL('buildkitd.sh', import.meta.url), 'utf8')
/** Capabilities for runc and overlay mounts. Not `privileged`, so devices and other rights of the machine stay out of reach. */
export const BUILDER_CAPABILITIES: readonly string[] = ['SYS_ADMIN', 'NET_ADMIN', 'SYS_PTRACE']

export interface Builder {
  /** Id of its container. */
  readonly id: string
}

const builders = new WeakMap<AttemptContext, Map<string, Promise<Builder>>>()

/** Returns the attempt's builder with these settings. Throws `StepFailure`. */
export async function openBuilder(run: StepRun<ResolvedBuild>, settings: Buildx['builder'] | undefined): Promise<Builder> {
  const network = networkFor(run)
  const options = openDriverOptions(settings, network)
  requireTrustedBuilder(options, { ...run.context.input, network })
  const key = JSON.stringify(options)
  const ofAttempt = builders.get(run.context) ?? new Map<string, Promise<Builder>>()
  builders.set(run.context, ofAttempt)
  const known = await ofAttempt.get(key)?.catch(() => undefined)
  if (known !== undefined && (await isRunning(run.context, known))) return known
  const opening = startBuilder(run, options)
  ofAttempt.set(key, opening)
  return opening
}

/** The usual name of the standard builder. Replaced by our image, which has the same content. */
const STANDARD_IMAGE = 'moby/buildkit'

/**
 * Checks the settings of a builder, which has rights over the kernel of the daemon's machine. Throws `StepFailure` (`invalid-step`) for an image that
 * the runtime does not trust, and for host networking if steps have no access to the daemon.
 */
export function requireTrustedBuilder(
  { image, network, environment }: DriverOptions,
  allowed: Pick<EngineClaimed, 'trustedQemuImages' | 'userAccess'> & Pick<DriverOptions, 'network'>,
): void {
  const { trustedQemuImages: trusted, userAccess } = allowed
  if (image !== undefined && trusted !== undefined && !isTrusted(image, [STANDARD_IMAGE, ...trusted]))
    throw new StepFailure('invalid-step', `The builder image ${image} is not trusted by the runtime environment.`, {
      hint: 'Leave `image=` out of `driver_opts`. The administrator of the runtime sets TRUSTED_QEMU_IMAGES, which names trusted builders too.',
    })
  if (userAccess) return
  const other = environment.find((entry) => !/^(BUILDKIT_\w+|(HTTPS?|NO|ALL)_PROXY)=/i.test(entry))
  const wanted = network === 'host' && allowed.network !== 'host' ? 'network=host' : other && `env.${other.split('=')[0]}`
  if (wanted !== undefined)
    throw new StepFailure('invalid-step', `"driver_opts" has ${wanted}, which this runtime does not allow.`, {
      hint: 'Steps of this runtime have no access to the Docker daemon (`userAccess: false`). BUILDKIT_* and proxies can be set.',
    })
}

/** Returns the network of the builder, which commands of a Dockerfile share. Only a registry on the machine itself needs `host`. */
function networkFor({ action, context }: StepRun<ResolvedBuild>): DriverOptions['network'] {
  const { registries, userAccess } = context.input
  // Names in the step count only if steps have access to the daemon, and so to its machine.
  const named = userAccess ? [...action.cacheFrom, ...action.cacheTo] : []
  const places = [...registries.map(({ domain }) => domain), ...named]
  return places.some((place) => /(^|[=/,])(localhost|127\.\d+\.\d+\.\d+)([:/]|$)/.test(place)) ? 'host' : 'bridge'
}

async function isRunning({ docker }: AttemptContext, { id }: Builder): Promise<boolean> {
  return docker.inspectContainer(id).then(
    (state) => state.isRunning,
    () => false,
  )
}

async function startBuilder(run: StepRun, options: DriverOptions): Promise<Builder> {
  const { context, output, signal } = run
  const say = (line: string): Promise<void> => output.say(line)
  return context.images.use({ name: options.image ?? BUILDKIT_IMAGE }, { signal, say }, ({ name }) =>
    launchBuilder(run, name, options),
  )
}

async function launchBuilder({ context, output }: StepRun, image: string, options: DriverOptions): Promise<Builder> {
  const { docker, input } = context
  const { insecureRegistries } = await docker.readSettings()
  const isFree = !(await docker.listContainers([`${LABEL_BUILDER}=${STATE_VOLUME}`])).some(({ isRunning: taken }) => taken)
  const spec: ContainerSpec = {
    image,
    entrypoint: ['/bin/sh', '-c', SCRIPT, 'windlass', CONFIG_PATH, STATE_PATH],
    command: [],
    environment: options.environment,
    labels: { ...attemptLabels(input), [LABEL_BUILDER]: isFree ? STATE_VOLUME : '' },
    // Two daemons cannot share one state. The second one works without a cache, in a volume that is removed with its container.
    mounts: [{ type: 'volume', source: isFree ? STATE_VOLUME : '', target: STATE_PATH, readOnly: false }],
    network: options.network,
    capabilities: BUILDER_CAPABILITIES,
    init: true,
    stdin: false,
  }
  try {
    const id = await docker.createContainer(spec)
    await docker.putArchive(
      id,
      '/',
      await archive((tar) => void tar.entry({ name: CONFIG_PATH.slice(1) }, toConfig(insecureRegistries))),
    )
    await docker.startContainer(id)
    await output.say(
      `BuildKit runs in a separate container${isFree ? `; its cache is the volume ${STATE_VOLUME}` : ', without a cache: another build uses it'}.`,
    )
    return { id }
  } catch (error) {
    if (!isFault(error, 'docker-refused') || isDiskFull(error) || isImageGone(error)) throw error
    throw new StepFailure('build-failed', `A BuildKit daemon cannot be started on this Docker daemon: ${error.message}`, {
      cause: error,
      hint: `It needs the capabilities ${BUILDER_CAPABILITIES.join(', ')}. Builds without \`buildx\`, \`platform\` and \`cache_to\` need none of them.`,
    })
  }
}

/** Returns a BuildKit configuration that treats registries like the Docker daemon (moby/buildkit docs, "buildkitd.toml"). */
function toConfig(insecureRegistries: readonly string[]): string {
  return insecureRegistries
    .filter((name) => !name.includes('/'))
    .map((name) => `[registry.${JSON.stringify(name)}]\n  http = true\n  insecure = true\n`)
    .join('\n')
}
