/** Shapes of the claim of a disk and of the Secret of an attempt. */
import { SECRET_KEY } from '@windlass/protocol'
import { allowedBy, names, type AgentPolicy } from './agent-policy.ts'
import { oneOf, list, quote, record, text, type Shape } from './shape.ts'

const STORAGE = text((value) =>
  /^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$/.test(value) ? undefined : 'must be a quantity such as 16Gi.',
)

/**
 * Returns the shape of a claim that gets an empty disk or one of the pool: of an allowed class, without a source to copy and without a
 * volume name. A class is required, because without one Kubernetes may bind the claim to any volume.
 */
export function claimSpecShape({ storageClasses }: Pick<AgentPolicy, 'storageClasses'>): Shape {
  const storageClassName = text((value) =>
    value !== '' && names(storageClasses, value) ? undefined : `is ${quote(value)}. ${allowedBy('STORAGE_CLASSES')}`,
  )
  return record(
    {
      accessModes: list(oneOf(['ReadWriteOnce']), 1),
      storageClassName,
      resources: record({ requests: record({ storage: STORAGE }, ['storage']) }, ['requests']),
    },
    ['accessModes', 'storageClassName', 'resources'],
  )
}

/**
 * The fields of an attempt's Secret besides its metadata. Other types are refused, because Kubernetes fills some of them with service
 * account tokens.
 */
export const SECRET_FIELDS: Readonly<Record<string, Shape>> = {
  type: oneOf(['Opaque']),
  immutable: oneOf([true]),
  stringData: record(
    Object.fromEntries(Object.values(SECRET_KEY).map((key) => [key, text()])),
    Object.values(SECRET_KEY).filter((key) => key !== SECRET_KEY.serverCa),
  ),
}
