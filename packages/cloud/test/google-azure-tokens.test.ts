/** Golden requests for tokens of Google and Azure. */
import { createVerify, generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { openFakeCloud } from '../../../e2e/support/fake-cloud.ts'
import { azureAccess, googleAccess } from '../src/index.ts'

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
