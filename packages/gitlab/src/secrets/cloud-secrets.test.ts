/** Secrets of Google Cloud and Azure, by golden requests: their services cannot run here. */
import { systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openFakeCloud, type Asked, type FakeCloud, type Said } from '../../../../e2e/support/fake-cloud.ts'
import { Job } from '../job/payload.ts'
import { resolveSecrets, type ResolvedSecret } from './resolve-secrets.ts'

/** Version of both APIs of Google. */
const VERSION = '/v1'
const JWT = 'header.id-token-of-the-job.signature'

async function resolved(secret: object, env: Readonly<Record<string, string>>): Promise<ResolvedSecret[]> {
  const variables = [
    { key: 'CLOUD_ID_TOKEN', value: JWT, masked: true, raw: true },
    { key: 'STAGE', value: 'production' },
  ]
  const job = Job.parse({ id: 7, token: 'glcbt-x', variables, secrets: { DB: { ...secret, file: false } } })
  return resolveSecrets({ job, runner: {}, env, clock: systemClock, signal: AbortSignal.timeout(60_000) })
}

const google = (more: object = {}): object => ({
  gcp_secret_manager: {
    name: '$STAGE-db',
    server: {
      project_number: '1234',
      workload_identity_federation_pool_id: 'gitlab',
      workload_identity_federation_provider_id: 'gitlab-jwt',
      jwt: '$CLOUD_ID_TOKEN',
    },
    ...more,
  },
})
const googleEnv = ({ url }: FakeCloud): Record<string, string> => ({
  CLOUDSDK_API_ENDPOINT_OVERRIDES_STS: `${url}/`,
  CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: `${url}/`,
})

/** Answers the exchange of the ID token, and then calls with the token for it. */
function answering(isLogin: (asked: Asked) => boolean, answer: (asked: Asked) => Said): (asked: Asked) => Said {
  return (asked) => {
    if (isLogin(asked)) return { body: { access_token: 'short-token', expires_in: 3600 } }
    return asked.headers.authorization === 'Bearer short-token' ? answer(asked) : { status: 401, body: {} }
  }
}

test.each(['login', 'read'])('the page of a proxy instead of the answer of the %s is a problem of the secret', async (step) => {
  const page = { body: '<html>Sign in</html>' }
  const isLogin = ({ path }: Asked): boolean => path.includes('token')
  await using cloud = await openFakeCloud(step === 'login' ? () => page : answering(isLogin, () => page))
  await expect(resolved(google(), googleEnv(cloud))).rejects.toThrow(
    /^The secret "DB" cannot be read\. (?:Google STS|Secret Manager) sent an answer that is not that of its API\.$/,
  )
})

test('a secret of Google Cloud is read with the ID token of the job, of a version and another project as well (G095)', async () => {
  const data = Buffer.from('p4ssw0rd ä').toString('base64')
  await using cloud = await openFakeCloud(
    answering(
      ({ path }) => path === `${VERSION}/token`,
      () => ({ body: { payload: { data } } }),
    ),
  )
  expect(await resolved(google(), googleEnv(cloud))).toEqual([
    { name: 'DB', value: 'p4ssw0rd ä', isFile: false, store: 'Google Cloud Secret Manager' },
  ])
  await resolved(google({ name: 'projects/other/secrets/db', version: 3 }), googleEnv(cloud))
  expect(cloud.calls()).toEqual([
    `POST ${VERSION}/token`,
    `GET ${VERSION}/projects/1234/secrets/production-db/versions/latest:access`,
    `POST ${VERSION}/token`,
    `GET ${VERSION}/projects/other/secrets/db/versions/3:access`,
  ])
  expect(Object.fromEntries(new URLSearchParams(cloud.asked[0]?.body))).toEqual({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    audience: '//iam.googleapis.com/projects/1234/locations/global/workloadIdentityPools/gitlab/providers/gitlab-jwt',
    scope: 'https://www.googleapis.com/auth/cloud-platform',
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    subject_token: JWT,
  })
})

const azure = (more: object = {}, server: object = {}): object => ({
  azure_key_vault: {
    name: '$STAGE-db',
    server: {
      client_id: 'client-1',
      tenant_id: 'tenant-1',
      jwt: '$CLOUD_ID_TOKEN',
      url: 'https://acme.vault.azure.net',
      ...server,
    },
    ...more,
  },
})

test('a secret of Azure is read with the ID token of the job, at an address that the manager lists (G095)', async () => {
  await using cloud = await openFakeCloud(
    answering(
      ({ path }) => path.endsWith('/token'),
      () => ({ body: { value: 'p4ssw0rd' } }),
    ),
  )
  const env = { AZURE_AUTHORITY_HOST: `${cloud.url}/`, WINDLASS_GITLAB_VAULT_URLS: cloud.url }
  expect(await resolved(azure({}, { url: cloud.url }), env)).toEqual([
    { name: 'DB', value: 'p4ssw0rd', isFile: false, store: 'Azure Key Vault' },
  ])
  await resolved(azure({ version: 'abc' }, { url: cloud.url }), env)
  expect(cloud.calls()).toEqual([
    'POST /tenant-1/oauth2/v2.0/token',
    'GET /secrets/production-db?api-version=7.4',
    'POST /tenant-1/oauth2/v2.0/token',
    'GET /secrets/production-db/abc?api-version=7.4',
  ])
  expect(Object.fromEntries(new URLSearchParams(cloud.asked[0]?.body))).toMatchObject({
    client_id: 'client-1',
    client_assertion: JWT,
    scope: 'https://vault.azure.net/.default',
  })
})

test('a secret that does not exist, or is refused, fails the job with its name and without the token', async () => {
  let said: Said = { status: 404, body: { error: { code: 404, message: 'Secret not found', status: 'NOT_FOUND' } } }
  await using cloud = await openFakeCloud(
    answering(
      ({ path }) => path.endsWith('/token'),
      () => said,
    ),
  )
  await expect(resolved(google(), googleEnv(cloud))).rejects.toThrow(
    'The secret "DB" does not exist in Google Cloud Secret Manager.',
  )
  const env = { AZURE_AUTHORITY_HOST: cloud.url, WINDLASS_GITLAB_VAULT_URLS: cloud.url }
  const ofAzure = azure({}, { url: cloud.url })
  said = { status: 404, body: { error: { code: 'SecretNotFound', message: 'A secret with this name was not found' } } }
  await expect(resolved(ofAzure, env)).rejects.toThrow('The secret "DB" does not exist in Azure Key Vault.')
  said = { status: 403, body: { error: { code: 'Forbidden', message: 'The caller may not read it' } } }
  const refused = await resolved(ofAzure, env).catch((error: unknown) => String(error))
  expect(refused).toContain('The secret "DB" cannot be read. Key Vault read: Forbidden: The caller may not read it')
  expect(refused).not.toContain(JWT)
  said = { status: 403, body: 'secret-of-another-server' }
  await expect(resolved(ofAzure, env)).rejects.toThrow(/^(?!.*another-server).*the answer has no message of Key Vault/)
})

test.each([
  [
    'another host',
    azure({}, { url: 'http://10.0.0.1' }),
    'The address of Key Vault, "http://10.0.0.1", is not allowed on this runner.',
  ],
  [
    'a host that only ends like one of Azure',
    azure({}, { url: 'https://a.test/x.vault.azure.net' }),
    'is not allowed on this runner.',
  ],
  ['a path that leaves its place', azure({ name: '..' }), 'The secret ".." is not valid.'],
  ['a tenant with a path', azure({}, { tenant_id: 'a/b' }), 'The tenant "a/b" is not valid.'],
  ['no ID token', azure({}, { jwt: '' }), 'The secret needs an ID token.'],
  ['no ID token for Google', { gcp_secret_manager: { name: 'db' } }, 'The secret needs an ID token.'],
  ['a name with a path', google({ name: 'a/../b' }), 'The secret "a/../b" is not valid.'],
])('a job with %s fails before any call', async (_, secret, says) => {
  await using cloud = await openFakeCloud(() => ({ status: 500, body: {} }))
  const env = { ...googleEnv(cloud), AZURE_AUTHORITY_HOST: cloud.url }
  await expect(resolved(secret, env)).rejects.toThrow(says)
  expect(cloud.asked).toEqual([])
})
