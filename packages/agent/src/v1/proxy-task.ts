/** The only agent task: forwarding a request to the app-proxy of the cluster. */
import { isAbort, retry, type Clock } from '@windlass/kit'
import type { Transport } from '@windlass/protocol'
import { z } from 'zod'
import type { TaskOutcome, V1Task } from './shapes.ts'

export interface ProxyTaskOptions {
  readonly transport: Transport
  /**
   * Hosts or `host:port` that requests may go to; none if empty. Without this list the platform could reach every host that the pod of the agent can.
   */
  readonly appProxies: readonly string[]
  readonly clock: Clock
  /** Delay before the first retry, doubled each time. Milliseconds. Default: 1000. */
  readonly baseMs?: number
}

const AgentSpec = z.looseObject({ type: z.string(), params: z.looseObject({}) })
const Method = z
  .string()
  .toUpperCase()
  .pipe(z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']))
const Params = z.looseObject({
  runtimeContext: z.looseObject({
    context: z.looseObject({
      variables: z.looseObject({ proxyUrl: z.url({ protocol: /^https?$/ }), method: Method.default('POST') }),
      eventReporting: z.looseObject({ token: z.string().min(1) }),
    }),
  }),
})

const ATTEMPTS = 4
const TIMEOUT_MS = 30_000

/** Carries out an agent task. Its params and the answer may hold secrets, so neither is reported. */
export async function runAgentTask(options: ProxyTaskOptions, task: V1Task, signal: AbortSignal): Promise<TaskOutcome> {
  const spec = AgentSpec.safeParse(task.spec)
  if (!spec.success) return final('the task has no type and params')
  if (spec.data.type !== 'proxy') return final(`unknown type ${spec.data.type.slice(0, 100)}`)
  const params = Params.safeParse(spec.data.params)
  if (!params.success)
    return final(`invalid or missing params: ${params.error.issues.map(({ path }) => path.join('.')).join(', ')}`)
  const { variables, eventReporting } = params.data.runtimeContext.context
  const unlisted = findUnlistedHost(variables.proxyUrl, options.appProxies)
  if (unlisted !== undefined)
    return final(
      `the agent does not forward requests to ${unlisted}; to allow it, add it to WINDLASS_AGENT_APP_PROXIES of the agent`,
    )
  const request = {
    method: variables.method,
    url: variables.proxyUrl,
    headers: {
      'content-type': 'application/json',
      'x-req-type': 'workflow-request',
      'x-access-token': eventReporting.token,
    },
    body: JSON.stringify(spec.data.params),
    signal,
    timeoutMs: TIMEOUT_MS,
  }
  const wait = { clock: options.clock, signal, tries: ATTEMPTS, baseMs: options.baseMs ?? 1_000, maxMs: 8_000 }
  try {
    const status = await retry({ ...wait, retryIf: (error) => !isAbort(error) }, async () => {
      const answer = await options.transport(request)
      // Read to the end so that the connection can be reused.
      for await (const _ of answer.body) continue
      if (answer.status >= 500) throw new Error(`the app-proxy answered ${answer.status}`)
      return answer.status
    })
    if (status < 300) return { ok: true }
    return { ok: false, isRetriable: status === 408 || status === 429, reason: `the app-proxy answered ${status}` }
  } catch (error) {
    return { ok: false, isRetriable: true, reason: error instanceof Error ? error.message : String(error) }
  }
}

/** Returns the host of an address that is not listed, or undefined if it is listed. */
function findUnlistedHost(address: string, listed: readonly string[]): string | undefined {
  const { host, hostname, username, password } = new URL(address)
  // A listed host has no user name and password, and the host behind an @ is easily misread.
  if (username !== '' || password !== '') return `${host} with a user name`
  return listed.some((entry) => [host, hostname].includes(entry.toLowerCase())) ? undefined : host
}

function final(reason: string): TaskOutcome {
  return { ok: false, isRetriable: false, reason }
}
