/** Reads a secret of Google Cloud Secret Manager, with the ID token of the job by Workload Identity Federation. */
import { callCloud, federatedGoogleToken, isRefusedWith, parseAnswer, readJsonError } from '@windlass/cloud'
import { fault } from '@windlass/kit'
import { z } from 'zod'
import type { GcpSecret } from '../job/payload.ts'
import { requireToken, type SecretContext } from './secret-context.ts'

const Answer = z.object({ payload: z.object({ data: z.string() }) })
/** A name, an ID or a number in a path of Google. */
const WORD = /^(?!\.+$)[\w.:-]{1,255}$/

/**
 * Returns the value of a version, by default of the latest one; undefined if it does not exist. The credentials of the manager are not used. Throws `storage-refused` and
 * `storage-unreachable`.
 */
export async function readGcpSecret(
  { name, version, server }: GcpSecret,
  { expand, env, clock, signal }: SecretContext,
): Promise<string | undefined> {
  const jwt = requireToken(expand(server.jwt))
  const word = (what: string, text: string): string => {
    const value = expand(text)
    if (WORD.test(value)) return value
    throw fault('storage-refused', { message: `The ${what} "${value.slice(0, 100)}" is not valid. Set it in the job.` })
  }
  const project = word('project number', server.project_number)
  const pool = word('pool of Workload Identity Federation', server.workload_identity_federation_pool_id)
  const provider = word('provider of Workload Identity Federation', server.workload_identity_federation_provider_id)
  const path = secretPath(expand(name), project, word)
  const versionName = version === '' ? 'latest' : word('version', version)
  const audience = `//iam.googleapis.com/projects/${project}/locations/global/workloadIdentityPools/${pool}/providers/${provider}`
  // The variables of gcloud for other endpoints.
  const stsUrl = env['CLOUDSDK_API_ENDPOINT_OVERRIDES_STS']?.replace(/\/+$/, '')
  const base = env['CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER']?.replace(/\/+$/, '') ?? 'https://secretmanager.googleapis.com'
  const token = await federatedGoogleToken({ clock, stsUrl }, { audience, token: jwt }, signal)
  const request = {
    method: 'GET',
    url: `${base}/v1/${path}/versions/${versionName}:access`,
    headers: { authorization: `Bearer ${token}` },
  }
  const call = { provider: 'Secret Manager', action: 'access', request, readError: readJsonError }
  try {
    const { payload } = parseAnswer(Answer, call.provider, await callCloud(clock, call, signal))
    return Buffer.from(payload.data, 'base64').toString('utf8')
  } catch (error) {
    if (isRefusedWith(error, '404')) return undefined
    throw error
  }
}

/** A secret of another project is named in full: `projects/PROJECT/secrets/NAME`. */
function secretPath(name: string, project: string, word: (what: string, text: string) => string): string {
  const full = /^projects\/([^/]+)\/secrets\/([^/]+)$/.exec(name)
  const [, other = project, own = name] = full ?? []
  return `projects/${word('project', other)}/secrets/${word('secret', own)}`
}
