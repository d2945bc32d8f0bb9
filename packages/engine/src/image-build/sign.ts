/** Signs a pushed image with cosign and a key (github.com/sigstore/cosign, "Signing with a key"). */
import { normalize, type ResolvedBuild } from '@windlass/plan'
import { COSIGN_IMAGE, type StepRun } from '../attempt/context.ts'
import { INSIDE, outsideFailure, OUTSIDE, roots } from '../containers/inside.ts'
import { runTool, type ToolRun } from '../containers/tool-container.ts'
import { toDockerConfig } from './credentials.ts'
import type { PushTarget } from './push-target.ts'
import { StepFailure } from '../attempt/step-outcome.ts'

const SCRIPT = `
${INSIDE}
set -uo pipefail
exec 1>&2
tar -xf - -C /run/windlass || exit 1
export DOCKER_CONFIG=/run/windlass HOME=/run/windlass
[ -f /run/windlass/key-pass ] && COSIGN_PASSWORD=$(cat /run/windlass/key-pass) && export COSIGN_PASSWORD
cd "$DIRECTORY" || exit 20
require_inside "$PWD"
mapfile -d '' -t files </run/windlass/files
require_inside "\${files[@]}"
mapfile -d '' -t options </run/windlass/options
cosign sign "\${options[@]}"`

export interface Signing {
  readonly options: Readonly<Record<string, string>>
  readonly target: PushTarget | undefined
  readonly digest: string | undefined
}

/** Signs a pushed image. Throws `StepFailure` (`sign-failed`, `integration-missing`). */
export async function signImage(run: StepRun<ResolvedBuild>, { options, target, digest }: Signing): Promise<void> {
  const { action, context, output, signal } = run
  if (target === undefined || digest === undefined)
    throw new StepFailure('sign-failed', 'Only an image that was pushed can be signed.', { hint: 'Add `registry` to the step.' })
  const { key, 'key-pass': password, ...flags } = options
  if (key === undefined || key === '')
    throw new StepFailure(
      'integration-missing',
      'Signing without a key needs an identity token of the build, which this server does not issue.',
      {
        hint: 'Set `cosign.options.key` to a file on the shared volume, or to a key of a key management service.',
      },
    )
  if (password !== undefined) output.hide([password])
  const reference = `${target.repository}@${digest}`
  const isFile = !key.includes('://')
  const toPath = (path: string): string => normalize(path.startsWith('/') ? path : `${action.directory}/${path}`)
  const keyPath = toPath(key)
  refuseOthers(flags)
  const { login } = target
  const tool: ToolRun = {
    script: SCRIPT,
    environment: { ...roots(context), DIRECTORY: action.directory },
    secrets: {
      options: ['--yes', '--key', isFile ? keyPath : key, ...toFlags(flags), reference].join('\0'),
      'config.json': JSON.stringify(toDockerConfig(login === undefined ? [] : [{ context: '', isDefault: false, ...login }])),
      files: [...(isFile ? [keyPath] : []), ...filesIn(flags).map(toPath)].join('\0'),
      // An empty password for a key without one: without it cosign would prompt.
      'key-pass': password ?? '',
    },
    // The Docker daemon reaches the registry through the host network.
    network: 'host',
  }
  const say = (line: string): Promise<void> => output.say(line)
  const end = await context.images.use({ name: COSIGN_IMAGE }, { signal, say }, ({ name }) =>
    runTool(run, { ...tool, image: name }),
  )
  if (end.exitCode === OUTSIDE) throw outsideFailure(end.tail)
  if (end.exitCode !== 0) {
    const error = end.tail.trim().split('\n').at(-1) ?? ''
    throw new StepFailure('sign-failed', `${reference} cannot be signed: ${error.replace(/^(Error|main\.go:\d+): */, '')}`, {
      hint: 'Check `cosign.options`: key, key-pass, and whether the transparency log can be reached (`tlog-upload: "false"` leaves it out).',
    })
  }
  await output.say(`Signed ${reference}.`)
}

/** Options that change how an image is signed. Others read or write files, or print the requests to the registry. */
const KNOWN_OPTIONS = [
  'a',
  'allow-http-registry',
  'allow-insecure-registry',
  'annotations',
  'recursive',
  'registry-referrers-mode',
  'rekor-url',
  'sign-container-identity',
  'timeout',
  'timestamp-server-url',
  'tlog-upload',
  'upload',
]
const FILE_OPTIONS = ['cert', 'certificate', 'cert-chain', 'certificate-chain']

/** Throws `StepFailure` (`invalid-step`) for other options. */
export function refuseOthers(options: Readonly<Record<string, string>>): void {
  const known = ['key', 'key-pass', ...KNOWN_OPTIONS, ...FILE_OPTIONS]
  const other = Object.keys(options).find((name) => !known.includes(bare(name)))
  if (other !== undefined)
    throw new StepFailure('invalid-step', `The option "${other}" of cosign is not supported.`, {
      hint: `Supported options: ${known.join(', ')}.`,
    })
}

function filesIn(options: Readonly<Record<string, string>>): string[] {
  return Object.entries(options).flatMap(([name, value]) => (FILE_OPTIONS.includes(bare(name)) ? [value] : []))
}

function bare(name: string): string {
  return name.replace(/^--/, '')
}

/** Formats options as flags: `tlog-upload: "false"` becomes `--tlog-upload=false`. */
function toFlags(options: Readonly<Record<string, string>>): string[] {
  return Object.entries(options).map(([name, value]) => `--${bare(name)}=${value}`)
}
