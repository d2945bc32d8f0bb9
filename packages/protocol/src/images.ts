/** Images that builds made or pushed, as `GET /v1/images` tells them. */
import { z } from 'zod'
import { Id, Time } from './base.ts'
import { AnnotationValue } from './builds.ts'

export const Image = z.object({
  id: Id,
  buildId: Id,
  pipelineId: Id.optional(),
  step: z.string(),
  /** On the Docker daemon of the build; of an image of several platforms `name@digest`. */
  imageId: z.string(),
  /** With the registry where it was pushed. */
  name: z.string(),
  tags: z.array(z.string()),
  digest: z.string().optional(),
  sizeBytes: z.int().optional(),
  pushed: z.boolean(),
  /** Hash of what it is made of: context, Dockerfile, arguments, base images. */
  contentHash: z.string().optional(),
  /** Steps of the Dockerfile that were found in the layer cache, and those that ran. Absent when the build was skipped. */
  cache: z.object({ hits: z.int(), misses: z.int() }).optional(),
  createdAt: Time,
  /** Image metadata, such as `CF_QUALITY`; not in lists. */
  metadata: z.record(z.string(), AnnotationValue).optional(),
  annotations: z.record(z.string(), AnnotationValue).optional(),
})
export type Image = z.infer<typeof Image>
