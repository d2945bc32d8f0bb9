/** Golden requests for tokens of Google and Azure. */
import { createSign, createVerify, generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { openFakeCloud } from '../../../e2e/support/fake-cloud.ts'
import { azureAccess, azureToken, googleAccess, googleSigner } from '../src/index.ts'

const signal = AbortSignal.timeout(60_000)
const AZURE = { subscriptionId: 'sub', resourceGroup: 'MC_g', location: 'westeurope', tenantId: 'tenant' }

async function file(name: string, text: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'cloud-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  await writeFile(join(dir, name), text)
  return join(dir, name)
}

test('exchanges the key of a Google service account for a token by a signed assertion', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  await using cloud = await openFakeCloud(() => ({ body: { access_token: 'token-1', expires_in: 3600 } }))
  const key = {
    type: 'service_account',
    project_id: 'acme',
    client_email: 'disks@acme.iam.gserviceaccount.com',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: `${cloud.url}/token`,
  }
  const env = { GOOGLE_APPLICATION_CREDENTIALS: await file('key.json', JSON.stringify(key)) }
  const ask = googleAccess({ env, clock: systemClock })
  expect(await ask(signal)).toEqual({ project: 'acme', token: 'token-1' })
  await ask(signal)
  expect(cloud.calls()).toEqual(['POST /token'])
  const form = new URLSearchParams(cloud.asked[0]?.body)
  const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.')
  expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer')
  expect(createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url')).toBe(true)
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
    iss: key.client_email,
    aud: key.token_uri,
    scope: 'https://www.googleapis.com/auth/compute',
  })
  const broken = googleAccess({
    env: { GOOGLE_APPLICATION_CREDENTIALS: await file('k.json', '{"private_key":"s3cret"}') },
    clock: systemClock,
  })
  await expect(broken(signal)).rejects.toThrow(/^(?!.*s3cret).*is not the key file/)
})

test('asks the metadata server without a key file, which is Workload Identity on GKE', async () => {
  await using cloud = await openFakeCloud(({ path }) =>
    path.endsWith('project-id') ? { body: 'acme' } : { body: { access_token: 'token-2', expires_in: 3600 } },
  )
  const access = googleAccess({ env: {}, clock: systemClock, metadataUrl: cloud.url })
  expect(await access(signal)).toEqual({ project: 'acme', token: 'token-2' })
  expect(cloud.asked.every(({ headers }) => headers['metadata-flavor'] === 'Google')).toBe(true)
})

test('uses the identity in azure.json: that of the node, or a service principal', async () => {
  await using cloud = await openFakeCloud(() => ({ body: { access_token: 'token-3', expires_in: '3600' } }))
  const ask = async (more: object): Promise<object> => {
    const env = { AZURE_CREDENTIAL_FILE: await file('azure.json', JSON.stringify({ ...AZURE, ...more })) }
    return azureAccess({ env, clock: systemClock, metadataUrl: cloud.url, loginUrl: cloud.url })(signal)
  }
  expect(await ask({ useManagedIdentityExtension: true, userAssignedIdentityID: 'id-1' })).toMatchObject({
    token: 'token-3',
    location: 'westeurope',
  })
  await ask({ aadClientId: 'app', aadClientSecret: 's' })
  expect(cloud.calls()).toEqual([
    'GET /metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fmanagement.azure.com%2F&client_id=id-1',
    'POST /tenant/oauth2/v2.0/token',
  ])
  expect(cloud.asked[0]?.headers.metadata).toBe('true')
})

test('signs for a Google account by its key file, else by the IAM Credentials API for the account of the metadata server', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const email = 'ci@acme.iam.gserviceaccount.com'
  await using cloud = await openFakeCloud(({ path, body, headers }) => {
    if (path.endsWith('/email')) return { body: `${email}\n` }
    if (path.endsWith('/token')) return { body: { access_token: 'token-4', expires_in: 3600 } }
    if (headers.authorization !== 'Bearer token-4') return { status: 401, body: { error: { code: 401, message: 'no token' } } }
    const { payload } = z.object({ payload: z.string() }).parse(JSON.parse(body))
    return {
      body: {
        keyId: 'k',
        signedBlob: createSign('RSA-SHA256').update(Buffer.from(payload, 'base64')).sign(privateKey, 'base64'),
      },
    }
  })
  const options = { clock: systemClock, metadataUrl: cloud.url, iamUrl: `${cloud.url}/iam` }
  const remote = await googleSigner({ ...options, env: {} }, signal)
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const keyFile = await file('key.json', JSON.stringify({ type: 'service_account', client_email: email, private_key: pem }))
  const own = await googleSigner({ ...options, env: { GOOGLE_APPLICATION_CREDENTIALS: '/missing' }, keyFile }, signal)
  for (const signer of [remote, own]) {
    expect(signer.email).toBe(email)
    expect(
      createVerify('RSA-SHA256')
        .update('text ä')
        .verify(publicKey, await signer.sign('text ä', signal)),
    ).toBe(true)
  }
  expect(cloud.calls()).toEqual([
    'GET /computeMetadata/v1/instance/service-accounts/default/email',
    'GET /computeMetadata/v1/instance/service-accounts/default/token',
    'POST /iam/projects/-/serviceAccounts/ci%40acme.iam.gserviceaccount.com:signBlob',
  ])
  const missing = googleSigner({ ...options, env: { GOOGLE_APPLICATION_CREDENTIALS: '/missing' } }, signal)
  await expect(missing).rejects.toThrow('The file /missing of GOOGLE_APPLICATION_CREDENTIALS cannot be read')
})

test('gets a token for an API of Azure by Workload Identity, else that of the managed identity', async () => {
  await using cloud = await openFakeCloud(() => ({ body: { access_token: 'token-5', expires_in: 3600 } }))
  const env = {
    AZURE_CLIENT_ID: 'client',
    AZURE_TENANT_ID: 'tenant',
    AZURE_AUTHORITY_HOST: `${cloud.url}/`,
    AZURE_FEDERATED_TOKEN_FILE: await file('token', 'assertion\n'),
  }
  const ask = (given: Record<string, string>): Promise<string> =>
    azureToken({ env: given, clock: systemClock, metadataUrl: cloud.url }, 'https://storage.azure.com/', signal)
  expect(await ask(env)).toBe('token-5')
  expect(await ask({ AZURE_CLIENT_ID: 'client' })).toBe('token-5')
  expect(cloud.calls()).toEqual([
    'POST /tenant/oauth2/v2.0/token',
    'GET /metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fstorage.azure.com%2F&client_id=client',
  ])
  expect(Object.fromEntries(new URLSearchParams(cloud.asked[0]?.body))).toEqual({
    grant_type: 'client_credentials',
    client_id: 'client',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: 'assertion',
    scope: 'https://storage.azure.com/.default',
  })
})
