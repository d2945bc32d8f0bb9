import { readFileSync } from 'node:fs'
import type { ZodType } from 'zod'
import { fault, type Problem } from './faults.ts'
import { proxyFrom, type ProxySettings } from './proxy.ts'

/**
 * Reads a process's settings once. For each key X of the environment, X_FILE may name a file that holds the value
 * (mounted secrets). Throws `config-invalid` that lists every bad key.
 */
export function readConfig<T>(
  schema: ZodType<T>,
  env: Readonly<Record<string, string | undefined>>,
  prefix: string,
): Readonly<T> {
  const raw: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(prefix) || value === undefined || value === '') continue
    const key = name.slice(prefix.length)
    if (key.endsWith('_FILE')) raw[key.slice(0, -'_FILE'.length)] ??= readValue(name, value)
    else raw[key] = value
  }
  const parsed = schema.safeParse(raw)
  if (parsed.success) return Object.freeze(parsed.data)
  const problems = parsed.error.issues.map((issue): Problem => ({ path: prefix + issue.path.join('_'), message: issue.message }))
  const list = problems.map((problem) => `${problem.path}: ${problem.message}`).join('; ')
  throw fault('config-invalid', { message: `The configuration is wrong: ${list}.`, problems })
}

function readValue(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trimEnd()
  } catch (error) {
    throw fault('config-invalid', { message: `${name} names a file that cannot be read: ${path}.` }, error)
  }
}

/** The proxies of this process, which every call of it goes through. Throws `config-invalid`. */
export function standardProxy(env: Readonly<Record<string, string | undefined>> = process.env): ProxySettings {
  return proxyFrom(env)
}
