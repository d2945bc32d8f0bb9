/** Gets tokens of Microsoft Entra ID for APIs of Azure: with Workload Identity, a service principal, or the managed identity of the node. */
import { readFile } from 'node:fs/promises'
import { fault, type Clock } from '@windlass/kit'
import { z } from 'zod'
import { callCloud, parseAnswer, postForm, readJsonError, type CloudCall } from './call-cloud.ts'

export interface AzureTokenOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** Base URLs of the metadata service and of the login, overridden in tests. */
  readonly metadataUrl?: string
  readonly loginUrl?: string
}

/** A token as Azure answers it; `expires_in` is in seconds. */
const Token = z.looseObject({ access_token: z.string(), expires_in: z.coerce.number() })
export type AzureToken = z.infer<typeof Token>

/**
 * Returns a token for an API, such as `https://storage.azure.com/`: that of Workload Identity, whose webhook sets `AZURE_FEDERATED_TOKEN_FILE`, `AZURE_CLIENT_ID`
 * and `AZURE_TENANT_ID`; else that of the managed identity of the node. Throws `storage-refused` and `storage-unreachable`.
 */
export async function azureToken(options: AzureTokenOptions, resource: string, signal: AbortSignal): Promise<string> {
  const { env } = options
  const [file = '', tenant = ''] = [env['AZURE_FEDERATED_TOKEN_FILE'], env['AZURE_TENANT_ID']]
  const clientId = env['AZURE_CLIENT_ID'] ?? ''
  if (file === '' || tenant === '' || clientId === '')
    return (await managedIdentityToken(options, { resource, clientId }, signal)).access_token
  const assertion = await readFile(file, 'utf8').catch((error: unknown) => {
    throw fault('storage-refused', { message: 'The file of AZURE_FEDERATED_TOKEN_FILE cannot be read.' }, error)
  })
  return azureFederatedToken(options, { tenant, clientId, resource, assertion: assertion.trim() }, signal)
}

export interface FederatedIdentity {
  readonly tenant: string
  readonly clientId: string
  /** API for which the token is. */
  readonly resource: string
  /** Signed token of another identity provider that the application trusts. */
  readonly assertion: string
}

/** Returns a token of an application that trusts another identity provider. Throws `storage-refused` and `storage-unreachable`. */
export async function azureFederatedToken(
  options: AzureTokenOptions,
  { tenant, clientId, resource, assertion }: FederatedIdentity,
  signal: AbortSignal,
): Promise<string> {
  const proof = { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer', client_assertion: assertion }
  const host = options.env['AZURE_AUTHORITY_HOST']?.replace(/\/+$/, '')
  const to = host === undefined || host === '' ? options : { ...options, loginUrl: host }
  return (await loginToken(to, { tenant, clientId, scope: `${resource}.default`, proof }, signal)).access_token
}

/** Returns a token of the managed identity of the node; `clientId` chooses one of several identities. */
export function managedIdentityToken(
  { clock, metadataUrl = 'http://169.254.169.254' }: AzureTokenOptions,
  { resource, clientId }: { readonly resource: string; readonly clientId: string },
  signal: AbortSignal,
): Promise<AzureToken> {
  const query = new URLSearchParams({ 'api-version': '2018-02-01', resource, ...(clientId !== '' && { client_id: clientId }) })
  const url = `${metadataUrl}/metadata/identity/oauth2/token?${query.toString()}`
  const request = { method: 'GET', url, headers: { metadata: 'true' } }
  return fetchToken(clock, { action: 'managed identity', request, isMetadata: true }, signal)
}

export interface Login {
  readonly tenant: string
  readonly clientId: string
  readonly scope: string
  /** Fields that prove the identity: a secret, or a signed assertion. */
  readonly proof: Readonly<Record<string, string>>
}

/** Returns a token of an application. */
export function loginToken(
  { clock, loginUrl = 'https://login.microsoftonline.com' }: AzureTokenOptions,
  { tenant, clientId, scope, proof }: Login,
  signal: AbortSignal,
): Promise<AzureToken> {
  const form = { grant_type: 'client_credentials', client_id: clientId, ...proof, scope }
  return fetchToken(clock, { action: 'login', request: postForm(`${loginUrl}/${tenant}/oauth2/v2.0/token`, form) }, signal)
}

async function fetchToken(
  clock: Clock,
  call: Pick<CloudCall, 'action' | 'request' | 'isMetadata'>,
  signal: AbortSignal,
): Promise<AzureToken> {
  const text = await callCloud(clock, { ...call, provider: 'Azure', readError: readJsonError }, signal)
  return parseAnswer(Token, 'Azure', text)
}
