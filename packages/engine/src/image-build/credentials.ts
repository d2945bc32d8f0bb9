/** Credentials that a build may use and the image must not contain: registry logins, BuildKit secrets, SSH keys. */
import { normalize, type ResolvedBuild } from '@windlass/plan'
import type { RegistryAccess } from '@windlass/protocol'
import type { StepRun } from '../attempt/context.ts'
import { findRegistryOf, getRegistry, toLogin } from '../attempt/registries.ts'
import type { RegistryLogin } from '../docker/images.ts'
import { StepFailure } from '../attempt/step-outcome.ts'

const FOLDER = '/run/windlass'
/** Larger secrets are used but not masked in the output. Bytes. */
const MAX_MASKED_BYTES = 65_536

/** Returns one login per domain: the one named by the step, else the primary integration. Two named logins of one domain are an error. */
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

/** Returns the encoded passwords of `toDockerConfig`. They must be masked too. */
export function authsIn(registries: readonly RegistryAccess[]): string[] {
  return registries.flatMap((registry) => {
    const login = toLogin(registry)
    return login === undefined ? [] : [authOf(login)]
  })
}

function authOf({ username, password }: RegistryLogin): string {
  return Buffer.from(`${username}:${password}`).toString('base64')
}

/** Returns a configuration of the Docker CLI. Docker Hub has a special key in it. */
export function toDockerConfig(registries: readonly RegistryAccess[]): object {
  const auths = registries.flatMap((registry) => {
    const login = toLogin(registry)
    if (login === undefined) return []
    const key = login.domain === 'docker.io' ? 'https://index.docker.io/v1/' : login.domain
    return [[key, { auth: authOf(login) }] as const]
  })
  return { auths: Object.fromEntries(auths) }
}

export interface BuildCredentials {
  /** Options of `docker buildx build`. */
  readonly options: readonly string[]
  /** Files of the shared volume that the options name as `/run/windlass/source-0` and so on. */
  readonly sources: readonly string[]
  /** Files for the tmpfs of the container that builds. */
  readonly files: Readonly<Record<string, string>>
}

/** Returns options for `secrets` and `ssh` and masks their values. Throws `StepFailure` if a file or key is missing. */
export async function openCredentials(run: StepRun<ResolvedBuild>): Promise<BuildCredentials> {
  const sources: string[] = []
  const secrets = await openSecrets(run, sources)
  const ssh = await openSsh(run, sources)
  run.output.hide([...secrets.values, ...ssh.values])
  return { options: [...secrets.options, ...ssh.options], files: ssh.files, sources }
}

interface Opened {
  readonly options: readonly string[]
  readonly values: readonly string[]
}

/** Reads secrets. `src` is relative to the working directory, or absolute on the shared volume; it may be outside of the build context. */
async function openSecrets({ action, context }: StepRun<ResolvedBuild>, sources: string[]): Promise<Opened> {
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
    options.push('--secret', csv([`id=${id}`, `src=${addSource(sources, path)}`]))
  }
  return { options, values }
}

/** Reads SSH keys. `default` is the key of the default git integration; `name=path` is a key file on the shared volume. */
async function openSsh(
  { action, context }: StepRun<ResolvedBuild>,
  sources: string[],
): Promise<Opened & { files: Record<string, string> }> {
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
      options.push('--ssh', `${name}=${addSource(sources, path)}`)
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

/** Returns the path where the script copies a file: a link on the shared volume could point to other files in the tmpfs. */
function addSource(sources: string[], path: string): string {
  return `${FOLDER}/source-${sources.push(path) - 1}`
}

function toPath(directory: string, path: string): string {
  return normalize(path.startsWith('/') ? path : `${directory}/${path}`)
}

/** Encodes a CSV record (RFC 4180), as the CLI parses its options. */
function csv(fields: readonly string[]): string {
  return fields.map((field) => (/[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',')
}
