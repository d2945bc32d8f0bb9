/** The one agent task there is: a request that is handed on to the app-proxy of the cluster (runner specification 2.9). */
import { isAbort, retry, type Clock } from '@windlass/kit'
import type { Transport } from '@windlass/protocol'
import { z } from 'zod'
import type { TaskOutcome, V1Task } from './shapes.ts'

export interface ProxyTaskOptions {
  readonly transport: Transport
  readonly clock: Clock
  /** Between tries, milliseconds; 1 s, then 2 s when absent. */
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

const TRIES = 4
const TIMEOUT_MS = 30_000

/** Carries out an agent task; its params may hold secrets, and so may the answer: neither is told. */
export async function runAgentTask(options: ProxyTaskOptions, task: V1Task, signal: AbortSignal): Promise<TaskOutcome> {
  const spec = AgentSpec.safeParse(task.spec)
  if (!spec.success) return final('the task has no type and params')
  if (spec.data.type !== 'proxy') return final(`unknown type ${spec.data.type.slice(0, 100)}`)
  const params = Params.safeParse(spec.data.params)
  if (!params.success) return final(`the params lack ${params.error.issues.map(({ path }) => path.join('.')).join(', ')}`)
  const { variables, eventReporting } = params.data.runtimeContext.context
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
  const wait = { clock: options.clock, signal, tries: TRIES, baseMs: options.baseMs ?? 1_000, maxMs: 8_000 }
  try {
    const status = await retry({ ...wait, retryIf: (error) => !isAbort(error) }, async () => {
      const answer = await options.transport(request)
      // Read to its end, so that the socket can be used again.
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

function final(reason: string): TaskOutcome {
  return { ok: false, isRetriable: false, reason }
}
