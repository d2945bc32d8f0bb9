/** Programs of other platforms: the kernel is told to run them with QEMU (`binfmt_misc`). */
import type { Buildx } from '@windlass/plan'
import type { EngineClaimed } from '@windlass/protocol'
import { BUILDKIT_IMAGE, attemptLabels, StepFailure, type StepRun } from '../attempt/context.ts'
import { parseImageName } from '../docker/images.ts'
import { runContainer } from '../steps/run-container.ts'
import { BUILDER_CAPABILITIES } from './builder.ts'

/** What pipelines name when they name nothing: our own image does the same. */
const STANDARD_IMAGE = 'tonistiigi/binfmt'
const LAST_WORDS = 2_000

/** True when the image is on the list: names with or without a tag; of other registries than Docker Hub the whole name. */
export function isTrusted(image: string, trusted: readonly string[]): boolean {
  const { repository, tag = 'latest' } = parseImageName(image)
  return trusted.some((entry) => {
    const known = parseImageName(entry.trim())
    return short(known.repository) === short(repository) && (known.tag === undefined || known.tag === tag)
  })
}

function short(repository: string): string {
  return repository.replace(/^(index\.)?docker\.io\//, '').replace(/^library\//, '')
}

function isOurs(image: string): boolean {
  return short(parseImageName(image).repository) === STANDARD_IMAGE
}

/** Throws `StepFailure` (`invalid-step`) for a QEMU image that the runtime does not trust: it runs with rights over the whole kernel. */
export function requireTrusted(
  { trustedQemuImages }: Pick<EngineClaimed, 'trustedQemuImages'>,
  qemu: Buildx['qemu'] | undefined,
): void {
  if (qemu === undefined || isOurs(qemu.image) || trustedQemuImages === undefined || isTrusted(qemu.image, trustedQemuImages))
    return
  throw new StepFailure('invalid-step', `The QEMU image ${qemu.image} is not trusted by the runtime environment.`, {
    hint: `Trusted are: ${trustedQemuImages.join(', ') || 'none'}. The administrator of the runtime sets TRUSTED_QEMU_IMAGES.`,
  })
}

/** Registers emulators for the platforms that the daemon cannot run itself; the kernel knows them as long as the builder lives. */
export async function registerEmulators(
  run: StepRun,
  { platforms, qemu }: { readonly platforms: readonly string[]; readonly qemu: Buildx['qemu'] | undefined },
): Promise<void> {
  const { context, output, signal } = run
  const { input, docker, images, clock } = context
  const named = qemu?.image ?? STANDARD_IMAGE
  const isStandard = isOurs(named)
  const { architecture } = await docker.readSettings()
  const foreign = platforms.filter((platform) => !platform.startsWith(`linux/${architecture}`) && platform !== 'linux/386')
  if (foreign.length === 0) return
  const image = await images.ensure({ name: isStandard ? BUILDKIT_IMAGE : named }, { signal, say: (line) => output.say(line) })
  const wanted = qemu === undefined || qemu.platforms === '' || qemu.platforms === 'all' ? foreign.join(',') : qemu.platforms
  let said = ''
  let id: string | undefined
  const end = await runContainer(
    {
      docker,
      clock,
      signal,
      graceMs: input.limits.stopGraceMs,
      spec: {
        image: image.name,
        ...(isStandard && { entrypoint: ['binfmt'] }),
        command: ['--install', wanted],
        environment: [],
        labels: attemptLabels(input, run.step.name),
        mounts: [],
        network: 'none',
        capabilities: BUILDER_CAPABILITIES,
        stdin: false,
      },
      async onOutput(parts) {
        said = (said + parts.map(({ bytes }) => Buffer.from(bytes).toString('utf8')).join('')).slice(-LAST_WORDS)
      },
    },
    (created) => (id = created),
  ).finally(() => (id === undefined ? undefined : docker.removeContainer(id)))
  if (end.exitCode === 0) await output.say(`Emulators for ${wanted} are registered.`)
  else
    await output.say(
      `Emulators for ${wanted} cannot be registered: ${said.trim() || `exit code ${end.exitCode}`}. Commands of those platforms will not run; copying files works.`,
    )
}
