/** Patches of `pod_spec`: what the owner of a runner changes in the specification of its pods. */
import { readFileSync } from 'node:fs'
import { isRecord } from '@windlass/kit/json'
import { applyPatch, type Operation } from 'rfc6902'
import { parse } from 'yaml'
import type { KubernetesSection } from '../config/sections/kubernetes-section.ts'
import { ConfigurationError } from './configuration-error.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * Keys by which entries of lists are told apart in a strategic patch: `patchMergeKey` of the API of Kubernetes for the specification of a pod. Other lists
 * are replaced.
 */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  volumes: 'name',
  env: 'name',
  imagePullSecrets: 'name',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
  ports: 'containerPort',
  hostAliases: 'ip',
  topologySpreadConstraints: 'topologyKey',
}

/** Returns the specification after all patches, in their order. Throws `ConfigurationError` for a patch that cannot be read or applied. */
export function patchSpec(spec: Json, patches: KubernetesSection['pod_spec'] = []): Json {
  let patched: unknown = structuredClone(spec)
  for (const [n, { name = `number ${n + 1}`, patch, patch_path: file, patch_type: type }] of patches.entries()) {
    const fail = (message: string): never => {
      throw new ConfigurationError(`The patch "${name}" of pod_spec ${message}.`)
    }
    const value = readPatch(patch ?? (file === undefined ? '' : readPatchFile(file, fail)), fail)
    if (type === 'json') {
      if (!Array.isArray(value)) return fail('is not a list of operations')
      // The library checks each operation.
      const problem = applyPatch(patched, value as Operation[]).find((error) => error !== null)
      if (problem !== undefined) return fail(`cannot be applied: ${problem.message}`)
    } else {
      if (!isRecord(value)) return fail('is not an object')
      patched = type === 'merge' ? merged(patched, value) : strategic(patched, value)
    }
  }
  return isRecord(patched) ? patched : spec
}

function readPatch(text: string, fail: (message: string) => never): unknown {
  try {
    // JSON is YAML.
    return parse(text) as unknown
  } catch (error) {
    return fail(`is neither YAML nor JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function readPatchFile(file: string, fail: (message: string) => never): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return fail(`names the file ${file}, which cannot be read`)
  }
}

/** Merges as RFC 7386: null removes, lists are replaced. */
function merged(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch))
    if (value === null) delete result[key]
    else result[key] = merged(result[key], value)
  return result
}

/** Merges like `merged`, but lists with a merge key entry by entry. `$patch: delete` removes an entry, `$patch: replace` replaces an object. */
function strategic(target: unknown, patch: unknown, key = ''): unknown {
  const mergeKey = MERGE_KEYS[key]
  if (Array.isArray(patch)) return mergeKey === undefined ? patch : mergedList(target, patch, mergeKey)
  if (!isRecord(patch)) return patch
  const { $patch: directive, ...rest } = patch
  if (directive === 'replace') return rest
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(rest))
    if (value === null) delete result[name]
    else result[name] = strategic(result[name], value, name)
  return result
}

function mergedList(target: unknown, patch: readonly unknown[], mergeKey: string): unknown[] {
  const result: unknown[] = Array.isArray(target) ? [...target] : []
  for (const entry of patch) {
    const id = isRecord(entry) ? entry[mergeKey] : undefined
    const at = result.findIndex((one) => isRecord(one) && one[mergeKey] === id)
    if (isRecord(entry) && entry['$patch'] === 'delete') {
      if (at >= 0) result.splice(at, 1)
    } else if (at < 0) result.push(entry)
    else result[at] = strategic(result[at], entry)
  }
  return result
}
