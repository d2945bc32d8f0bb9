/** What a build does, as `windlass plan` shows it: of a build that exists, or of one that could be started. */
import { ACTION_KIND_NAMES, HOOK_MOMENTS, VARIABLE_LEVELS } from '@windlass/plan'
import { z } from 'zod'
import { LimitUse } from './lists.ts'
import { Build, BuildInput } from './builds.ts'
import { ReasonName } from '../engine/events.ts'

const Texts = z.array(z.string())

export const PreviewStep = z.object({
  name: z.string(),
  title: z.string(),
  /** Kind of its action, such as `freestyle` or `group`. */
  kind: z.enum(ACTION_KIND_NAMES),
  /** Set for a typed step. */
  type: z.string().optional(),
  /** Set for a plain group. */
  mode: z.enum(['serial', 'parallel']).optional(),
  parent: z.string().optional(),
  hook: z.object({ moment: z.enum(HOOK_MOMENTS), of: z.string().optional() }).optional(),
  stage: z.string().optional(),
  /** Steps that it waits for. */
  after: Texts,
  /** `runs`: if nothing before it fails; `depends`: on results of the steps in `on`; `fails`: its condition is invalid. */
  forecast: z.enum(['runs', 'skipped', 'depends', 'fails']),
  because: z.string().optional(),
  on: Texts,
  /** What it works on: an image, a repository at a revision. */
  subject: z.string(),
  notes: Texts,
  services: Texts,
  /** Its place in the document. 1-based. */
  position: z.object({ line: z.int(), column: z.int() }).optional(),
})

export const PreviewVariable = z.object({
  name: z.string(),
  level: z.enum(VARIABLE_LEVELS),
  /** Name of the context, pipeline, project or trigger. */
  source: z.string().optional(),
  /** Absent for secrets. */
  value: z.string().optional(),
  isSecret: z.boolean(),
  /** The level whose value is used instead. */
  overriddenBy: z.enum(VARIABLE_LEVELS).optional(),
})

export const PreviewUnresolved = z.object({
  name: z.string(),
  /** `trigger`: a Git trigger sets it. `user`: a variable of a user, or an export that the plan does not show. */
  from: z.enum(['trigger', 'user']),
  /** Steps that use it, itself or through other variables; `services` stands for the services of the build. */
  steps: Texts,
  /** Variables whose values refer to it. */
  variables: Texts,
})

/** The plan if every step that runs succeeds. Contains no secret values. */
export const PlanPreview = z.object({
  mode: z.enum(['serial', 'parallel']),
  stages: Texts,
  steps: z.array(PreviewStep),
  variables: z.array(PreviewVariable),
  /** Variables that have no value before the build starts. Absent if there are none. */
  unresolved: z.array(PreviewUnresolved).optional(),
  images: z.array(z.object({ image: z.string(), madeBy: z.string().optional(), steps: Texts })),
  services: Texts,
})
export type PlanPreview = z.infer<typeof PlanPreview>

const Problems = Build.shape.problems.unwrap()

/** Answer of `GET /v1/builds/{id}/plan`. */
export const BuildPlan = z.object({
  /** Absent if the document has errors. Has no steps while the document is fetched. */
  plan: PlanPreview.optional(),
  problems: Problems.optional(),
  /** The document with which the build was started, and its file. Encrypted values are masked. */
  document: z.string(),
  file: z.string(),
  /** The document that was fetched for the build from a repository or a URL. The positions of the steps refer to it if there is one. */
  fetched: z.string().optional(),
  /** Where the steps are, if they are not in the document. */
  source: z
    .object({
      location: z.enum(['git', 'url']),
      repo: z.string().optional(),
      path: z.string().optional(),
      url: z.string().optional(),
    })
    .optional(),
  /** The step types that the document was compiled with. */
  stepTypes: z.array(z.object({ name: z.string(), version: z.string() })),
})
export type BuildPlan = z.infer<typeof BuildPlan>

const Planned = BuildInput.pick({
  pipeline: true,
  document: true,
  file: true,
  branch: true,
  revision: true,
  git: true,
  variables: true,
  secrets: true,
  contexts: true,
  runtime: true,
  only: true,
  skip: true,
  trigger: true,
})
/** Body of `POST /v1/plan`: the fields of a build that change its plan. */
export const PlanInput = z.strictObject(Planned.shape)
export type PlanInput = z.input<typeof PlanInput>

/** Answer of `POST /v1/plan`: what a build would do with the variables and step types of the server. */
export const PlanAnswer = z.object({
  /** Absent if the document has errors. */
  plan: PlanPreview.optional(),
  problems: Problems,
  /** Absent if no default runtime is set. */
  runtime: z.string().optional(),
  /** Why the build would end with an error before its first step: a context is missing. */
  missing: z.string().optional(),
  /** Why the build would wait if it were started now. Absent if it would start at once. */
  wait: LimitUse.extend({
    reason: ReasonName,
    message: z.string().optional(),
    /** Its place among the builds that wait for the same. */
    place: z.int(),
    /** Forecast of the time until a holder ends. Milliseconds. */
    nextMs: z.int().optional(),
  }).optional(),
})
export type PlanAnswer = z.infer<typeof PlanAnswer>
