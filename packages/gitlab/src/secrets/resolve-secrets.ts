/** Gets the secrets that a job names from other stores, before anything of the job exists. Their values never reach logs or messages. */
import { isFault } from '@windlass/kit'
import type { RunnerSection } from '../config/schema.ts'
import { expandText } from '../job/expand.ts'
import { featureFlags } from '../job/feature-flags.ts'
import type { Job, JobSecret } from '../job/payload.ts'
import { ConfigurationError } from '../pod/configuration-error.ts'
import { readAwsSecret } from './aws-secrets.ts'
import { readAzureSecret } from './azure-secrets.ts'
import { readGcpSecret } from './gcp-secrets.ts'
import type { SecretContext } from './secret-context.ts'
import { readVaultSecret } from './vault.ts'

export interface ResolvedSecret {
  /** Name of the variable. */
  readonly name: string
  readonly value: string
  /** True if the variable is the path of a file with the value. */
  readonly isFile: boolean
  /** Name of the kind of store, for the trace. */
  readonly store: string
}

export interface SecretsOptions extends Omit<SecretContext, 'expand'> {
  readonly job: Pick<Job, 'secrets' | 'variables'>
  readonly runner: Pick<RunnerSection, 'feature_flags' | 'environment'>
}

/** Most secrets of a job. */
const MAX_SECRETS = 100
/** Longest value. It is part of the script of each stage. Bytes. */
const MAX_BYTES = 65_536

/**
 * Returns the secrets in the order of the job. Throws `ConfigurationError` for a secret that does not exist or is refused, and for a store that Windlass does not read.
 * Throws `storage-unreachable` if a store does not answer. Without the feature flag `FF_SECRET_RESOLVING_FAILS_IF_MISSING`, a secret that does not exist is left out.
 */
export async function resolveSecrets({ job, runner, ...context }: SecretsOptions): Promise<ResolvedSecret[]> {
  const wanted = Object.entries(job.secrets ?? {})
  if (wanted.length > MAX_SECRETS)
    throw new ConfigurationError(`The job has ${wanted.length} secrets. At most ${MAX_SECRETS} are read.`)
  const isRequired = featureFlags(runner, job).FF_SECRET_RESOLVING_FAILS_IF_MISSING
  const resolved: ResolvedSecret[] = []
  for (const [name, secret] of wanted) {
    const { store, read } = storeOf(name, secret)
    const value = await named(name, () => read({ ...context, expand: expander(job) }))
    if (value === undefined && isRequired)
      throw new ConfigurationError(`The secret "${name}" does not exist in ${store}. Check its path and field in the job.`)
    if (value !== undefined && Buffer.byteLength(value) > MAX_BYTES)
      throw new ConfigurationError(`The secret "${name}" has more than ${MAX_BYTES} bytes.`)
    if (value !== undefined) resolved.push({ name, value, isFile: secret.file !== false, store })
  }
  return resolved
}

interface Store {
  readonly store: string
  readonly read: (context: SecretContext) => Promise<string | undefined>
}

function storeOf(name: string, secret: JobSecret): Store {
  const { vault, aws_secrets_manager: aws, gcp_secret_manager: gcp, azure_key_vault: azure } = secret
  if (isGiven(vault)) return { store: 'Vault', read: (context) => readVaultSecret(vault, context) }
  if (isGiven(aws)) return { store: 'AWS Secrets Manager', read: (context) => readAwsSecret(aws, context) }
  if (isGiven(gcp)) return { store: 'Google Cloud Secret Manager', read: (context) => readGcpSecret(gcp, context) }
  if (isGiven(azure)) return { store: 'Azure Key Vault', read: (context) => readAzureSecret(azure, context) }
  const kinds = Object.keys(secret).filter((key) => key !== 'file' && isGiven(secret[key]))
  throw new ConfigurationError(
    `The secret "${name}" is in a store that Windlass does not read (${kinds.join(', ')}). Use vault, a store of AWS, Google or Azure, or CI/CD variables.`,
  )
}

/** GitLab sends null for the stores that a secret is not in. */
function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined
}

/** Adds the name of the secret to what a store answers. */
async function named<T>(name: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (isFault(error, 'storage-refused')) throw new ConfigurationError(`The secret "${name}" cannot be read. ${error.message}`)
    throw error
  }
}

/** Returns a function that expands the variables of a job. References in their own values are expanded once. */
function expander({ variables }: Pick<Job, 'variables'>): (text: string) => string {
  const given = new Map(variables.map((variable) => [variable.key, variable]))
  const valueOf = (key: string): string | undefined => {
    const variable = given.get(key)
    if (variable === undefined || variable.raw === true) return variable?.value
    return expandText(variable.value, (other) => given.get(other)?.value)
  }
  return (text) => expandText(text, valueOf)
}
