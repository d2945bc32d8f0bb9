/** Images that builds built or pushed, as `GET /v1/images` returns them. */
import { z } from 'zod'
import { Id, Time } from '../base.ts'
import { AnnotationValue } from '../builds/builds.ts'

export const Image = z.object({
  id: Id,
  buildId: Id,
  pipelineId: Id.optional(),
  step: z.string(),
  /** Image ID on the Docker daemon of the build; `name@digest` for a multi-platform image. */
  imageId: z.string(),
  /** Includes the registry if the image was pushed. */
  name: z.string(),
  tags: z.array(z.string()),
  digest: z.string().optional(),
  sizeBytes: z.int().optional(),
  pushed: z.boolean(),
  /** Hash of the inputs: context, Dockerfile, arguments, base images. */
  contentHash: z.string().optional(),
  /** Number of Dockerfile steps that were found in the layer cache, and that ran. Absent if the build was skipped. */
  cache: z.object({ hits: z.int(), misses: z.int() }).optional(),
  createdAt: Time,
  /** Image metadata, such as `CF_QUALITY`; not in lists. */
  metadata: z.record(z.string(), AnnotationValue).optional(),
  annotations: z.record(z.string(), AnnotationValue).optional(),
})
export type Image = z.infer<typeof Image>
