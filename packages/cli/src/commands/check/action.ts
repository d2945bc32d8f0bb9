import { defined, systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import type { ContextCheck } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { printValue } from '../../format/output.ts'
import type { Style } from '../../format/style.ts'
import { openSession } from '../../session/session.ts'

interface CheckOptions {
  readonly runtime: string | undefined
  readonly output: 'json' | 'yaml' | undefined
}

/** Longer than the server waits for the agent. Milliseconds. */
const TIMEOUT_MS = 180_000
const POLL_MS = 1_000

/** Runs `check context`. Returns 1 if the context cannot be used. Throws `agent-checks-failed`. */
export async function runCheckContext({ args, options, out, settings }: Invocation<CheckOptions>): Promise<number> {
  const [name = ''] = args
  const check = await checkContext(openSession(settings).client, name, options.runtime)
  const { result } = check
  if (check.state !== 'done' || result === undefined)
    throw fault('agent-checks-failed', { message: check.message ?? `Agent "${check.agent}" has not answered yet.` })
  if (options.output === undefined) for (const line of describeCheck(check, out.stdout.style)) out.line(line)
  else await printValue(out, check, options.output)
  return result.outcome === 'reached' ? EXIT.success : EXIT.failed
}

async function checkContext({ contexts }: ApiClient, name: string, wanted: string | undefined): Promise<ContextCheck> {
  const until = systemClock.monotonic() + TIMEOUT_MS
  let check = await contexts.check(name, defined({ runtime: wanted }), { timeoutMs: 30_000 })
  const { runtime } = check
  while (check.state === 'running' && systemClock.monotonic() < until) {
    await systemClock.sleep(POLL_MS)
    const { items } = await contexts.checks(name)
    check = items.find((one) => one.runtime === runtime) ?? check
  }
  return check
}

/** Returns the lines of the result. Pure. */
function describeCheck({ runtime, agent, result }: ContextCheck, style: Style): string[] {
  if (result === undefined) return []
  const { outcome, reason, message, hint, tookMs } = result
  const isReached = outcome === 'reached'
  const mark = isReached ? style.green('✔') : style.red('✘')
  const words = reason === undefined ? outcome : `${outcome} (${reason})`
  return [
    `${mark} ${style.bold(words)}  ${message}`,
    ...(hint === undefined ? [] : [`  ${style.dim('→')} ${hint}`]),
    `  ${style.dim(`checked by the agent ${agent} of ${runtime} in ${tookMs} ms`)}`,
  ]
}
