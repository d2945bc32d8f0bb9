/** What a build may use and the image must not hold: registry logins, BuildKit secrets, SSH keys. */
import { normalize, type ResolvedBuild } from '@windlass/plan'
import type { RegistryAccess } from '@windlass/protocol'
import { StepFailure, type StepRun } from '../attempt/context.ts'
import { findRegistryOf, getRegistry, toLogin } from '../attempt/registries.ts'

const FOLDER = '/run/windlass'
/** Larger secrets are used but not looked for in the output. */
const MAX_MASKED_BYTES = 65_536

/** One login per domain: what the step names, else the primary integration. Two of one domain are an error (pipeline language 7.5). */
export function loginsFor(
  action: Pick<ResolvedBuild, 'registry' | 'registryContexts' | 'buildx'>,
  registries: readonly RegistryAccess[],
): RegistryAccess[] {
  const named = action.registryContexts.map((name) => getRegistry(name, registries))
  const twice = named.find((registry, index) => named.findIndex(({ domain }) => domain === registry.domain) !== index)
  if (twice !== undefined) throw new StepFailure('invalid-step', `"registry_contexts" names two integrations of ${twice.domain}.`)
  const target = action.buildx === false || action.registry === undefined ? undefined : getRegistry(action.registry, registries)
  const clash = target && named.find(({ domain, context }) => domain === target.domain && context !== target.context)
  if (clash !== undefined)
    throw new StepFailure(
      'invalid-step',
      `With "buildx", "registry" and "registry_contexts" cannot name two integrations of ${clash.domain}.`,
    )
  const first = target === undefined ? named : [target, ...named.filter(({ context }) => context !== target.context)]
  const others = [...new Set(registries.map(({ domain }) => domain))]
    .filter((domain) => !first.some((registry) => registry.domain === domain))
    .map((domain) => findRegistryOf(`${domain}/x`, registries))
    .filter((registry) => registry !== undefined)
  return [...first, ...others]
}

/** Docker Hub has a key of its own in the CLI's configuration. */
export function toDockerConfig(registries: readonly RegistryAccess[]): object {
  const auths = registries.flatMap((registry) => {
    const login = toLogin(registry)
    if (login === undefined) return []
    const key = login.domain === 'docker.io' ? 'https://index.docker.io/v1/' : login.domain
    return [[key, { auth: Buffer.from(`${login.username}:${login.password}`).toString('base64') }] as const]
  })
  return { auths: Object.fromEntries(auths) }
}

export interface BuildCredentials {
  /** Options of `docker buildx build`. */
  readonly options: readonly string[]
  /** Files for the memory of the container that builds. */
  readonly files: Readonly<Record<string, string>>
}

/** Options for `secrets` and `ssh`; the values are masked from here on. Throws `StepFailure` for a file or a key that is not there. */
export async function openCredentials(run: StepRun<ResolvedBuild>): Promise<BuildCredentials> {
  const secrets = await openSecrets(run)
  const ssh = await openSsh(run)
  run.output.hide([...secrets.values, ...ssh.values])
  return { options: [...secrets.options, ...ssh.options], files: ssh.files }
}

interface Opened {
  readonly options: readonly string[]
  readonly values: readonly string[]
}

/** `src` is below the working directory, or absolute on the shared volume; the file need not be in the build context. */
async function openSecrets({ action, context }: StepRun<ResolvedBuild>): Promise<Opened> {
  const values: string[] = []
  const options: string[] = []
  for (const { id, src } of action.secrets) {
    const path = toPath(action.directory, src)
    if ((await context.workspace.stat(path)) === undefined)
      throw new StepFailure('invalid-step', `The secret "${id}" cannot be read: there is no file ${path}.`, {
        hint: '`src` is relative to `working_directory`, or an absolute path on the shared volume.',
      })
    const text = await context.workspace.read(path, MAX_MASKED_BYTES)
    if (text !== undefined) values.push(text, text.trim())
    options.push('--secret', csv([`id=${id}`, `src=${path}`]))
  }
  return { options, values }
}

/** `default` is the key of the default git integration; `name=path` is a key file on the shared volume. */
async function openSsh({ action, context }: StepRun<ResolvedBuild>): Promise<Opened & { files: Record<string, string> }> {
  const values: string[] = []
  const options: string[] = []
  const files: Record<string, string> = {}
  for (const entry of action.ssh) {
    const sign = entry.indexOf('=')
    const name = sign < 0 ? entry : entry.slice(0, sign)
    if (sign >= 0) {
      const path = toPath(action.directory, entry.slice(sign + 1))
      if ((await context.workspace.stat(path)) === undefined)
        throw new StepFailure('invalid-step', `The SSH key "${name}" cannot be read: there is no file ${path}.`)
      values.push((await context.workspace.read(path, MAX_MASKED_BYTES)) ?? '')
      options.push('--ssh', `${name}=${path}`)
      continue
    }
    const keys = context.input.git.filter(({ sshPrivateKey }) => sshPrivateKey !== undefined)
    const key = (keys.find(({ context: known }) => known === name) ?? keys.find(({ isDefault }) => isDefault) ?? keys[0])
      ?.sshPrivateKey
    if (key === undefined)
      throw new StepFailure('integration-missing', `"ssh: ${name}" needs a git integration with an SSH key, and there is none.`, {
        hint: 'Add sshPrivateKey to a context of type git, or write name=path of a key file on the shared volume.',
      })
    files[`ssh-${name.replace(/\W/g, '_')}`] = key.endsWith('\n') ? key : `${key}\n`
    values.push(key)
    options.push('--ssh', `${name}=${FOLDER}/ssh-${name.replace(/\W/g, '_')}`)
  }
  return { options, values, files }
}

function toPath(directory: string, path: string): string {
  return normalize(path.startsWith('/') ? path : `${directory}/${path}`)
}

/** A field with a comma or a quote is quoted (RFC 4180), as the CLI reads its options. */
function csv(fields: readonly string[]): string {
  return fields.map((field) => (/[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',')
}
