/**
 * Gets the Azure subscription, location and token: from `azure.json`, which every AKS node has, with its service principal or the managed
 * identity of the node.
 */
import { readFile } from 'node:fs/promises'
import { fault, type Clock } from '@windlass/kit'
import { z } from 'zod'
import { cached } from './cached.ts'
import { callCloud, postForm, readJsonError, type CloudRequest } from './call-cloud.ts'

export interface AzureAccess {
  readonly subscriptionId: string
  readonly resourceGroup: string
  readonly location: string
  readonly token: string
}

export interface AzureAccessOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** Base URLs of the metadata service and of the login, overridden in tests. */
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

/** Returns a function that provides the access, caching the token (`cached`). Throws `storage-refused` for an unusable file. */
export function azureAccess(options: AzureAccessOptions): (signal: AbortSignal) => Promise<AzureAccess> {
  const granted = cached(options.clock, async (signal) => {
    const config = await readCloudConfig(options.env)
    const token = await (config.useManagedIdentityExtension ? managedIdentity : servicePrincipal)(options, config, signal)
    return { token: token.access_token, expiresAt: options.clock.now() + token.expires_in * 1000 }
  })
  return async (signal) => {
    const { subscriptionId, resourceGroup, location } = await readCloudConfig(options.env)
    return { subscriptionId, resourceGroup, location, token: (await granted(signal)).token }
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
  return fetchToken(clock, 'managed identity', { method: 'GET', url, headers: { metadata: 'true' } }, signal)
}

async function servicePrincipal(
  options: AzureAccessOptions,
  config: CloudConfig,
  signal: AbortSignal,
): Promise<z.infer<typeof Token>> {
  const { clock, loginUrl = 'https://login.microsoftonline.com' } = options
  const request = postForm(`${loginUrl}/${config.tenantId}/oauth2/v2.0/token`, {
    grant_type: 'client_credentials',
    client_id: config.aadClientId,
    client_secret: config.aadClientSecret,
    scope: `${RESOURCE}.default`,
  })
  return fetchToken(clock, 'login', request, signal)
}

async function fetchToken(
  clock: Clock,
  action: string,
  request: CloudRequest,
  signal: AbortSignal,
): Promise<z.infer<typeof Token>> {
  return Token.parse(JSON.parse(await callCloud(clock, { provider: 'Azure', action, request, readError: readJsonError }, signal)))
}
