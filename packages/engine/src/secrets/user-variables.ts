/** Variables that the runtime passes to every step from Secrets and ConfigMaps of its own cluster. */
import type { Variable } from '@windlass/plan'
import { USER_SECRET_PREFIX, USER_VARIABLE_PREFIX } from '@windlass/protocol'
import type { AttemptInput } from '../attempt/input.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Returns the input with the variables of the engine's environment at the lowest level. Those of Secrets are masked like other secrets. */
export function withUserVariables<I extends Pick<AttemptInput, 'plan' | 'secrets'>>(input: I, env: Env): I {
  const variables: Record<string, Variable> = {}
  const secrets: Record<string, string> = {}
  for (const [key, value = ''] of Object.entries(env)) {
    if (key.startsWith(USER_VARIABLE_PREFIX)) variables[key.slice(USER_VARIABLE_PREFIX.length)] = { value }
    if (!key.startsWith(USER_SECRET_PREFIX)) continue
    const name = key.slice(USER_SECRET_PREFIX.length)
    variables[name] = { secret: `runtime-secret/${name}` }
    secrets[`runtime-secret/${name}`] = value
  }
  if (Object.keys(variables).length === 0) return input
  const plan = { ...input.plan, variables: [{ level: 'runtime' as const, variables }, ...input.plan.variables] }
  return { ...input, plan, secrets: { ...input.secrets, ...secrets } }
}
