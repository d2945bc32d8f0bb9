/** GitOps runtimes in `/v1`: what their installers said about them, and what they have reported. */
import { z } from 'zod'
import { HttpUrl, Id, Time } from '../base.ts'
import { GIT_PROVIDERS, GitopsRuntimeName, TUNNEL_STATUSES } from './gitops.ts'

const Word = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[^\p{Cc}]+$/u, 'must be a text of one line')

/** Shown to everybody who may see the runtime. */
const Address = z
  .string()
  .max(1_000)
  .refine((text) => !/\/\/[^/]*@/.test(text), 'must not contain a user name or a password')

export const INSTALLATION_TYPES = ['HELM', 'HELM_HOSTED'] as const
export const ACCESS_MODES = ['TUNNEL', 'INGRESS'] as const

/** What an installer says about the runtime that it installs. Only the names of public clients; the server acts on none of it. */
export const RuntimeInstallation = z.strictObject({
  /** Of the runtime, in its cluster. */
  namespace: z
    .string()
    .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a namespace of Kubernetes')
    .optional(),
  /** URL of the API server of its cluster. */
  cluster: Address.optional(),
  type: z.enum(INSTALLATION_TYPES).optional(),
  /** True if the platform hosts the runtime. */
  isManaged: z.boolean().optional(),
  /** Of the shared configuration repository. */
  gitProvider: z.enum(GIT_PROVIDERS).optional(),
  version: Word.optional(),
  chartVersion: Word.optional(),
  components: z.array(Word).max(50).optional(),
  /** Where callers reach the runtime, if not through its tunnel. */
  ingressUrl: HttpUrl.optional(),
  /** Where callers in its network reach it. */
  internalIngressUrl: HttpUrl.optional(),
  ingressClass: Word.optional(),
  ingressController: Word.optional(),
  gatewayName: Word.optional(),
  gatewayNamespace: Word.optional(),
  /** URL of the repository from which it is installed. */
  repository: Address.optional(),
  accessMode: z.enum(ACCESS_MODES).optional(),
  isExternalArgoCd: z.boolean().optional(),
})
export type RuntimeInstallation = z.output<typeof RuntimeInstallation>

/** How a token is created. */
export const GitopsTokenInput = z.strictObject({
  /** Replaces what an earlier installation said. */
  installation: RuntimeInstallation.optional(),
  /** True if the runtime must not exist. */
  isNew: z.boolean().optional(),
})
export type GitopsTokenInput = z.output<typeof GitopsTokenInput>

export const ERROR_LEVELS = ['ERROR', 'WARNING'] as const

/** What went wrong when a runtime was installed. */
export const RuntimeError = z.object({ level: z.enum(ERROR_LEVELS), message: z.string(), at: Time })
export type RuntimeError = z.output<typeof RuntimeError>

/** Replaces the errors of a runtime. */
export const RuntimeErrorsInput = z.strictObject({
  errors: z.array(z.strictObject({ level: z.enum(ERROR_LEVELS), message: z.string().min(1).max(2_000) })).max(50),
})

export const GitopsRuntime = z.object({
  id: Id,
  name: GitopsRuntimeName,
  /** Where callers reach it: its ingress, or its tunnel. Absent if it has neither. */
  url: z.string().optional(),
  installation: RuntimeInstallation,
  errors: z.array(RuntimeError),
  /** Absent if its tunnel was never connected. */
  tunnel: z.enum(TUNNEL_STATUSES).optional(),
  /** Last report of its applications. */
  reportedAt: Time.optional(),
  /** Names or URLs of the clusters to which its reported applications deploy, with their number. */
  clusters: z.array(z.object({ cluster: z.string(), applications: z.int().nonnegative() })),
  createdBy: z.string(),
  createdAt: Time,
})
export type GitopsRuntime = z.output<typeof GitopsRuntime>
