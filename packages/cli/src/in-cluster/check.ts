/** The command `in-cluster check`, run by `helm test`: the server responds, and the agent is online and serves the runtime. */
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { readSecretFile } from './config.ts'
import { retryUnreachable, type CommandContext } from './context.ts'

/** How long a new agent may take to come online. */
const WAIT_MS = 60_000
const POLL_MS = 1_000

/** Throws `config-invalid` without a token, `unauthenticated` for a wrong one, `conflict` if the agent is offline or does not serve the runtime. */
export async function check(context: CommandContext): Promise<void> {
  const token = readSecretFile(context.config.AGENT_TOKEN_PATH)
  if (token === undefined)
    throw fault('config-invalid', {
      message: `The token file ${context.config.AGENT_TOKEN_PATH} does not exist or is empty.`,
      hint: 'Check the Secret with the token and its volume in the pod.',
    })
  const client = context.server.withToken(token)
  const end = systemClock.monotonic() + WAIT_MS
  let agent = await retryUnreachable(() => client.agents.self())
  while (agent.status !== 'online' && systemClock.monotonic() < end) {
    await systemClock.sleep(POLL_MS)
    agent = await client.agents.self()
  }
  if (agent.status !== 'online')
    throw fault('conflict', {
      message: `The agent ${agent.name} is not online (${agent.status}).`,
      hint: 'Check the log of its pod: `kubectl logs --selector app=runner`.',
    })
  const { RUNTIME: runtime } = context.config
  if (!agent.runtimes.includes(runtime))
    throw fault('conflict', {
      message: `The agent ${agent.name} does not serve the runtime ${runtime}.`,
      hint: `Attach the runtime with \`windlass attach runtime\`. The agent serves: ${agent.runtimes.join(', ') || 'none'}.`,
    })
  context.out.line(`agent ${agent.name}: online, serves ${runtime}`)
}
