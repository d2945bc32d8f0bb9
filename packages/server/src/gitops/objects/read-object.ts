/** Reads the manifest of a rollout, a ReplicaSet or a workflow that a reporter sent. */
import type { ReportedKind } from '@windlass/protocol'
import { z } from 'zod'
import { ObjectMetadata } from '../manifest-fields.ts'
import { readReplicaSet, readRollout, readWorkflow, type ReadObject } from './facts.ts'
import { ReplicaSetManifest, RolloutManifest, WorkflowManifest } from './manifest.ts'

/** Returns a value that has the shape. Throws `request-invalid` with the place in the body. */
export type ShapeOf = <S extends z.ZodType>(schema: S, value: unknown) => z.output<S>

const WithMetadata = z.object({ metadata: ObjectMetadata })

/** A state of an object, or its deletion. */
export interface ObjectEvent {
  readonly kind: ReportedKind
  readonly namespace: string
  readonly name: string
  readonly uid: string | undefined
  /** Resource version of the state. */
  readonly version: string | undefined
  /** When the reporter read it. Epoch milliseconds of its clock. */
  readonly at: number
  /** When the object was created in the cluster. Epoch milliseconds. */
  readonly createdAt: number | undefined
  /** Undefined if the object is gone. */
  readonly state: ReadObject | undefined
}

export interface GivenObject {
  readonly kind: ReportedKind
  readonly manifest: unknown
  readonly isGone: boolean
  readonly at: number
}

/** Returns undefined for a ReplicaSet that belongs to no rollout. Throws `request-invalid` with the path of what is wrong. */
export function readObject({ kind, manifest, isGone, at }: GivenObject, shapeOf: ShapeOf): ObjectEvent | undefined {
  const { metadata } = shapeOf(WithMetadata, manifest)
  const { name, namespace, uid, resourceVersion: version, creationTimestamp: createdAt } = metadata
  const event = { kind, name, namespace, uid, version, createdAt, at }
  if (isGone) return { ...event, state: undefined }
  const state = stateOf(kind, manifest, shapeOf)
  return state && { ...event, state }
}

function stateOf(kind: ReportedKind, manifest: unknown, shapeOf: ShapeOf): ReadObject | undefined {
  if (kind === 'Rollout') return readRollout(shapeOf(RolloutManifest, manifest))
  if (kind === 'ReplicaSet') return readReplicaSet(shapeOf(ReplicaSetManifest, manifest))
  return readWorkflow(shapeOf(WorkflowManifest, manifest))
}
