/** Azure's subscription, place and token: from `azure.json`, which every AKS node has, with its service principal or the node's managed identity. */
import { readFile } from 'node:fs/promises'
import { fault, type Clock } from '@windlass/kit'
import { z } from 'zod'
import { callCloud, readJsonError } from './http.ts'

export interface AzureAccess {
  readonly subscriptionId: string
  readonly resourceGroup: string
  readonly location: string
  readonly token: string
}

export interface AzureAccessOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** Base URLs of the metadata service and of the login; others in tests. */
  readonly metadataUrl?: string
  readonly loginUrl?: string
}

const CloudConfig = z.looseObject({
  subscriptionId: z.string().min(1),
  resourceGroup: z.string().min(1),
  location: z.string().min(1),
  tenantId: z.string().default(''),
  aadClientId: z.string().default(''),
  aadClientSecret: z.string().default(''),
  useManagedIdentityExtension: z.boolean().default(false),
  userAssignedIdentityID: z.string().default(''),
})
type CloudConfig = z.infer<typeof CloudConfig>
const Token = z.looseObject({ access_token: z.string(), expires_in: z.coerce.number() })

const RESOURCE = 'https://management.azure.com/'
const EARLY_MS = 5 * 60_000

/** Answers what the API needs; the token from memory while it is good. Throws `storage-refused` for a file that cannot be used. */
export function azureAccess(options: AzureAccessOptions): (signal: AbortSignal) => Promise<AzureAccess> {
  let held: { token: string; until: number } | undefined
  return async (signal) => {
    const config = await readCloudConfig(options.env)
    if (held === undefined || held.until - EARLY_MS < options.clock.now()) {
      const token = await (config.useManagedIdentityExtension ? managedIdentity : servicePrincipal)(options, config, signal)
      held = { token: token.access_token, until: options.clock.now() + token.expires_in * 1000 }
    }
    const { subscriptionId, resourceGroup, location } = config
    return { subscriptionId, resourceGroup, location, token: held.token }
  }
}

async function readCloudConfig(env: AzureAccessOptions['env']): Promise<CloudConfig> {
  const path = env['AZURE_CREDENTIAL_FILE'] ?? env['CLOUDCONFIG_AZURE'] ?? '/etc/kubernetes/azure.json'
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const hint = 'Mount azure.json of the node (`storage.mountAzureJson`).'
    throw fault('storage-refused', { message: `${path} cannot be read.`, hint }, error)
  })
  try {
    return CloudConfig.parse(JSON.parse(text))
  } catch {
    throw fault('storage-refused', { message: `${path} is not an azure.json with subscriptionId, resourceGroup and location.` })
  }
}

async function managedIdentity(
  options: AzureAccessOptions,
  config: CloudConfig,
  signal: AbortSignal,
): Promise<z.infer<typeof Token>> {
  const { clock, metadataUrl = 'http://169.254.169.254' } = options
  const query = new URLSearchParams({
    'api-version': '2018-02-01',
    resource: RESOURCE,
    ...(config.userAssignedIdentityID !== '' && { client_id: config.userAssignedIdentityID }),
  })
  const url = `${metadataUrl}/metadata/identity/oauth2/token?${query.toString()}`
  const send = (limit: AbortSignal): Promise<Response> => fetch(url, { headers: { metadata: 'true' }, signal: limit })
  return Token.parse(
    JSON.parse(await callCloud(clock, { provider: 'Azure', action: 'managed identity', send, readError: readJsonError }, signal)),
  )
}

async function servicePrincipal(
  options: AzureAccessOptions,
  config: CloudConfig,
  signal: AbortSignal,
): Promise<z.infer<typeof Token>> {
  const { clock, loginUrl = 'https://login.microsoftonline.com' } = options
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: config.aadClientId,
    client_secret: config.aadClientSecret,
    scope: `${RESOURCE}.default`,
  })
  const send = (limit: AbortSignal): Promise<Response> =>
    fetch(`${loginUrl}/${config.tenantId}/oauth2/v2.0/token`, { method: 'POST', body, signal: limit })
  return Token.parse(
    JSON.parse(await callCloud(clock, { provider: 'Azure', action: 'login', send, readError: readJsonError }, signal)),
  )
}
