/**
 * What releases of products follow: environments, products, and templates, flows and policies of promotions (docs/development/adr/0136-promotions.md). The specs of products,
 * templates, flows and policies have the fields of the objects of public runtimes.
 */
import { z } from 'zod'
import { Id, Name, Time } from '../base.ts'
import { ClusterName } from '../runtime/gitops-repository.ts'
import { GitopsRuntimeName } from '../runtime/gitops.ts'

/** Definitions of one kind in an account. */
export const MAX_DEFINITIONS = 500

export const DefinitionName = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'must have at most 63 lower-case letters, digits and -, and begin and end with a letter or digit',
  )

export const DEFINITION_KINDS = ['environment', 'product', 'promotion-template', 'promotion-flow', 'promotion-policy'] as const
export type DefinitionKind = (typeof DEFINITION_KINDS)[number]

export const ENVIRONMENT_KINDS = ['PROD', 'NON_PROD'] as const
export type EnvironmentKind = (typeof ENVIRONMENT_KINDS)[number]

const KubeNamespace = z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be the name of a namespace')
const Description = z.string().max(1_000).optional()

/** Applications belong to an environment by the cluster and the namespace into which they deploy. */
export const EnvironmentPlace = z.strictObject({
  /** Default: every runtime. */
  runtime: GitopsRuntimeName.optional(),
  /** Name of a managed cluster, the URL of its API server, or `in-cluster` for the cluster of the runtime. */
  cluster: z
    .string()
    .max(500)
    .refine(
      (text) => ClusterName.safeParse(text).success || /^https:\/\/[^\s@]+$/.test(text),
      'must be the name or the https URL of a cluster',
    )
    .default('in-cluster'),
  namespaces: z.array(KubeNamespace).min(1).max(100),
})
export type EnvironmentPlace = z.output<typeof EnvironmentPlace>

export const EnvironmentInput = z.strictObject({
  description: Description,
  kind: z.enum(ENVIRONMENT_KINDS).default('NON_PROD'),
  /** Environments are shown in this order, then by name. */
  position: z.int().min(0).max(10_000).default(0),
  clusters: z.array(EnvironmentPlace).min(1).max(50),
  /** Names of the teams whose members may promote into the environment. Default: everybody with the right `promote`. Admins always may. */
  promoters: z.array(Name).min(1).max(50).optional(),
})
export type EnvironmentInput = z.output<typeof EnvironmentInput>

/** A path below the folder of an application. */
const FilePath = z
  .string()
  .min(1)
  .max(400)
  .regex(
    /^(?!\/)(?!.*(?:^|\/)\.{1,2}(?:\/|$))(?!.*\/\/)[^\p{Cc}\\]+(?<!\/)$/u,
    'must be a path below the folder of the application, without . and ..',
  )
/** `$.image.tag`, `spec.containers[0].image` or `$['a.b']`. */
const JsonPath = z
  .string()
  .min(1)
  .max(400)
  .regex(
    /^\$?(?:\.?[\w/-]+|\[\d{1,4}\]|\['[^'\p{Cc}]{1,200}'\])(?:\.[\w/-]+|\[\d{1,4}\]|\['[^'\p{Cc}]{1,200}'\])*$/u,
    "must be a path such as $.image.tag, items[0].name or $['a.b']",
  )

export const VersionSource = z.strictObject({ file: FilePath, jsonPath: JsonPath })
export type VersionSource = z.output<typeof VersionSource>

/** The values that a promotion copies, by file. Without files all files of the folder of the application are copied. */
const PromotedFiles = z
  .record(z.string(), z.strictObject({ jsonPaths: z.array(JsonPath).min(1).max(100) }))
  .superRefine((files, context) => {
    // The message about a key of a record would not say what is wrong with it.
    for (const path of Object.keys(files))
      for (const { message } of FilePath.safeParse(path).error?.issues ?? [])
        context.addIssue({ code: 'custom', path: [path], message })
  })
  .refine((files) => Object.keys(files).length <= 50, 'must have at most 50 files')

export const InlineTemplate = z.strictObject({
  versionSource: VersionSource.optional(),
  promotion: PromotedFiles.default({}),
})
export type InlineTemplate = z.output<typeof InlineTemplate>

const SelectorRequirement = z
  .strictObject({
    key: z.string().min(1).max(317),
    operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: z.array(z.string().max(63)).max(50).default([]),
  })
  .refine(
    ({ operator, values }) => operator.endsWith('In') === values.length > 0,
    'In and NotIn need values, the others have none',
  )

/** Labels of an application, as Kubernetes selects them. */
export const LabelSelector = z.strictObject({
  matchLabels: z.record(z.string().max(317), z.string().max(63)).default({}),
  matchExpressions: z.array(SelectorRequirement).max(20).default([]),
})
export type LabelSelector = z.output<typeof LabelSelector>

export const PromotionTemplateInput = InlineTemplate.extend({
  description: Description,
  applicationSourceSelector: LabelSelector,
  /** Of several templates that select an application, the smallest number counts. */
  priority: z.int().min(0).max(10_000).default(1_000),
})
export type PromotionTemplateInput = z.output<typeof PromotionTemplateInput>

export const PROMOTION_ACTIONS = ['commit', 'pr', 'none'] as const
export type PromotionAction = (typeof PROMOTION_ACTIONS)[number]

/** Attributes of a policy. Each is resolved by itself. */
export const PolicyAttributes = z.strictObject({
  action: z.enum(PROMOTION_ACTIONS).optional(),
  /** Names of pipelines whose builds run for each application before and after its promotion. */
  preAction: Name.optional(),
  postAction: Name.optional(),
})
export type PolicyAttributes = z.output<typeof PolicyAttributes>

export const PromotionPolicyInput = z.strictObject({
  description: Description,
  /** Of several policies that have an attribute, the smallest number counts. */
  priority: z.int().min(0).max(10_000).default(1_000),
  selector: z
    .strictObject({
      product: z.strictObject({ names: z.array(DefinitionName).min(1).max(100) }).optional(),
      targetEnvironment: z
        .strictObject({
          names: z.array(DefinitionName).min(1).max(100).optional(),
          types: z.array(z.enum(ENVIRONMENT_KINDS)).min(1).optional(),
        })
        .optional(),
    })
    .default({}),
  policy: PolicyAttributes,
})
export type PromotionPolicyInput = z.output<typeof PromotionPolicyInput>

/** Names of pipelines whose builds run once. */
export const PromotionHooks = z.strictObject({ onStart: Name.optional(), onSuccess: Name.optional(), onFail: Name.optional() })
export type PromotionHooks = z.output<typeof PromotionHooks>

export const FlowStep = z.strictObject({
  environment: DefinitionName,
  /** Environments whose steps have to succeed before. */
  dependsOn: z.array(DefinitionName).max(20).default([]),
  policy: PolicyAttributes.optional(),
  hooks: PromotionHooks.optional(),
})
export type FlowStep = z.output<typeof FlowStep>

export const PromotionFlowInput = z
  .strictObject({
    description: Description,
    /** The environment from which is promoted. */
    triggerEnvironment: DefinitionName,
    steps: z.array(FlowStep).min(1).max(20),
    hooks: PromotionHooks.optional(),
    /** How long an application may take to be synced and healthy after its change. */
    timeoutMinutes: z.int().min(1).max(10_080).default(60),
  })
  .superRefine(({ triggerEnvironment, steps }, context) => {
    const problem = problemOfSteps(triggerEnvironment, steps)
    if (problem !== undefined) context.addIssue({ code: 'custom', path: ['steps'], message: problem })
  })
export type PromotionFlowInput = z.output<typeof PromotionFlowInput>

/** Returns why steps cannot run; undefined if they can. */
function problemOfSteps(triggerEnvironment: string, steps: readonly FlowStep[]): string | undefined {
  const names = steps.map(({ environment }) => environment)
  if (new Set(names).size < names.length) return 'must name each environment once'
  if (names.includes(triggerEnvironment)) return 'must not have the trigger environment'
  const absent = steps.flatMap(({ dependsOn }) => dependsOn).find((name) => !names.includes(name))
  if (absent !== undefined) return `must have a step for the environment "${absent}", on which another one depends`
  const done = new Set<string>()
  for (let open = steps; open.length > 0;) {
    const ready = open.filter(({ dependsOn }) => dependsOn.every((name) => done.has(name)))
    if (ready.length === 0) return 'must not depend on each other in a circle'
    for (const { environment } of ready) done.add(environment)
    open = open.filter(({ environment }) => !done.has(environment))
  }
  return undefined
}

/** Which commits start a release by themselves. `gitRevision`: the branch or tag that the application follows. */
export const GitTriggerSelector = z.strictObject({
  key: z.enum(['commitMessage', 'gitRevision']),
  operator: z.enum(['In', 'NotIn']),
  /** A value with * is a pattern of the whole text. Without it, a message has to contain the value, and a revision to equal it. */
  values: z.array(z.string().min(1).max(200)).min(1).max(50),
})
export type GitTriggerSelector = z.output<typeof GitTriggerSelector>

const ProductFlow = z.strictObject({
  name: DefinitionName,
  /** With this, a commit in the environment from which is promoted starts a release, if all selectors match it. Without selectors every commit does. */
  gitTriggerSelectors: z.array(GitTriggerSelector).max(20).optional(),
})

export const ProductInput = z
  .strictObject({
    description: Description,
    promotionTemplateRef: DefinitionName.optional(),
    promotionTemplate: InlineTemplate.optional(),
    /** The first one is that of a release that names none. */
    promotionFlows: z.array(ProductFlow).max(20).default([]),
    /** `queue`: a release waits for the one before it. `terminate`: it ends the one before it. */
    concurrency: z.enum(['queue', 'terminate']).default('queue'),
    /** Applications besides those with the label or annotation `codefresh.io/product`: RUNTIME/NAMESPACE/NAME. */
    applications: z
      .array(z.string().regex(/^[a-z0-9-]{1,38}\/[a-z0-9.-]{1,253}\/[a-z0-9.-]{1,253}$/, 'must be RUNTIME/NAMESPACE/NAME'))
      .max(200)
      .default([]),
  })
  .refine(
    ({ promotionTemplateRef, promotionTemplate }) => promotionTemplateRef === undefined || promotionTemplate === undefined,
    'must have either promotionTemplateRef or promotionTemplate',
  )
export type ProductInput = z.output<typeof ProductInput>

const common = {
  id: Id,
  name: DefinitionName,
  createdBy: z.string(),
  createdAt: Time,
  changedBy: z.string(),
  changedAt: Time,
}

export const Environment = z.object({
  ...EnvironmentInput.shape,
  ...common,
  /** Applications that deploy into the environment, and those of them that are healthy and synced. */
  applications: z.int().nonnegative(),
  healthy: z.int().nonnegative(),
})
export type Environment = z.output<typeof Environment>

export const PromotionTemplate = z.object({ ...PromotionTemplateInput.shape, ...common })
export type PromotionTemplate = z.output<typeof PromotionTemplate>

export const PromotionPolicy = z.object({ ...PromotionPolicyInput.shape, ...common })
export type PromotionPolicy = z.output<typeof PromotionPolicy>

/** The checks of inputs are not repeated. */
export const PromotionFlow = z.object({ ...PromotionFlowInput.shape, ...common })
export type PromotionFlow = z.output<typeof PromotionFlow>
