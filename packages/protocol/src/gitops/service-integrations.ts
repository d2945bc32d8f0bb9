/**
 * Service integrations of a GitOps runtime: registries and Jira, with the login that its workflows use. The shared configuration repository has them as sealed Secrets, which only the
 * controller in the cluster of the runtime can open (docs/development/adr/0158-sealed-integrations.md). No answer has a login.
 *
 * GET    /service-integrations                 page(ServiceIntegration)
 * PUT    /service-integrations/registry/{name} RegistryIntegrationInput
 * PUT    /service-integrations/jira/{name}     JiraIntegrationInput
 * DELETE /service-integrations/{type}/{name}
 */
import { z } from 'zod'
import { HttpUrl } from '../base.ts'
import { registryHost } from '../contexts/registry-login.ts'
import { CommitMessage, RepositoryChange } from '../runtime/gitops-repository.ts'
import { IntegrationName } from './integrations.ts'

export const SERVICE_TYPES = ['registry', 'jira'] as const
export type ServiceType = (typeof SERVICE_TYPES)[number]

const UserName = z
  .string()
  .min(1)
  .max(300)
  .regex(/^[^\p{Cc}:]+$/u, 'must be a user name, without a colon')
/** A password may be a JSON key of a cloud. */
const Password = z
  .string()
  .min(1)
  .max(16_384)
  .refine((text) => !text.includes('\0'), 'must have no NUL')

export const RegistryIntegrationInput = z.strictObject({
  /** Host of the registry with its port, as the names of its images begin. */
  domain: z
    .string()
    .max(255)
    .refine((text) => registryHost(text) !== undefined, 'must be the host of a registry, such as registry.example.com:5000'),
  username: UserName,
  password: Password,
  message: CommitMessage.optional(),
})
export type RegistryIntegrationInput = z.output<typeof RegistryIntegrationInput>

export const JiraIntegrationInput = z.strictObject({
  url: HttpUrl.refine((text) => text.startsWith('https://'), 'must begin with https://'),
  /** E-mail address of the owner of an API token. Absent for a personal access token of Jira Data Center. */
  username: UserName.optional(),
  token: Password,
  /** Keys of the projects whose issues reports of images may read. Absent: all. */
  projects: z
    .array(z.string().regex(/^[A-Z][A-Z0-9_]{0,30}$/, 'must be the key of a project, such as SHOP'))
    .min(1)
    .max(100)
    .optional(),
  message: CommitMessage.optional(),
})
export type JiraIntegrationInput = z.output<typeof JiraIntegrationInput>

export const ServiceIntegration = z.object({
  type: z.enum(SERVICE_TYPES),
  name: IntegrationName,
  /** Host of the registry, or URL of Jira. */
  place: z.string(),
  /** Name of the Secret in the namespace of the runtime. */
  secret: z.string(),
  /** In the shared configuration repository. */
  file: z.string(),
})
export type ServiceIntegration = z.infer<typeof ServiceIntegration>

export const ServiceIntegrationChange = z.object({ integration: ServiceIntegration, commit: RepositoryChange })
export type ServiceIntegrationChange = z.infer<typeof ServiceIntegrationChange>
