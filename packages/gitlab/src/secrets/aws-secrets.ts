/**
 * Reads a secret of AWS Secrets Manager with a role for the ID token of the job. The credentials of the manager are not used: each job could read with them whatever
 * the manager can.
 */
import { assumeRole, callCloud, isRefusedWith, parseAnswer, signAws, type AwsCredentials } from '@windlass/cloud'
import { fault, parseJson } from '@windlass/kit'
import { z } from 'zod'
import type { AwsSecret } from '../job/payload.ts'
import type { SecretContext } from './secret-context.ts'

const Answer = z.object({ SecretString: z.string().optional(), SecretBinary: z.string().optional() })
const Problem = z.object({ __type: z.string().optional(), message: z.string().optional(), Message: z.string().optional() })
const REGION = /^[a-z0-9-]{1,40}$/
/** Longest name of a session of a role. Characters. */
const MAX_SESSION = 64

/** Returns the value, or undefined if the secret or its field does not exist. Throws `storage-refused` and `storage-unreachable`. */
export async function readAwsSecret(secret: AwsSecret, context: SecretContext): Promise<string | undefined> {
  const { expand, env, clock, signal } = context
  const region = firstOf(
    [secret.region, secret.server?.region, env['AWS_REGION'], env['AWS_DEFAULT_REGION']].map((text) => expand(text ?? '')),
  )
  if (region === '') throw fault('storage-refused', { message: 'The secret has no region. Set `region` in the job.' })
  // It is part of the host to which the manager sends the ID token of the job.
  if (!REGION.test(region)) throw fault('storage-refused', { message: `"${region.slice(0, 100)}" is not a region of AWS.` })
  const credentials = await credentialsOf(secret, region, context)
  const [version, stage] = [expand(secret.version_id), expand(secret.version_stage)]
  const request = {
    method: 'POST',
    url: env['AWS_ENDPOINT_URL_SECRETS_MANAGER'] ?? `https://secretsmanager.${region}.amazonaws.com/`,
    headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'secretsmanager.GetSecretValue' },
    body: JSON.stringify({
      SecretId: expand(secret.secret_id),
      ...(version !== '' && { VersionId: version }),
      ...(stage !== '' && { VersionStage: stage }),
    }),
  }
  // The signature has the time, so each try is signed again.
  const signed = async () => ({
    ...request,
    headers: await signAws(request, { credentials, service: 'secretsmanager', region }),
  })
  try {
    const text = await callCloud(
      clock,
      { provider: 'Secrets Manager', action: 'GetSecretValue', request: signed, readError },
      signal,
    )
    const { SecretString: shown, SecretBinary: bytes } = parseAnswer(Answer, 'Secrets Manager', text)
    const value = shown ?? Buffer.from(bytes ?? '', 'base64').toString('utf8')
    const field = expand(secret.field)
    return field === '' ? value : fieldOf(value, field)
  } catch (error) {
    if (isRefusedWith(error, 'ResourceNotFoundException')) return undefined
    throw error
  }
}

async function credentialsOf(secret: AwsSecret, region: string, context: SecretContext): Promise<AwsCredentials> {
  const { expand, env, clock, signal } = context
  const { server } = secret
  const [role, token] = [firstOf([secret.role_arn, server?.role_arn ?? ''].map(expand)), expand(server?.jwt ?? '')]
  if (role === '' || token === '')
    throw fault('storage-refused', {
      message: 'The secret needs a role and an ID token. Set AWS_ROLE_ARN, and `token` of the secret, in the job.',
    })
  const session = firstOf(
    [secret.role_session_name, server?.role_session_name ?? '', '${CI_JOB_ID}-${CI_PROJECT_ID}-${CI_SERVER_HOST}'].map(expand),
  )
  return assumeRole({ env, clock, region, role, session: session.slice(0, MAX_SESSION), token }, signal)
}

const firstOf = (texts: readonly string[]): string => texts.find((text) => text !== '') ?? ''

/** Returns a field of a value that is JSON. */
function fieldOf(value: string, field: string): string | undefined {
  const found = z.record(z.string(), z.unknown()).safeParse(parseJson(value)).data?.[field]
  if (found === undefined || found === null) return undefined
  return typeof found === 'string' ? found : JSON.stringify(found)
}

/** What is shown instead of a body that is not that of the store: a job chooses the address and must not read other servers by it. */
const NO_MESSAGE = 'the answer has no message of AWS'

function readError(body: string): { code: string; message: string } {
  const problem = Problem.safeParse(parseJson(body)).data ?? {}
  // The type may have a prefix with its namespace.
  return { code: problem.__type?.split('#').at(-1) ?? 'error', message: problem.message ?? problem.Message ?? NO_MESSAGE }
}
