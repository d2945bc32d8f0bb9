/**
 * Sets the time after which `sweep.ts` removes the objects of an attempt. The server sets it when it creates the task, and the attempt may start
 * hours later.
 */
import { LABEL, type KubeObject } from '@windlass/protocol'
import { z } from 'zod'

const PodDeadline = z.looseObject({ spec: z.looseObject({ activeDeadlineSeconds: z.int() }) })

/** Returns the objects of an attempt, which expire when its pods, created at `now`, must have ended. `now` is in milliseconds. Pure. */
export function withExpiry(objects: readonly KubeObject[], now: number): KubeObject[] {
  const deadlines = objects.flatMap((object) => PodDeadline.safeParse(object).data?.spec.activeDeadlineSeconds ?? [])
  const expires = String(Math.floor(now / 1000) + Math.max(...deadlines))
  return objects.map((object) => {
    const { labels } = object.metadata
    if (deadlines.length === 0 || labels?.[LABEL.expires] === undefined) return object
    return { ...object, metadata: { ...object.metadata, labels: { ...labels, [LABEL.expires]: expires } } }
  })
}
