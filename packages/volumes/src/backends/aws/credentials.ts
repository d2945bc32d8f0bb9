/**
 * AWS credentials in the order of AWS' own tools: environment, shared file, web identity (IRSA), container endpoint (Pod Identity),
 * instance metadata (IMDSv2). Temporary ones are fetched again five minutes before they end. Values never reach logs or faults.
 */
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fault, type Clock } from '@windlass/kit'
import { z } from 'zod'
import { callCloud, readJsonError } from '../http.ts'
import { readXmlError, textOf } from './xml.ts'

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
  /** Epoch milliseconds; undefined for keys that do not end. */
  readonly expiresAt?: number | undefined
}

export interface CredentialOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly region: string
  /** Base URL of the instance metadata service; another one in tests. */
  readonly metadataUrl?: string
}

const EARLY_MS = 5 * 60_000
const METADATA_URL = 'http://169.254.169.254'

/** Answers credentials, from memory while they are good. Throws `storage-refused` when none are found, with where they were looked for. */
export function awsCredentials(options: CredentialOptions): (signal: AbortSignal) => Promise<AwsCredentials> {
  let held: AwsCredentials | undefined
  return async (signal) => {
    const isGood = held !== undefined && (held.expiresAt === undefined || held.expiresAt - EARLY_MS > options.clock.now())
    held = isGood && held !== undefined ? held : await fetchCredentials(options, signal)
    return held
  }
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
  if (fromFile !== undefined) return fromFile
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

/** STS AssumeRoleWithWebIdentity with the token that Kubernetes mounts (IRSA). Not signed: the token is the proof. */
async function webIdentity({ env, clock, region }: CredentialOptions, signal: AbortSignal): Promise<AwsCredentials> {
  const token = await readFile(env['AWS_WEB_IDENTITY_TOKEN_FILE'] ?? '', 'utf8').catch((error: unknown) => {
    throw fault('storage-refused', { message: 'The file that AWS_WEB_IDENTITY_TOKEN_FILE names cannot be read.' }, error)
  })
  const body = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: env['AWS_ROLE_ARN'] ?? '',
    RoleSessionName: env['AWS_ROLE_SESSION_NAME'] ?? 'windlass-provisioner',
    WebIdentityToken: token.trim(),
  })
  const url = env['AWS_ENDPOINT_URL_STS'] ?? `https://sts.${region}.amazonaws.com/`
  const send = (limit: AbortSignal): Promise<Response> => fetch(url, { method: 'POST', body, signal: limit })
  const xml = await callCloud(
    clock,
    { provider: 'STS', action: 'AssumeRoleWithWebIdentity', send, readError: readXmlError },
    signal,
  )
  return {
    accessKeyId: textOf(xml, 'AccessKeyId') ?? '',
    secretAccessKey: textOf(xml, 'SecretAccessKey') ?? '',
    sessionToken: textOf(xml, 'SessionToken'),
    expiresAt: Date.parse(textOf(xml, 'Expiration') ?? '') || undefined,
  }
}

const Temporary = z.object({ AccessKeyId: z.string(), SecretAccessKey: z.string(), Token: z.string(), Expiration: z.string() })

function toCredentials(text: string): AwsCredentials {
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token, Expiration } = Temporary.parse(JSON.parse(text))
  return { accessKeyId, secretAccessKey, sessionToken: Token, expiresAt: Date.parse(Expiration) || undefined }
}

/** EKS Pod Identity: an endpoint on the node and a token from a mounted file. */
async function containerEndpoint({ env, clock }: CredentialOptions, signal: AbortSignal): Promise<AwsCredentials> {
  const file = env['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE']
  const token = file === undefined ? env['AWS_CONTAINER_AUTHORIZATION_TOKEN'] : (await readFile(file, 'utf8')).trim()
  const headers = token === undefined ? {} : { authorization: token }
  const send = (limit: AbortSignal): Promise<Response> =>
    fetch(env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] ?? '', { headers, signal: limit })
  return toCredentials(
    await callCloud(clock, { provider: 'EKS Pod Identity', action: 'credentials', send, readError: readJsonError }, signal),
  )
}

/** The role of the node, by version 2 of the metadata service. */
async function instanceMetadata(options: CredentialOptions, signal: AbortSignal): Promise<AwsCredentials> {
  const base = `${options.metadataUrl ?? METADATA_URL}/latest`
  const ask = (path: string, init: RequestInit): Promise<string> => {
    const send = (limit: AbortSignal): Promise<Response> => fetch(base + path, { ...init, signal: limit })
    return callCloud(options.clock, { provider: 'EC2 metadata', action: path, send, readError: readJsonError }, signal)
  }
  try {
    const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': '300' }
    const headers = { 'x-aws-ec2-metadata-token': await ask('/api/token', { method: 'PUT', headers: ttl }) }
    const path = '/meta-data/iam/security-credentials/'
    const [role = ''] = (await ask(path, { headers })).split('\n')
    return toCredentials(await ask(path + role.trim(), { headers }))
  } catch (error) {
    signal.throwIfAborted()
    const hint = 'Give the provisioner a role (IRSA, Pod Identity or that of its node) or keys in a Secret.'
    const message = 'No AWS credentials: none in the environment, no ~/.aws/credentials, no web identity, no node role.'
    throw fault('storage-refused', { message, hint }, error)
  }
}
