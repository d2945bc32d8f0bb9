/** Dependencies shared by the parts of the provisioner. */
import type { Clock, Logger } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { z } from 'zod'
import type { Backend } from '../backends/backend.ts'
import { readParameters, type Parameters } from '../backends/parameters.ts'
import { DISK_LABEL, NOTE } from '../pool/notes.ts'
import type { Volume } from '../pool/volume.ts'
import type { EventWriter } from './events.ts'
import type { ClusterView } from './view.ts'

export interface Counts {
  reused: number
  created: number
  removed: number
  failed: number
}

export interface Parts {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly view: ClusterView
  readonly events: EventWriter
  /** `provisioner` of the storage classes that it serves. */
  readonly provisionerName: string
  /** Tag of this installation on cloud disks. */
  readonly owner: string
  readonly openBackend: (parameters: Parameters) => Backend
  readonly counts: Counts
}

const ClassShape = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  provisioner: z.string(),
  parameters: z.record(z.string(), z.string()).default({}),
  volumeBindingMode: z.string().default('Immediate'),
})
export type DiskClass = z.infer<typeof ClassShape>

/** Returns a class that this provisioner serves, or undefined. */
export function classOf({ view, provisionerName }: Parts, name: string): DiskClass | undefined {
  const parsed = ClassShape.safeParse(view.classes.get(name))
  return parsed.success && parsed.data.provisioner === provisionerName ? parsed.data : undefined
}

/** Returns the backend of a class. Throws `storage-class-invalid`. */
export function backendOf(parts: Parts, { metadata, parameters }: DiskClass): Backend {
  return parts.openBackend(readParameters(metadata.name, parameters))
}

/** Whether this provisioner handles a volume: it created it, or it serves its class. */
export function isOurs(parts: Parts, { metadata, spec }: Volume): boolean {
  const maker = metadata.annotations[NOTE.provisionedBy]
  if (maker !== undefined) return maker === parts.provisionerName
  return classOf(parts, spec.storageClassName) !== undefined
}

/** Returns the parameters to remove a disk, taken from its volume. Throws `storage-class-invalid` for an unknown backend. */
export function parametersOf({ metadata: { name, labels, annotations } }: Volume): Parameters {
  const type = labels[DISK_LABEL.backend] ?? 'local'
  const zone = annotations[NOTE.zone]
  const place = zone === undefined ? {} : type === 'gcedisk' ? { zone } : type.startsWith('ebs') ? { AvailabilityZone: zone } : {}
  return readParameters(`of ${name}`, { volumeBackend: type, ...place })
}
