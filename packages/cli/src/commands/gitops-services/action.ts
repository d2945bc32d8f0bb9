/** `gitops service`: logins of registries and Jira in the shared configuration repository. */
import { fault } from '@windlass/kit/faults'
import { SERVICE_TYPES, type ServiceIntegrationChange } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { readInput } from '../../input/input-files.ts'
import type { Printer } from '../../printer.ts'
import { COMMIT_TIMEOUT, openRuntime, printChange } from '../gitops-repository/runtime-session.ts'

interface Target {
  readonly runtimeUrl: string | undefined
}
interface Shown extends Target {
  readonly output: 'json' | 'yaml' | undefined
}
interface Committed extends Shown {
  readonly message: string | undefined
}

const DEFAULT_NAME = 'default'

/** Runs `gitops service list RUNTIME`. */
export async function listServices({ args, options, out, settings }: Invocation<Shown>): Promise<void> {
  const { calls } = await openRuntime(settings, { runtime: args[0] ?? '', url: options.runtimeUrl })
  const { items } = await calls.serviceIntegrations()
  if (options.output !== undefined) return printValue(out, items, options.output)
  if (items.length === 0) return out.note('No logins of registries or Jira found.')
  const head = ['TYPE', 'NAME', 'PLACE', 'SECRET'].map((cell) => out.stdout.style.dim(cell))
  const rows = items.map(({ type, name, place, secret }) => [type, name, place, secret])
  for (const line of alignColumns([head, ...rows])) out.line(line)
  return undefined
}

/** Runs `gitops service add-registry RUNTIME [NAME]`. */
export async function addRegistry({
  args,
  options,
  out,
  settings,
}: Invocation<
  Committed & {
    readonly domain: string | undefined
    readonly username: string | undefined
    readonly tokenFile: string | undefined
  }
>): Promise<void> {
  const [runtime = '', name = DEFAULT_NAME] = args
  const { domain, username, tokenFile, message } = options
  if (domain === undefined || username === undefined || tokenFile === undefined)
    throw missing('--domain, --username and --token-file')
  const password = readSecret(tokenFile)
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const change = await calls.putRegistry(name, { domain, username, password, message }, COMMIT_TIMEOUT)
  return print(out, change, options)
}

/** Runs `gitops service add-jira RUNTIME [NAME]`. */
export async function addJira({
  args,
  options,
  out,
  settings,
}: Invocation<
  Committed & {
    readonly url: string | undefined
    readonly username: string | undefined
    readonly tokenFile: string | undefined
    readonly project: readonly string[]
  }
>): Promise<void> {
  const [runtime = '', name = DEFAULT_NAME] = args
  const { url, username, tokenFile, message } = options
  const projects = options.project.length === 0 ? undefined : options.project.map((project) => project.toUpperCase())
  if (url === undefined || tokenFile === undefined) throw missing('--url and --token-file')
  const token = readSecret(tokenFile)
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  return print(out, await calls.putJira(name, { url, username, token, projects, message }, COMMIT_TIMEOUT), options)
}

/** Runs `gitops service remove RUNTIME TYPE [NAME]`. */
export async function removeService({ args, options, out, settings }: Invocation<Target>): Promise<void> {
  const [runtime = '', given = '', name = DEFAULT_NAME] = args
  const type = SERVICE_TYPES.find((one) => one === given)
  if (type === undefined)
    throw fault('usage', { message: `"${given}" is not a type.`, hint: `Name one of ${SERVICE_TYPES.join(', ')}.` })
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  printChange(out, `${type}/${name}`, { verb: 'removed', commit: await calls.removeService(type, name, COMMIT_TIMEOUT) })
}

async function print(out: Printer, change: ServiceIntegrationChange, options: Shown): Promise<void> {
  if (options.output !== undefined) return printValue(out, change, options.output)
  const { type, name } = change.integration
  return printChange(out, `${type}/${name}`, { verb: 'sealed', commit: change.commit })
}

/** Reads a password or a token, without the line break at its end. */
function readSecret(path: string): string {
  return readInput(path).text.replace(/\r?\n$/, '')
}

function missing(what: string): Error {
  return fault('usage', { message: 'The login is incomplete.', hint: `Add ${what}.` })
}
