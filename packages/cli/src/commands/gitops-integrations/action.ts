/** `gitops integration`: forges that the users of a GitOps runtime may use, and their Git tokens. */
import { fault } from '@windlass/kit/faults'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { readTokenFile } from '../../input/token-file.ts'
import { openRuntime, type RuntimeSession } from '../gitops-repository/runtime-session.ts'

interface Target {
  readonly runtimeUrl: string | undefined
}
interface Shown extends Target {
  readonly output: 'json' | 'yaml' | undefined
}

const DEFAULT_NAME = 'default'

/** Opens the runtime of the first argument. Returns the name of the integration too, which is the second one. */
async function open({
  args,
  options,
  settings,
}: Pick<Invocation<Target>, 'args' | 'options' | 'settings'>): Promise<RuntimeSession & { readonly name: string }> {
  const [runtime = '', name = DEFAULT_NAME] = args
  return { ...(await openRuntime(settings, { runtime, url: options.runtimeUrl })), name }
}

/** Runs `gitops integration list RUNTIME`. */
export async function listIntegrations(invocation: Invocation<Shown>): Promise<void> {
  const { options, out } = invocation
  const { calls } = await open(invocation)
  const { items } = await calls.integrations()
  if (options.output !== undefined) return printValue(out, items, options.output)
  if (items.length === 0) return out.note('No Git integrations found.')
  const head = ['NAME', 'PROVIDER', 'URL', 'SHARED WITH', 'USERS', 'RUNTIME TOKEN', 'YOU']
  const rows = items.map(({ name, provider, url, sharingPolicy, registeredUsers, hasRuntimeToken, registration }) => [
    name,
    provider,
    url,
    sharingPolicy === 'ACCOUNT_ADMINS' ? 'admins' : 'all users',
    String(registeredUsers.length),
    hasRuntimeToken ? 'yes' : 'no',
    registration?.login ?? '',
  ])
  for (const line of alignColumns([head.map((cell) => out.stdout.style.dim(cell)), ...rows])) out.line(line)
  return undefined
}

interface AddOptions extends Shown {
  readonly provider: string | undefined
  readonly url: string | undefined
  readonly accountAdminsOnly: boolean
}

/** Runs `gitops integration add RUNTIME [NAME]`. */
export async function addIntegration(invocation: Invocation<AddOptions>): Promise<void> {
  const { options, out } = invocation
  const { provider, url, accountAdminsOnly } = options
  if (provider === undefined || url === undefined)
    throw fault('usage', {
      message: `The ${provider === undefined ? 'provider' : 'URL'} of the integration is missing.`,
      hint: 'Name both, such as --provider github --url https://github.com.',
    })
  const { calls, name } = await open(invocation)
  const sharingPolicy = accountAdminsOnly ? 'ACCOUNT_ADMINS' : 'ALL_USERS_IN_ACCOUNT'
  const added = await calls.putIntegration(name, { provider, url, sharingPolicy })
  if (options.output !== undefined) return printValue(out, added, options.output)
  out.line(`git-integration/${name} added`)
  return undefined
}

/** Runs `gitops integration remove RUNTIME [NAME]`. */
export async function removeIntegration(invocation: Invocation<Target>): Promise<void> {
  const { calls, name } = await open(invocation)
  await calls.removeIntegration(name)
  invocation.out.line(`git-integration/${name} removed`)
}

interface RegisterOptions extends Shown {
  readonly tokenFile: string | undefined
  readonly username: string | undefined
  readonly runtimeToken: boolean
}

/** Runs `gitops integration register RUNTIME [NAME]`. */
export async function register(invocation: Invocation<RegisterOptions>): Promise<void> {
  const { options, out } = invocation
  const { tokenFile, username, runtimeToken } = options
  if (tokenFile === undefined)
    throw fault('usage', {
      message: 'The Git token is missing.',
      hint: 'Name a file with it: --token-file FILE, or - for standard input.',
    })
  const token = readTokenFile(tokenFile)
  const { calls, name } = await open(invocation)
  const input = { token, username }
  const registration = await (runtimeToken ? calls.registerRuntimeToken(name, input) : calls.registerToken(name, input))
  if (options.output !== undefined) return printValue(out, registration, options.output)
  out.line(`git-integration/${name} ${runtimeToken ? 'has the token of the runtime' : 'registered'}: ${registration.login}`)
  return undefined
}

interface DeregisterOptions extends Target {
  readonly user: string | undefined
  readonly runtimeToken: boolean
}

/** Runs `gitops integration deregister RUNTIME [NAME]`. */
export async function deregister(invocation: Invocation<DeregisterOptions>): Promise<void> {
  const { user, runtimeToken } = invocation.options
  if (user !== undefined && runtimeToken)
    throw fault('usage', { message: 'The runtime is not a user.', hint: 'Use either --user or --runtime-token.' })
  const { calls, name } = await open(invocation)
  if (runtimeToken) await calls.removeRuntimeToken(name)
  else if (user !== undefined) await calls.removeTokenOf(name, user)
  else await calls.removeToken(name)
  invocation.out.line(`git-integration/${name} deregistered`)
}
