import { createAgent as postAgent, createKey as postKey } from '../api.ts'
import type { Invocation } from '../command.ts'
import { openSession } from '../session.ts'

/** `create agent NAME`: the token alone on standard output, so that a script can take it. */
export async function createAgent(
  invocation: Invocation<{ runtime: readonly string[]; output: 'json' | undefined }>,
): Promise<void> {
  const { args, options, out, settings } = invocation
  const agent = await postAgent(openSession(settings).client, {
    name: args[0] ?? '',
    runtimes: options.runtime.flatMap((each) => each.split(',')),
  })
  if (options.output === 'json') return out.line(JSON.stringify(agent, null, 2))
  out.note(`Agent: "${agent.name}" created. This is its token; it is shown only now:`)
  out.line(agent.token)
}

/** `create key NAME`: the key alone on standard output. */
export async function createKey(invocation: Invocation<{ role: string | undefined; output: 'json' | undefined }>): Promise<void> {
  const { args, options, out, settings } = invocation
  const key = await postKey(openSession(settings).client, { name: args[0] ?? '', role: options.role ?? 'user' })
  if (options.output === 'json') return out.line(JSON.stringify(key, null, 2))
  out.note(`Key ${key.name} (role ${key.role}) was made. It is shown only now:`)
  out.line(key.token)
}
