/**
 * Gets the Azure subscription, location and token: from `azure.json`, which every AKS node has, with its service principal or the managed
 * identity of the node.
 */
import { readFile } from 'node:fs/promises'
import { fault } from '@windlass/kit'
import { z } from 'zod'
import { loginToken, managedIdentityToken, type AzureToken, type AzureTokenOptions } from './azure-token.ts'
import { cached } from './cached.ts'

export interface AzureAccess {
  readonly subscriptionId: string
  readonly resourceGroup: string
  readonly location: string
  readonly token: string
}

export type AzureAccessOptions = AzureTokenOptions

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

const RESOURCE = 'https://management.azure.com/'

/** Returns a function that provides the access, caching the token (`cached`). Throws `storage-refused` for an unusable file. */
export function azureAccess(options: AzureAccessOptions): (signal: AbortSignal) => Promise<AzureAccess> {
  const granted = cached(options.clock, async (signal) => {
    const config = await readCloudConfig(options.env)
    const identity = { resource: RESOURCE, clientId: config.userAssignedIdentityID }
    const token = await (config.useManagedIdentityExtension
      ? managedIdentityToken(options, identity, signal)
      : servicePrincipal(options, config, signal))
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

function servicePrincipal(options: AzureAccessOptions, config: CloudConfig, signal: AbortSignal): Promise<AzureToken> {
  const { tenantId: tenant, aadClientId: clientId, aadClientSecret } = config
  return loginToken(
    options,
    { tenant, clientId, scope: `${RESOURCE}.default`, proof: { client_secret: aadClientSecret } },
    signal,
  )
}
