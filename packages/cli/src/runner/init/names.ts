/** Names that an installation gives to what it makes (runner specification 6.3). Pure. */

/** Longest name of a runtime that is made up. */
const RUNTIME_LENGTH = 63
export const DEFAULT_NAMESPACE = 'codefresh'

/** Characters that names of runtimes and agents may not hold become `-`. */
function legal(text: string): string {
  return text.replace(/[^A-Za-z0-9._@:/-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '')
}

/** The name itself, or with `_1`, `_2`, … behind it when it is taken. */
export function freeName(name: string, taken: readonly string[], mark = '_'): string {
  if (!taken.includes(name)) return name
  for (let count = 1; ; count += 1) if (!taken.includes(`${name}${mark}${count}`)) return `${name}${mark}${count}`
}

/** `<context>_<namespace>`. */
export function agentNameOf(context: string, namespace: string, taken: readonly string[]): string {
  return freeName(legal(`${context}_${namespace}`).slice(0, 140), taken)
}

/** `<context>/<namespace>`, at most 63 characters before the number that makes it unique. */
export function runtimeNameOf(context: string, namespace: string, taken: readonly string[]): string {
  return freeName(legal(`${context}/${namespace}`).slice(0, RUNTIME_LENGTH), taken)
}

/** `codefresh`, or `codefresh-1`, … when namespaces of that name are there. */
export function freeNamespace(taken: readonly string[]): string {
  return freeName(DEFAULT_NAMESPACE, taken, '-')
}

/** Key of a runtime in the secret `runnerconf`; the same for attaching and detaching. */
export function runtimeFileOf(runtime: string): string {
  return `${runtime.replaceAll(/[^A-Za-z0-9._-]/g, '.')}.runtime.yaml`
}
