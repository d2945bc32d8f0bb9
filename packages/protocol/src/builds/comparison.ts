/** The facts in which two builds differ. */
import { STEP_STATUSES, VARIABLE_LEVELS } from '@windlass/plan'
import { z } from 'zod'
import { Id } from '../base.ts'
import { Build } from './builds.ts'
import { StepImage } from '../engine/events.ts'

/** Query of `GET /v1/builds/{id}/compare`. */
export const BuildComparisonQuery = z.object({
  /** Id of the build to compare with. Default: the last successful build of the branch. */
  with: Id.optional(),
})
export type BuildComparisonQuery = z.input<typeof BuildComparisonQuery>

/** A value of both builds; absent where a build has none. */
function change<T extends z.ZodType>(value: T) {
  return z.object({ before: value.optional(), after: value.optional() })
}

const ComparedVariable = z.object({
  level: z.enum(VARIABLE_LEVELS),
  /** Absent for secrets, whose values are not compared. */
  value: z.string().optional(),
  isSecret: z.boolean(),
})

const ComparedStep = z.object({
  status: z.enum(STEP_STATUSES),
  /** Absent if it did not run in this build. Milliseconds. */
  ms: z.int().optional(),
})

/** Answer of `GET /v1/builds/{id}/compare`. `before` is the other build, `after` this one. */
export const BuildComparison = z.object({
  before: Build,
  after: Build,
  /** True if commit, document, variables, images and runtime do not differ. */
  isSame: z.boolean(),
  commit: change(
    z.object({
      revision: z.string().optional(),
      branch: z.string().optional(),
      message: z.string().optional(),
      author: z.string().optional(),
    }),
  ).optional(),
  /** The documents with which the builds ran: those that were fetched, if any. Encrypted values are masked. */
  document: change(z.string()).optional(),
  /** Variables of the plan whose value or level differs, without those that name the build or its commit. */
  variables: z.array(change(ComparedVariable).extend({ name: z.string() })),
  /** Steps whose image differs: its name, or its digest if both are known. */
  images: z.array(change(StepImage).extend({ step: z.string() })),
  /** The runtime of the last attempt. `version` was its current version then; absent if the runtime or the version no longer exists. */
  runtime: change(z.object({ name: z.string(), version: z.int().optional() })).optional(),
  /** All steps of both builds, with their status and the time that they took. */
  steps: z.array(change(ComparedStep).extend({ name: z.string() })),
})
export type BuildComparison = z.infer<typeof BuildComparison>
