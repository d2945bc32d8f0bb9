/** The versions and the branches of pipelines. */
import { z } from 'zod'
import { PageQuery, Time } from '../base.ts'
import { PipelineVariable } from './pipeline-variable.ts'
import { Pipeline } from './resources.ts'

/** Query of `POST /v1/pipelines` and `PUT /v1/pipelines/{name}`. `message` says why, for the versions of the pipeline. */
export const PipelineChange = z.object({ message: z.string().trim().max(1000).optional() })

/** Query of `GET /v1/pipelines/{name}/versions`. */
export const PipelineVersionsQuery = PageQuery.extend({
  /** `next` of the previous page. */
  cursor: z.coerce.number<string>().int().positive().optional(),
})

/** One entry of `GET /v1/pipelines/{name}/versions`, newest first. A write of what is stored already makes no version. */
export const PipelineVersion = z.object({
  /** The revision of the pipeline. Numbers can be missing: a server of an earlier version made the change, or the version was deleted. */
  version: z.int().positive(),
  /** Absent if a server of an earlier version made the change. */
  changedBy: z.string().optional(),
  message: z.string().optional(),
  createdAt: Time,
  current: z.boolean(),
})
export type PipelineVersion = z.infer<typeof PipelineVersion>

/** A variable as a version has it. */
export const VersionVariable = PipelineVariable.extend({
  /** Version in which the value of an encrypted variable was last set. The value itself is not kept. */
  setIn: z.int().positive().optional(),
})
export type VersionVariable = z.infer<typeof VersionVariable>

/** `GET /v1/pipelines/{name}/versions/{version}`: the document and the settings. Encrypted values are `*****`. */
export const PipelineVersionContent = PipelineVersion.extend({
  ...Pipeline.pick({
    name: true,
    document: true,
    contexts: true,
    runtime: true,
    concurrency: true,
    branchConcurrency: true,
    triggerConcurrency: true,
    priority: true,
    settings: true,
  }).shape,
  variables: z.array(VersionVariable),
})
export type PipelineVersionContent = z.infer<typeof PipelineVersionContent>

/** Query of `GET /v1/pipelines/{name}/versions/{version}/diff`. */
export const PipelineDiffQuery = z.object({
  /** The version to compare with. Default: the stored version before it. */
  with: z.coerce.number().int().positive().optional(),
})

/** What changed from version `from` to version `to`. */
export const PipelineDiff = z.object({
  /** Absent for the first version. */
  from: z.int().positive().optional(),
  to: z.int().positive(),
  /** Difference of the documents in the unified format; empty if they are equal. */
  document: z.string(),
  /** Settings that differ. `from` or `to` is absent if the field does not exist in that version. */
  changes: z.array(z.object({ path: z.string(), from: z.unknown().optional(), to: z.unknown().optional() })),
})
export type PipelineDiff = z.infer<typeof PipelineDiff>

/** Query of `GET /v1/pipelines/{name}/branches`. */
export const BranchQuery = z.object({
  /** Part of the name. Case does not matter. */
  q: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(500).default(50),
})

/** A branch or tag of a build of the pipeline, or of an event that was judged for it. */
export const SeenBranch = z.object({ branch: z.string(), seenAt: Time })
export type SeenBranch = z.infer<typeof SeenBranch>
