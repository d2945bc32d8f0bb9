/** Signs a pushed image with cosign and a key (github.com/sigstore/cosign, "Signing with a key"). */
import { normalize, type ResolvedBuild } from '@windlass/plan'
import { COSIGN_IMAGE, StepFailure, type StepRun } from '../attempt/context.ts'
import { runTool } from '../steps/tool-container.ts'
import { toDockerConfig } from './credentials.ts'
import type { PushTarget } from './push-target.ts'

const SCRIPT = `
set -uo pipefail
exec 1>&2
tar -xf - -C /run/windlass || exit 1
export DOCKER_CONFIG=/run/windlass HOME=/run/windlass
[ -f /run/windlass/key-pass ] && COSIGN_PASSWORD=$(cat /run/windlass/key-pass) && export COSIGN_PASSWORD
cd "$DIRECTORY" || exit 20
mapfile -d '' -t options </run/windlass/options
cosign sign "\${options[@]}"`

export interface Signing {
  readonly options: Readonly<Record<string, string>>
  readonly target: PushTarget | undefined
  readonly digest: string | undefined
}

/** Throws `StepFailure` (`sign-failed`, `integration-missing`). */
export async function signImage(run: StepRun<ResolvedBuild>, { options, target, digest }: Signing): Promise<void> {
  const { action, context, output, signal } = run
  if (target === undefined || digest === undefined)
    throw new StepFailure('sign-failed', 'Only an image that was pushed can be signed.', { hint: 'Write `registry`.' })
  const { key, 'key-pass': password, ...flags } = options
  if (key === undefined || key === '')
    throw new StepFailure(
      'integration-missing',
      'Signing without a key needs an identity token of the build, which this server does not issue.',
      {
        hint: 'Write `cosign.options.key`: a file on the shared volume, or a key of a key management service.',
      },
    )
  if (password !== undefined) output.hide([password])
  const image = await context.images.ensure({ name: COSIGN_IMAGE }, { signal, say: (line) => output.say(line) })
  const reference = `${target.repository}@${digest}`
  const isFile = !key.includes('://')
  const { login } = target
  const end = await runTool(run, {
    image: image.name,
    script: SCRIPT,
    environment: { DIRECTORY: action.directory },
    secrets: {
      options: [
        '--yes',
        '--key',
        isFile ? normalize(key.startsWith('/') ? key : `${action.directory}/${key}`) : key,
        ...toFlags(flags),
        reference,
      ].join('\0'),
      'config.json': JSON.stringify(toDockerConfig(login === undefined ? [] : [{ context: '', isDefault: false, ...login }])),
      // A key without a password has the empty one; without it cosign would ask a terminal.
      'key-pass': password ?? '',
    },
    // The registry is reached as the Docker daemon reaches it.
    network: 'host',
  })
  if (end.exitCode !== 0) {
    const said = end.tail.trim().split('\n').at(-1) ?? ''
    throw new StepFailure('sign-failed', `${reference} cannot be signed: ${said.replace(/^(Error|main\.go:\d+): */, '')}`, {
      hint: 'Check `cosign.options`: key, key-pass, and whether the transparency log can be reached (`tlog-upload: "false"` leaves it out).',
    })
  }
  await output.say(`Signed ${reference}.`)
}

/** `tlog-upload: "false"` is `--tlog-upload=false`. */
function toFlags(options: Readonly<Record<string, string>>): string[] {
  return Object.entries(options).map(([name, value]) => `--${name.replace(/^--/, '')}=${value}`)
}
