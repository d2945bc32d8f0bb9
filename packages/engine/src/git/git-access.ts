/** Resolves the `repo` of a git-clone step to a URL and the credentials for its host only. */
import type { ResolvedGitClone } from '@windlass/plan'
import type { GitAccess } from '@windlass/protocol'
import { StepFailure } from '../attempt/step-outcome.ts'

export interface GitTarget {
  /** Without credentials. */
  readonly url: string
  /** Path on the machine of the daemon, for `file://` URLs. */
  readonly file?: string | undefined
  /** Name of the integration in use, for messages. */
  readonly integration?: string | undefined
  /** Files for the tmpfs of the clone container, by name. */
  readonly secrets: Readonly<Record<string, string>>
  /** Additional values to mask. */
  readonly mask: readonly string[]
}

/** The name that always selects the default integration, as in Codefresh. */
const DEFAULT_NAME = 'CF-default'
const SCP_FORM = /^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):(?!\/\/)([^:].*)$/

/** Throws `StepFailure` (`integration-missing`, `invalid-step`). */
export function toGitTarget(action: ResolvedGitClone, integrations: readonly GitAccess[]): GitTarget {
  const repo = action.repo.trim()
  refuseOption('repo', repo)
  refuseOption('revision', action.revision?.trim() ?? '')
  const named = findIntegration(action.git, integrations)
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(repo))
    return toUrlTarget(new URL(repo), action, named ?? ofHost(new URL(repo).host, integrations))
  const scp = SCP_FORM.exec(repo)
  if (scp?.[2] !== undefined && scp[3] !== undefined) return toSshTarget(repo, named ?? ofHost(scp[2], integrations))
  const base = named ?? integrations.find(({ isDefault }) => isDefault) ?? integrations[0]
  if (base === undefined)
    throw new StepFailure('integration-missing', `There is no git integration for ${repo}.`, {
      hint: 'Set `repo` to a full URL, or add a context of type git.',
    })
  const home = base.url.replace(/\/+$/, '')
  const path = repo.replace(/^\/+/, '')
  if (home.includes('://')) return toUrlTarget(new URL(`${home}/${path}`), action, base)
  return toSshTarget(home.includes(':') ? `${home}/${path}` : `${home}:${path}`, base)
}

/** Rejects values that start with "-", which git and ssh would read as an option that may run a program. */
function refuseOption(field: string, value: string): void {
  if (value.startsWith('-')) throw new StepFailure('invalid-step', `"${field}" is "${value}", which starts with "-".`)
}

function findIntegration(name: string | undefined, integrations: readonly GitAccess[]): GitAccess | undefined {
  if (name === undefined || name === '' || name === DEFAULT_NAME) return undefined
  const found = integrations.find(({ context }) => context === name)
  if (found === undefined)
    throw new StepFailure('integration-missing', `There is no git integration "${name}".`, {
      hint: `Known integrations: ${integrations.map(({ context }) => context).join(', ') || 'none'}. Add a context of type git.`,
    })
  return found
}

function ofHost(host: string, integrations: readonly GitAccess[]): GitAccess | undefined {
  const same = integrations.filter(({ url }) => hostOf(url) === host.toLowerCase())
  return same.find(({ isDefault }) => isDefault) ?? same[0]
}

function hostOf(url: string): string | undefined {
  if (URL.canParse(url)) return new URL(url).host.toLowerCase()
  return SCP_FORM.exec(`${url}:x`)?.[2]?.toLowerCase()
}

function toUrlTarget(url: URL, action: ResolvedGitClone, access: GitAccess | undefined): GitTarget {
  if (url.protocol === 'ssh:') return toSshTarget(url.href, access)
  if (url.protocol === 'file:')
    return { url: url.href, file: decodeURIComponent(url.pathname), integration: access?.context, secrets: {}, mask: [] }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new StepFailure('invalid-step', `"repo" has the protocol ${url.protocol}//, which is not allowed.`, {
      hint: 'Use http, https, ssh or file.',
    })
  const written =
    url.username === '' ? undefined : { username: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
  url.username = ''
  url.password = ''
  const integration =
    access?.username !== undefined && access.password !== undefined
      ? { username: access.username, password: access.password }
      : undefined
  const lines: string[] = []
  const mask: string[] = []
  const login = action.credentials ?? written
  if (login !== undefined) {
    lines.push(credentialLine(url, login))
    mask.push(login.password)
  } else if (integration !== undefined && access !== undefined && URL.canParse(access.url))
    lines.push(credentialLine(new URL(access.url), integration))
  return { url: url.href, integration: access?.context, secrets: { credentials: lines.join('\n') + '\n' }, mask }
}

/** Formats a credential for git's `store` helper, which matches protocol and host: a redirect to another host gets no credential. */
function credentialLine(url: URL, login: { readonly username: string; readonly password: string }): string {
  return `${url.protocol}//${encodeURIComponent(login.username)}:${encodeURIComponent(login.password)}@${url.host}`
}

function toSshTarget(url: string, access: GitAccess | undefined): GitTarget {
  const key = access?.sshPrivateKey
  return {
    url,
    integration: access?.context,
    secrets: {
      ...(key !== undefined && { key: key.endsWith('\n') ? key : `${key}\n` }),
      known_hosts: `${access?.sshKnownHosts ?? ''}\n`,
    },
    mask: [],
  }
}
