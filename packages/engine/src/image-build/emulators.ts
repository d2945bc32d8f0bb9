/** Registers QEMU in the kernel for programs of other platforms (`binfmt_misc`). */
import type { Buildx } from '@windlass/plan'
import type { EngineClaimed } from '@windlass/protocol'
import { BUILDKIT_IMAGE, type StepRun } from '../attempt/context.ts'
import { runContainer, type ContainerEnd } from '../containers/run-container.ts'
import { BUILDER_CAPABILITIES } from './builder.ts'
import { isTrusted } from './trusted-images.ts'
import { attemptLabels } from '../attempt/labels.ts'
import type { FoundImage } from '../attempt/step-images.ts'
import { StepFailure } from '../attempt/step-outcome.ts'

/** The default of pipelines. Replaced by our own image, which does the same. */
const STANDARD_IMAGE = 'tonistiigi/binfmt'
const MAX_OUTPUT = 2_000

function isOurs(image: string): boolean {
  return isTrusted(image, [STANDARD_IMAGE])
}

/** Throws `StepFailure` (`invalid-step`) for a QEMU image that the runtime does not trust: it runs with rights over the whole kernel. */
export function requireTrusted(
  { trustedQemuImages }: Pick<EngineClaimed, 'trustedQemuImages'>,
  qemu: Buildx['qemu'] | undefined,
): void {
  if (qemu === undefined || isOurs(qemu.image) || trustedQemuImages === undefined || isTrusted(qemu.image, trustedQemuImages))
    return
  throw new StepFailure('invalid-step', `The QEMU image ${qemu.image} is not trusted by the runtime environment.`, {
    hint: `Trusted images: ${trustedQemuImages.join(', ') || 'none'}. The administrator of the runtime sets TRUSTED_QEMU_IMAGES.`,
  })
}

/** Registers emulators for the platforms that the daemon cannot run natively. The kernel keeps them while the builder runs. */
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
  const wanted = qemu === undefined || qemu.platforms === '' || qemu.platforms === 'all' ? foreign.join(',') : qemu.platforms
  let text = ''
  let id: string | undefined
  const register = ({ name }: FoundImage): Promise<ContainerEnd> =>
    runContainer(
      {
        docker,
        clock,
        signal,
        graceMs: input.limits.stopGraceMs,
        spec: {
          image: name,
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
          text = (text + parts.map(({ bytes }) => Buffer.from(bytes).toString('utf8')).join('')).slice(-MAX_OUTPUT)
        },
      },
      (created) => (id = created),
    ).finally(() => (id === undefined ? undefined : docker.removeContainer(id)))
  const say = (line: string): Promise<void> => output.say(line)
  const end = await images.use({ name: isStandard ? BUILDKIT_IMAGE : named }, { signal, say }, register)
  if (end.exitCode === 0) await output.say(`Emulators for ${wanted} are registered.`)
  else
    await output.say(
      `Emulators for ${wanted} cannot be registered: ${text.trim() || `exit code ${end.exitCode}`}. Commands of those platforms will not run; copying files works.`,
    )
}
