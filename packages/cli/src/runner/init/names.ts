/** Default names of an installation, as in the Codefresh CLI. Pure. */

/** Maximum length of a generated runtime name. */
const RUNTIME_LENGTH = 63
export const DEFAULT_NAMESPACE = 'codefresh'

/** Replaces characters that are not allowed in names of runtimes and agents with `-`. */
function toValidName(text: string): string {
  return text.replace(/[^A-Za-z0-9._@:/-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '')
}

/** Returns the name, with a suffix `_1`, `_2`, … if it is taken. */
export function freeName(name: string, taken: readonly string[], mark = '_'): string {
  if (!taken.includes(name)) return name
  for (let count = 1; ; count += 1) if (!taken.includes(`${name}${mark}${count}`)) return `${name}${mark}${count}`
}

/** Returns `<context>_<namespace>`, made unique. */
export function agentNameOf(context: string, namespace: string, taken: readonly string[]): string {
  return freeName(toValidName(`${context}_${namespace}`).slice(0, 140), taken)
}

/** Returns `<context>/<namespace>`, cut to 63 characters and made unique. */
export function runtimeNameOf(context: string, namespace: string, taken: readonly string[]): string {
  return freeName(toValidName(`${context}/${namespace}`).slice(0, RUNTIME_LENGTH), taken)
}

/** Returns `codefresh`, or `codefresh-1`, … if it is taken. */
export function freeNamespace(taken: readonly string[]): string {
  return freeName(DEFAULT_NAMESPACE, taken, '-')
}

/** Returns the key of a runtime in the Secret `runnerconf`. */
export function runtimeFileOf(runtime: string): string {
  return `${runtime.replaceAll(/[^A-Za-z0-9._-]/g, '.')}.runtime.yaml`
}
