/** `in-cluster check`: what `helm test` asks. The server answers, knows the agent, hears it, and it serves the runtime. */
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { Agent } from '@windlass/protocol'
import { readSecretFile } from './config.ts'
import { patiently, type Place } from './place.ts'

/** A new agent needs a moment until it was heard. */
const WAIT_MS = 60_000
const LOOK_MS = 1_000

/** Throws `config-invalid` without a token, `unauthenticated` for a wrong one, `agent-offline` when it is not heard. */
export async function check(place: Place): Promise<void> {
  const token = readSecretFile(place.config.AGENT_TOKEN_PATH)
  if (token === undefined) throw fault('config-invalid', { message: `There is no token at ${place.config.AGENT_TOKEN_PATH}.` })
  const client = place.server.withToken(token)
  const end = systemClock.monotonic() + WAIT_MS
  let agent = await patiently(() => client.call('GET', '/v1/agent', Agent))
  while (agent.status !== 'online' && systemClock.monotonic() < end) {
    await systemClock.sleep(LOOK_MS)
    agent = await client.call('GET', '/v1/agent', Agent)
  }
  if (agent.status !== 'online')
    throw fault('conflict', {
      message: `The server has not heard the agent ${agent.name} (${agent.status}).`,
      hint: 'Look at the log of its pod: kubectl logs --selector app=runner',
    })
  const { RUNTIME: runtime } = place.config
  if (!agent.runtimes.includes(runtime))
    throw fault('conflict', {
      message: `The agent ${agent.name} does not serve the runtime ${runtime}.`,
      hint: `It serves ${agent.runtimes.join(', ') || 'none'}.`,
    })
  place.out.line(`agent ${agent.name}: online, serves ${runtime}`)
}
