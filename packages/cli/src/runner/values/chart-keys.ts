/**
 * Checks chart values. Helm validates them with `values.schema.json`, which leaves `global` open, because a parent chart may have its own keys
 * there.
 */
import { fault, type Problem } from '@windlass/kit/faults'
import { isRecord } from '@windlass/kit/json'
import { nearMiss } from '@windlass/plan'
import type { Tree } from './read-values.ts'

/** Keys of `global` in charts/windlass-runtime/values.yaml. */
export const GLOBAL_KEYS = [
  'imageRegistry',
  'imagePullSecrets',
  'codefreshHost',
  'codefreshToken',
  'codefreshTokenSecretKeyRef',
  'accountId',
  'context',
  'agentName',
  'runtimeName',
  'agentToken',
  'agentTokenSecretKeyRef',
  'proxy',
  'caBundle',
  'caBundleSecretKeyRef',
  'caBundleConfigMapKeyRef',
  'env',
] as const

/** Top-level keys that are easily mistaken for keys of `global`. */
export const TOP_KEYS = ['image', 'runner', 'volumeProvisioner', 'storage', 'runtime', 'monitor', 'appProxy'] as const

/** Returns the values. Throws `document-invalid` with every unknown key under `global` and the nearest known one. */
export function checkChartValues(values: Tree, source: string): Tree {
  const given = values['global']
  const known: readonly string[] = GLOBAL_KEYS
  const unknown = isRecord(given) ? Object.keys(given).filter((key) => !known.includes(key)) : []
  if (unknown.length === 0) return values
  const problems = unknown.map((key): Problem => {
    const near = nearestKey(key)
    const path = `global.${key}`
    return { file: source, path, message: `unknown value "${path}"${near === undefined ? '' : `; did you mean "${near}"?`}` }
  })
  throw fault('document-invalid', {
    message: `Unknown chart values in ${source}.`,
    problems,
    hint: 'See the keys in charts/windlass-runtime/README.md.',
  })
}

function nearestKey(key: string): string | undefined {
  const top: readonly string[] = TOP_KEYS
  if (top.includes(key)) return key
  const near = nearMiss(key, GLOBAL_KEYS)
  return near === undefined ? undefined : `global.${near}`
}
