/** Logins of registries for the images of a job: those of `DOCKER_AUTH_CONFIG`, then those that the server sends with the job. */
import { isRecord, parseJson } from '@windlass/kit/json'
import type { Job } from '../job/payload.ts'

/** Returns the content of a `.dockerconfigjson`; undefined without a login. A login of the user wins over one of the server. */
export function registryLogins({ credentials }: Pick<Job, 'credentials'>, authConfig: string | undefined): string | undefined {
  const ofServer = credentials.flatMap(({ type, url, username, password }) =>
    type === 'registry' && url !== ''
      ? [[url, { username, password, auth: Buffer.from(`${username}:${password}`).toString('base64') }] as const]
      : [],
  )
  const given = authConfig === undefined || authConfig === '' ? undefined : parseJson(authConfig)
  const ofUser = isRecord(given) && isRecord(given['auths']) ? given['auths'] : {}
  const auths = { ...Object.fromEntries(ofServer), ...ofUser }
  return Object.keys(auths).length === 0 ? undefined : JSON.stringify({ auths })
}
