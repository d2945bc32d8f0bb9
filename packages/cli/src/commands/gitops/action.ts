import { systemClock } from '@windlass/kit'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { formatAge } from '../../format/time.ts'
import { openSession } from '../../session/session.ts'

/** Runs `gitops token create RUNTIME`. Prints only the token on standard output, for scripts. */
export async function createToken({ args, options, out, settings }: Invocation<{ output: 'json' | undefined }>): Promise<void> {
  const created = await openSession(settings).client.gitopsRuntimes.createToken(args[0] ?? '')
  if (options.output === 'json') return out.line(JSON.stringify(created, null, 2))
  const { runtime, url, registerUrl, token } = created
  if (url === undefined)
    out.note('The server has no domain for tunnels, so no client can connect. Set WINDLASS_SERVER_TUNNEL_DOMAIN on the server.')
  else out.note(`The runtime "${runtime}" will be at ${url}, and its client connects to ${registerUrl}.`)
  out.note('The token, which is not shown again:')
  return out.line(token)
}

/** Runs `gitops token list RUNTIME`. */
export async function listTokens({
  args,
  options,
  out,
  settings,
}: Invocation<{ output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const { items } = await openSession(settings).client.gitopsRuntimes.tokens(args[0] ?? '')
  if (options.output !== undefined) return printValue(out, items, options.output)
  if (items.length === 0) return out.note('No tokens found.')
  const head = ['ID', 'CREATED BY', 'AGE'].map((cell) => out.stdout.style.dim(cell))
  const now = systemClock.now()
  const rows = items.map(({ id, createdBy, createdAt }) => [id, createdBy, formatAge(createdAt, now)])
  for (const line of alignColumns([head, ...rows])) out.line(line)
  return undefined
}

/** Runs `gitops token delete RUNTIME TOKEN`. */
export async function deleteToken({ args, out, settings }: Invocation<object>): Promise<void> {
  const [runtime = '', token = ''] = args
  await openSession(settings).client.gitopsRuntimes.deleteToken(runtime, token)
  out.line(`token/${token} deleted`)
}

/** Runs `gitops disconnect RUNTIME`. */
export async function disconnect({ args, out, settings }: Invocation<object>): Promise<void> {
  const { runtime } = await openSession(settings).client.tunnels.disconnect(args[0] ?? '')
  out.line(`tunnel/${runtime} disconnected`)
}

/** Runs `gitops delete RUNTIME`. */
export async function deleteRuntime({ args, out, settings }: Invocation<object>): Promise<void> {
  const [runtime = ''] = args
  await openSession(settings).client.gitopsRuntimes.delete(runtime)
  out.line(`gitops-runtime/${runtime} deleted`)
}
