/**
 * Expands variables in variables, as a GitLab server does before a runner gets them: to any depth. What the server does not know, such as `CI_PROJECT_DIR`, stays
 * for the runner, and so do references that contain each other.
 */
import type { CiVariable } from '../ci-file/ci-job.ts'

const REFERENCE = /\$\$|\$(?:\{(\w+)\}|(\w+))/g

/** Longest value after the expansion. Characters. References can double a value with each variable. */
const MAX_VALUE = 1_048_576

/** Returns the variables, each name once, in the order of their last places. `tooLong` returns the error for a value that grows over the limit. */
export function expandVariables(given: readonly CiVariable[], tooLong: (name: string) => Error): CiVariable[] {
  const all = new Map<string, CiVariable>()
  for (const variable of given) {
    all.delete(variable.key)
    all.set(variable.key, variable)
  }
  const done = new Map<string, string>()
  const pending = new Map<string, string>()
  for (const { key, value, raw } of all.values()) {
    if (raw !== true) pending.set(key, value ?? '')
    // As a part of another value, the runner would expand the references of a raw one. It expands a reference to it instead.
    else if (value?.includes('$') !== true) done.set(key, value ?? '')
  }

  const expand = (key: string, value: string): string => {
    const text = value.replaceAll(REFERENCE, (whole, braced?: string, plain?: string) => done.get(braced ?? plain ?? '') ?? whole)
    if (text.length > MAX_VALUE) throw tooLong(key)
    return text
  }

  for (let before = -1; before !== pending.size;) {
    before = pending.size
    for (const [key, value] of pending) {
      if (namesIn(value).some((name) => pending.has(name))) continue
      done.set(key, expand(key, value))
      pending.delete(key)
    }
  }
  // What is left refers to itself, or to what does.
  const left = new Map([...pending].map(([key, value]) => [key, expand(key, value)]))
  return [...all.values()].map((variable) => ({
    ...variable,
    value: (variable.raw === true ? undefined : (done.get(variable.key) ?? left.get(variable.key))) ?? variable.value ?? '',
  }))
}

function namesIn(value: string): string[] {
  return [...value.matchAll(REFERENCE)].flatMap(([, braced, plain]) => braced ?? plain ?? [])
}
