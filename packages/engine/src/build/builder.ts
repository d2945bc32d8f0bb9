/**
 * A BuildKit daemon beside the Docker daemon, for what the builder inside dockerd cannot do: several platforms in one image, and layer caches in a
 * registry. One container per attempt, made by the first step that needs it; its state is a volume of the disk, so that caches outlive the build.
 */
import { readFileSync } from 'node:fs'
import { isFault } from '@windlass/kit'
import type { Buildx, ResolvedBuild } from '@windlass/plan'
import { attemptLabels, BUILDKIT_IMAGE, StepFailure, type AttemptContext, type StepRun } from '../attempt/context.ts'
import { archive } from '../attempt/workspace.ts'
import type { ContainerSpec } from '../docker/containers.ts'
import { openDriverOptions, type DriverOptions } from './driver-options.ts'

/** Volume of the disk that holds the state of the builder. */
const STATE_VOLUME = 'windlass-buildkit'
const LABEL_BUILDER = 'windlass.io/builder'
const STATE_PATH = '/var/lib/buildkit'
const CONFIG_PATH = '/run/windlass/buildkitd.toml'
const SCRIPT = readFileSync(new URL('buildkitd.sh', import.meta.url), 'utf8')
/** What runc and overlay mounts need. Not `privileged`: devices and the other rights of the machine stay out of reach. */
export const BUILDER_CAPABILITIES: readonly string[] = ['SYS_ADMIN', 'NET_ADMIN', 'SYS_PTRACE']

export interface Builder {
  /** Id of its container. */
  readonly id: string
}

const builders = new WeakMap<AttemptContext, Map<string, Promise<Builder>>>()

/** The builder of the attempt with these settings. Throws `StepFailure`. */
export async function openBuilder(run: StepRun<ResolvedBuild>, settings: Buildx['builder'] | undefined): Promise<Builder> {
  const options = openDriverOptions(settings, networkFor(run))
  const key = JSON.stringify(options)
  const ofAttempt = builders.get(run.context) ?? new Map<string, Promise<Builder>>()
  builders.set(run.context, ofAttempt)
  const known = await ofAttempt.get(key)?.catch(() => undefined)
  if (known !== undefined && (await isRunning(run.context, known))) return known
  const opening = startBuilder(run, options)
  ofAttempt.set(key, opening)
  return opening
}

/** Commands of a Dockerfile share the builder's network: it is that of the machine only where a registry is on the machine itself. */
function networkFor({ action, context }: StepRun<ResolvedBuild>): DriverOptions['network'] {
  const places = [...context.input.registries.map(({ domain }) => domain), ...action.cacheFrom, ...action.cacheTo]
  return places.some((place) => /(^|[=/,])(localhost|127\.\d+\.\d+\.\d+)([:/]|$)/.test(place)) ? 'host' : 'bridge'
}

async function isRunning({ docker }: AttemptContext, { id }: Builder): Promise<boolean> {
  return docker.inspectContainer(id).then(
    (state) => state.isRunning,
    () => false,
  )
}

async function startBuilder({ context, output, signal }: StepRun, options: DriverOptions): Promise<Builder> {
  const { docker, input, images } = context
  const image = await images.ensure({ name: options.image ?? BUILDKIT_IMAGE }, { signal, say: (line) => output.say(line) })
  const { insecureRegistries } = await docker.readSettings()
  const isFree = !(await docker.listContainers([`${LABEL_BUILDER}=${STATE_VOLUME}`])).some(({ isRunning: taken }) => taken)
  const spec: ContainerSpec = {
    image: image.name,
    entrypoint: ['/bin/sh', '-c', SCRIPT, 'windlass', CONFIG_PATH, STATE_PATH],
    command: [],
    environment: options.environment,
    labels: { ...attemptLabels(input), [LABEL_BUILDER]: isFree ? STATE_VOLUME : '' },
    // Two daemons cannot share one state: who comes second works without a cache, in a volume that goes with its container.
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
      `BuildKit runs in a container of its own${isFree ? `; its cache is the volume ${STATE_VOLUME}` : ', without a cache: another build uses it'}.`,
    )
    return { id }
  } catch (error) {
    if (!isFault(error, 'docker-refused')) throw error
    throw new StepFailure('build-failed', `A BuildKit daemon cannot be started on this Docker daemon: ${error.message}`, {
      cause: error,
      hint: `It needs the capabilities ${BUILDER_CAPABILITIES.join(', ')}. Builds without \`buildx\`, \`platform\` and \`cache_to\` need none of them.`,
    })
  }
}

/** The builder reaches registries as the daemon does (moby/buildkit docs, "buildkitd.toml"). */
function toConfig(insecureRegistries: readonly string[]): string {
  return insecureRegistries
    .filter((name) => !name.includes('/'))
    .map((name) => `[registry.${JSON.stringify(name)}]\n  http = true\n  insecure = true\n`)
    .join('\n')
}
