import type { Invocation } from '../../command.ts'
import { openSession } from '../../session.ts'

/** Runs `create agent NAME`. Prints only the token on standard output, for scripts. */
export async function createAgent(
  invocation: Invocation<{ runtime: readonly string[]; output: 'json' | undefined }>,
): Promise<void> {
  const { args, options, out, settings } = invocation
  const agent = await openSession(settings).client.agents.create({
    name: args[0] ?? '',
    runtimes: options.runtime.flatMap((each) => each.split(',')),
  })
  if (options.output === 'json') return out.line(JSON.stringify(agent, null, 2))
  out.note(`Agent: "${agent.name}" created. Its token, which is not shown again:`)
  out.line(agent.token)
}

/** Runs `create key NAME`. Prints only the key on standard output. */
export async function createKey(
  invocation: Invocation<{ role: 'admin' | 'user' | 'viewer' | undefined; output: 'json' | undefined }>,
): Promise<void> {
  const { args, options, out, settings } = invocation
  const key = await openSession(settings).client.keys.create({ name: args[0] ?? '', role: options.role ?? 'user' })
  if (options.output === 'json') return out.line(JSON.stringify(key, null, 2))
  out.note(`Key "${key.name}" (role ${key.role}) created. It is not shown again:`)
  out.line(key.token)
}

interface RuntimeStoreOptions {
  readonly runtime: string | undefined
  readonly resourceType: 'secret' | 'configmap' | undefined
  readonly resourceName: string | undefined
}

/** Runs `create context secret-store kubernetes-runtime NAME`. */
export async function createRuntimeStore({ args, options, out, settings }: Invocation<RuntimeStoreOptions>): Promise<void> {
  const [name = ''] = args
  const { runtime = '*', resourceType = 'secret', resourceName = name } = options
  const { contexts } = openSession(settings).client
  await contexts.create({ name, type: 'secret-store', data: { runtime, resourceType, resourceName } })
  out.line(`context/${name} created`)
}
