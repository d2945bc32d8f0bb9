/** Parts of the runtime specification: pieces of Kubernetes objects, variables, limits. */
import { z } from 'zod'

export const Quantity = z
  .string()
  .max(50)
  .regex(/^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$/, 'must be a Kubernetes quantity such as 500m or 2Gi')

/** A part of a Kubernetes object that is passed on unchanged. Kubernetes validates it. */
export const KubernetesPart = z.record(z.string().max(200), z.unknown())

const KeyReference = z.strictObject({ name: z.string().min(1), key: z.string().min(1), optional: z.boolean().optional() })
/** A field of the pod, as in the downward API. */
const FieldReference = z.strictObject({
  apiVersion: z.string().optional(),
  fieldPath: z
    .string()
    .regex(
      /^(metadata\.(name|namespace|uid|labels\['[^']+'\]|annotations\['[^']+'\])|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?))$/,
      'must be a field of the Kubernetes downward API, such as status.hostIP',
    ),
})

/** A variable of every step: a value, or a reference to an object in the cluster that builds run in, which the server never reads. */
export const UserVariable = z
  .strictObject({
    name: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must start with a letter or _ and contain only letters, digits and _'),
    value: z.string().optional(),
    valueFrom: z
      .strictObject({
        secretKeyRef: KeyReference.optional(),
        configMapKeyRef: KeyReference.optional(),
        fieldRef: FieldReference.optional(),
      })
      .refine((from) => Object.values(from).filter((reference) => reference !== undefined).length === 1, {
        message: 'must have exactly one of secretKeyRef, configMapKeyRef and fieldRef',
      })
      .optional(),
  })
  .refine(({ value, valueFrom }) => (value === undefined) !== (valueFrom === undefined), {
    message: 'must have either value or valueFrom',
  })
export type UserVariable = z.output<typeof UserVariable>

/** A volume of a pod with one source, as in Kubernetes. `name` defaults to the key of the entry. */
export const PodVolume = z.looseObject({ name: z.string().max(63).optional() })
export type PodVolume = z.output<typeof PodVolume>

/** A volume mount of a container. `name` is the name of the volume and defaults to the key of the entry. */
export const PodMount = z.strictObject({
  name: z.string().max(63).optional(),
  mountPath: z.string().startsWith('/', 'must be an absolute path').max(1000),
  subPath: z.string().max(1000).optional(),
  readOnly: z.boolean().optional(),
  mountPropagation: z.enum(['None', 'HostToContainer', 'Bidirectional']).optional(),
})
export type PodMount = z.output<typeof PodMount>

/**
 * Limits with the names of Codefresh, in seconds unless the name says otherwise. `limits` notes which of its fields they set. The others are
 * accepted and have no effect, because the server uses its own leases for engines (`WINDLASS_SERVER_*`).
 */
export const WORKFLOW_LIMITS = [
  'MAXIMUM_ELECTED_STATE_AGE_ALLOWED',
  'MAXIMUM_ALLOWED_TIME_BEFORE_PRE_STEPS_SUCCESS',
  'MAXIMUM_ALLOWED_WORKFLOW_AGE_BEFORE_TERMINATION',
  'MAXIMUM_RETRY_ATTEMPTS_ALLOWED',
  'MAXIMUM_TERMINATING_STATE_AGE_ALLOWED',
  'MAXIMUM_TERMINATING_STATE_AGE_ALLOWED_WITHOUT_UPDATE',
  'TIME_ENGINE_INACTIVE_UNTIL_UNHEALTHY',
  'TIME_ENGINE_INACTIVE_UNTIL_TERMINATION',
  'TIME_INACTIVE_UNTIL_TERMINATION',
  'MAXIMUM_POST_STEPS_GRACE_PERIOD_MINUTES',
  'SHOULD_CLEAN_PVCS',
  'SHOULD_KEEP_PVC_FOR_PENDING_APPROVAL',
] as const
export type WorkflowLimit = (typeof WORKFLOW_LIMITS)[number]
export const WorkflowLimits = z.partialRecord(z.enum(WORKFLOW_LIMITS), z.union([z.number().min(0), z.boolean()]).nullable())
