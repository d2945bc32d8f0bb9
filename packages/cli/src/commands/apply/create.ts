import type { ApiClient } from '@windlass/client'
import { defined, systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { SCOPES, type Role, type Scope } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { openSession } from '../../session/session.ts'

/** Runs `create agent NAME`. Prints only the token on standard output, for scripts. */
export async function createAgent(
  invocation: Invocation<{ runtime: readonly string[]; output: 'json' | undefined }>,
): Promise<void> {
  const { args, options, out, settings } = invocation
  const { client } = openSession(settings)
  const runtimes = options.runtime.flatMap((each) => each.split(','))
  const agent = await client.agents.create({ name: args[0] ?? '', runtimes })
  for (const name of await listUnknown(client, runtimes))
    out.note(`The runtime environment "${name}" does not exist yet. Create it with \`windlass apply -f FILE\`.`)
  if (options.output === 'json') return out.line(JSON.stringify(agent, null, 2))
  out.note(`Agent: "${agent.name}" created. Its token, which is not shown again:`)
  out.line(agent.token)
}

const DAY_MS = 86_400_000

interface KeyOptions {
  readonly role: Role | 'user' | undefined
  readonly for: string | undefined
  readonly scope: readonly string[]
  readonly expiresDays: number | undefined
  readonly output: 'json' | undefined
}

function readScope(text: string): Scope {
  const scope = SCOPES.find((one) => one === text)
  if (scope === undefined)
    throw fault('usage', { message: `The scope "${text}" does not exist.`, hint: `Use one of ${SCOPES.join(', ')}.` })
  return scope
}

/** Returns the names that no runtime has; none if the list cannot be read, because the token must be printed in any case. */
async function listUnknown(client: ApiClient, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return []
  try {
    const { items } = await client.runtimes.list()
    return names.filter((name) => !items.some((runtime) => runtime.name === name))
  } catch (error) {
    if (!isFault(error)) throw error
    return []
  }
}

/** Runs `create key NAME`. Prints only the key on standard output. */
export async function createKey({ args, options, out, settings }: Invocation<KeyOptions>): Promise<void> {
  const { role, for: owner, scope, expiresDays } = options
  const key = await openSession(settings).client.keys.create({
    name: args[0] ?? '',
    ...defined({
      role,
      owner,
      scopes: scope.length === 0 ? undefined : scope.map(readScope),
      expiresAt: expiresDays === undefined ? undefined : systemClock.now() + expiresDays * DAY_MS,
    }),
  })
  if (options.output === 'json') return out.line(JSON.stringify(key, null, 2))
  const of = key.owner === undefined ? '' : ` of ${key.owner.name}`
  out.note(`Key "${key.name}"${of} (role ${key.role}) created. It is not shown again:`)
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
