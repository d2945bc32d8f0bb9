/**
 * Finds AWS credentials in the order of the AWS tools: environment, shared file, web identity (IRSA), container endpoint (Pod Identity),
 * instance metadata (IMDSv2). Temporary ones are renewed five minutes before they expire. Values never reach logs or faults.
 */
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fault, type Clock } from '@windlass/kit'
import { z } from 'zod'
import { EARLY_MS, cached } from '../cached.ts'
import { callCloud, parseAnswer, postForm, readJsonError } from '../call-cloud.ts'
import { readXmlError, textOf } from './xml.ts'

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
  /** Epoch milliseconds; undefined for keys that do not expire. */
  readonly expiresAt?: number | undefined
}

export interface CredentialOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly region: string
  /** Base URL of the instance metadata service, overridden in tests. */
  readonly metadataUrl?: string
}

/** Time after which a shared file is read again, because a mounted Secret may change. Milliseconds. */
const FILE_MS = 60_000
const METADATA_URL = 'http://169.254.169.254'

/**
 * Returns a function that provides credentials, caching them while they are valid. Concurrent calls share one request. If a renewal fails, the
 * old credentials are used until they expire. Throws `storage-refused` with the searched places if there are none.
 */
export function awsCredentials(options: CredentialOptions): (signal: AbortSignal) => Promise<AwsCredentials> {
  return cached(options.clock, (signal) => fetchCredentials(options, signal))
}

async function fetchCredentials(options: CredentialOptions, signal: AbortSignal): Promise<AwsCredentials> {
  const { env } = options
  if (env['AWS_ACCESS_KEY_ID'] !== undefined && env['AWS_SECRET_ACCESS_KEY'] !== undefined)
    return {
      accessKeyId: env['AWS_ACCESS_KEY_ID'],
      secretAccessKey: env['AWS_SECRET_ACCESS_KEY'],
      sessionToken: env['AWS_SESSION_TOKEN'],
    }
  const fromFile = await sharedFile(env)
  if (fromFile !== undefined) return { ...fromFile, expiresAt: options.clock.now() + EARLY_MS + FILE_MS }
  if (env['AWS_WEB_IDENTITY_TOKEN_FILE'] !== undefined && env['AWS_ROLE_ARN'] !== undefined) return webIdentity(options, signal)
  if (env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] !== undefined) return containerEndpoint(options, signal)
  return instanceMetadata(options, signal)
}

async function sharedFile(env: CredentialOptions['env']): Promise<AwsCredentials | undefined> {
  const path = env['AWS_SHARED_CREDENTIALS_FILE'] ?? join(env['HOME'] ?? homedir(), '.aws/credentials')
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const profile = env['AWS_PROFILE'] ?? 'default'
  const values = new Map<string, string>()
  let section = ''
  for (const line of text.split('\n').map((raw) => raw.trim())) {
    section = /^\[(.+)\]$/.exec(line)?.[1]?.trim() ?? section
    const pair = /^([a-z_]+)\s*=\s*(.*)$/.exec(line)
    if (pair !== null && section === profile) values.set(pair[1] ?? '', pair[2] ?? '')
  }
  const [accessKeyId, secretAccessKey] = [values.get('aws_access_key_id'), values.get('aws_secret_access_key')]
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw fault('storage-refused', { message: `${path} has no keys for the profile ${profile}.` })
  return { accessKeyId, secretAccessKey, sessionToken: values.get('aws_session_token') }
}

/**
 * Takes the role of the account of a pod with the token that Kubernetes mounts (IRSA).
 */
async function webIdentity({ env, clock, region }: CredentialOptions, signal: AbortSignal): Promise<AwsCredentials> {
  const token = await tokenIn(env['AWS_WEB_IDENTITY_TOKEN_FILE'] ?? '', 'AWS_WEB_IDENTITY_TOKEN_FILE')
  const session = env['AWS_ROLE_SESSION_NAME'] ?? 'windlass'
  return assumeRole({ env, clock, region, role: env['AWS_ROLE_ARN'] ?? '', session, token }, signal)
}

/** Reads the token in a file. `source` names the variable that has the path. Throws `storage-refused`. */
async function tokenIn(path: string, source: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw fault('storage-refused', { message: `The file of ${source} cannot be read.` }, error)
  })
  return text.trim()
}

/** Who takes a role, and by what proof. */
export interface WebIdentity extends Pick<CredentialOptions, 'env' | 'clock' | 'region'> {
  /** ARN of the role. */
  readonly role: string
  /** Name of the session. */
  readonly session: string
  /** A signed token of an identity provider that AWS trusts. */
  readonly token: string
}

/** Calls STS AssumeRoleWithWebIdentity. The call is not signed, because the token is the proof. Throws as `callCloud`. */
export async function assumeRole(
  { env, clock, region, role, session, token }: WebIdentity,
  signal: AbortSignal,
): Promise<AwsCredentials> {
  const request = postForm(env['AWS_ENDPOINT_URL_STS'] ?? `https://sts.${region}.amazonaws.com/`, {
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: session,
    WebIdentityToken: token,
  })
  const xml = await callCloud(
    clock,
    { provider: 'STS', action: 'AssumeRoleWithWebIdentity', request, readError: readXmlError },
    signal,
  )
  return sessionOf(xml)
}

/** Returns the credentials in an answer of STS. Throws `storage-refused` if there are none. */
export function sessionOf(xml: string): AwsCredentials {
  const [accessKeyId, secretAccessKey] = [textOf(xml, 'AccessKeyId'), textOf(xml, 'SecretAccessKey')]
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw fault('storage-refused', { message: 'STS sent an answer that is not that of its API.' })
  return {
    accessKeyId,
    secretAccessKey,
    sessionToken: textOf(xml, 'SessionToken'),
    expiresAt: Date.parse(textOf(xml, 'Expiration') ?? '') || undefined,
  }
}

const Temporary = z.object({ AccessKeyId: z.string(), SecretAccessKey: z.string(), Token: z.string(), Expiration: z.string() })

function toCredentials(provider: string, text: string): AwsCredentials {
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token, Expiration } = parseAnswer(Temporary, provider, text)
  return { accessKeyId, secretAccessKey, sessionToken: Token, expiresAt: Date.parse(Expiration) || undefined }
}

/** Gets credentials by EKS Pod Identity: an endpoint on the node and a token in a mounted file. */
async function containerEndpoint({ env, clock }: CredentialOptions, signal: AbortSignal): Promise<AwsCredentials> {
  const file = env['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE']
  const source = 'AWS_CONTAINER_AUTHORIZATION_TOKEN'
  const token = file === undefined ? env[source] : await tokenIn(file, `${source}_FILE`)
  const headers: Record<string, string> = token === undefined ? {} : { authorization: token }
  const request = { method: 'GET', url: env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] ?? '', headers }
  const call = { provider: 'EKS Pod Identity', action: 'credentials', request, readError: readJsonError, isMetadata: true }
  return toCredentials(call.provider, await callCloud(clock, call, signal))
}

/** Gets the credentials of the role of the node by version 2 of the metadata service. */
async function instanceMetadata(options: CredentialOptions, signal: AbortSignal): Promise<AwsCredentials> {
  const base = `${options.metadataUrl ?? METADATA_URL}/latest`
  const ask = (path: string, headers: Readonly<Record<string, string>>, method = 'GET'): Promise<string> => {
    const request = { method, url: base + path, headers }
    const call = { provider: 'EC2 metadata', action: path, request, readError: readJsonError, isMetadata: true }
    return callCloud(options.clock, call, signal)
  }
  try {
    const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': '300' }
    const headers = { 'x-aws-ec2-metadata-token': await ask('/api/token', ttl, 'PUT') }
    const path = '/meta-data/iam/security-credentials/'
    const [role = ''] = (await ask(path, headers)).split('\n')
    return toCredentials('EC2 metadata', await ask(path + role.trim(), headers))
  } catch (error) {
    signal.throwIfAborted()
    const hint = 'Give this process a role (IRSA, Pod Identity or that of its node) or keys in a Secret.'
    const message = 'No AWS credentials: none in the environment, no ~/.aws/credentials, no web identity, no node role.'
    throw fault('storage-refused', { message, hint }, error)
  }
}
