import { readFileSync } from 'node:fs'
import type { ZodType } from 'zod'
import { fault, type Problem } from '../faults.ts'
import { proxyFrom, type ProxySettings } from '../http/proxy.ts'

/** Splits a comma-separated list, trims the items and drops empty ones. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/**
 * Reads the settings of a process from the environment. For each key X, X_FILE may name a file that holds the value (mounted secrets).
 * Throws `config-invalid` that lists every invalid key.
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
  // Once per process: it takes longer to compile a parser than to parse without one.
  const parsed = schema.safeParse(raw, { jitless: true })
  if (parsed.success) return Object.freeze(parsed.data)
  const problems = parsed.error.issues.map((issue): Problem => ({ path: prefix + issue.path.join('_'), message: issue.message }))
  const list = problems.map((problem) => `${problem.path}: ${problem.message}`).join('; ')
  throw fault('config-invalid', { message: `The configuration is not valid: ${list}.`, problems })
}

/** Reads a file that a setting names, such as a certificate. Throws `config-invalid`. */
export function readNamedFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw fault('config-invalid', { message: `The file ${path} cannot be read.` }, error)
  }
}

function readValue(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trimEnd()
  } catch (error) {
    throw fault(
      'config-invalid',
      { message: `${name} names a file that cannot be read: ${path}.`, hint: 'Check the path and the permissions of the file.' },
      error,
    )
  }
}

/** Reads the proxy settings that all HTTP calls of this process use. Throws `config-invalid`. */
export function standardProxy(env: Readonly<Record<string, string | undefined>> = process.env): ProxySettings {
  return proxyFrom(env)
}
