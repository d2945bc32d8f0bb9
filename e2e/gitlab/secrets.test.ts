/** Secrets of other stores in jobs on a real Kubernetes: Vault, AWS Secrets Manager as moto has it, and answers of Google Cloud and Azure. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLUSTER_HOST } from '../support/cluster.ts'
import { openFakeCloud } from '../support/fake-cloud.ts'
import { eventually } from '../support/installation.ts'
import { startMoto, type Moto } from '../support/moto.ts'
import { startFakeVault, type FakeVault } from './support/fake-vault.ts'
import { openRunnerScene, type Manager, type RunnerScene } from './support/runner-scene.ts'
import { traceLines } from './support/trace-lines.ts'

const JWT = 'header.id-token-of-the-job.signature'
const VALUE = 'p4ssw0rd-of-production'

let scene: RunnerScene
let moto: Moto
let vault: FakeVault
let first: Manager
const startManager = (): Promise<Manager> =>
  scene.startManager({ env: { AWS_ENDPOINT_URL_STS: moto.url, AWS_ENDPOINT_URL_SECRETS_MANAGER: moto.url } })
beforeAll(async () => {
  moto = await startMoto(CLUSTER_HOST)
  vault = await startFakeVault({
    host: CLUSTER_HOST,
    jwt: JWT,
    secrets: { 'ops/data/production/db': { password: VALUE, key: 'first line\nsecond line\n' } },
  })
  await fetch(moto.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': 'secretsmanager.CreateSecret',
      authorization:
        'AWS4-HMAC-SHA256 Credential=AKIA/20260101/eu-west-1/secretsmanager/aws4_request, SignedHeaders=host, Signature=0',
    },
    body: JSON.stringify({ Name: 'app/db', SecretString: '{"user": "shop", "password": "aws-p4ssw0rd"}' }),
  })
  scene = await openRunnerScene(`gitlab-secrets-${process.pid}`)
  first = await startManager()
})
afterAll(async () => {
  await scene?.close()
  await vault?.[Symbol.asyncDispose]()
  await moto?.[Symbol.asyncDispose]()
})

const variables = [
  { key: 'VAULT_ID_TOKEN', value: JWT, masked: true },
  { key: 'STAGE', value: 'production', public: true },
]

/** A secret of Vault as GitLab sends it. */
function ofVault(field: string, more: object = {}): object {
  const auth = { name: 'jwt', path: 'gitlab', data: { role: 'ci', jwt: '$VAULT_ID_TOKEN' } }
  const vaultSecret = {
    server: { url: vault.url, namespace: '', auth },
    engine: { name: 'kv-v2', path: 'ops' },
    path: '$STAGE/db',
    field,
  }
  return { vault: vaultSecret, ...more }
}

test('secrets of Vault and AWS are variables and files of a job, and masked in its trace (G095)', async () => {
  const role = { role_arn: 'arn:aws:iam::123456789012:role/ci', jwt: '$VAULT_ID_TOKEN', region: 'eu-west-1' }
  const job = scene.enqueue(
    [
      'echo "password: $DB_PASSWORD"',
      'test "$DB_PASSWORD" = "p4ssw0rd-of-"production',
      'test "$(cat "$DB_KEY")" = "$(printf "first line\\nsecond line")"',
      'test "$AWS_DB" = "aws-"p4ssw0rd && echo "from AWS: $AWS_DB"',
    ],
    {
      variables,
      secrets: {
        DB_PASSWORD: ofVault('password', { file: false }),
        DB_KEY: ofVault('key'),
        AWS_DB: { aws_secrets_manager: { secret_id: 'app/db', field: 'password', server: role }, file: false },
      },
    },
  )
  await scene.ended(job)
  expect(job.final, job.trace.toString()).toMatchObject({ state: 'success' })
  expect(traceLines(job)).toContain('password: [MASKED]')
  expect(traceLines(job)).toContain('from AWS: [MASKED]')
  expect(job.trace.toString()).toMatch(/section_start:\d+:resolve_secrets[^]*Resolving secrets/)
  expect(job.trace.toString()).toContain('Resolved the secret "AWS_DB" of AWS Secrets Manager')
  expect(job.trace.toString()).not.toContain(VALUE)
  expect(vault.live.size).toBe(0)
  await eventually('the pod is gone', async () => ((await scene.names('pods')).length === 0 ? true : undefined))
})

test.each([
  { what: 'a field that does not exist', secret: () => ofVault('none'), says: 'The secret "DB" does not exist in Vault.' },
  {
    what: 'another store',
    secret: () => ({ gitlab_secrets_manager: { path: 'db' } }),
    says: 'The secret "DB" is in a store that Windlass does not read (gitlab_secrets_manager).',
  },
])('a job with $what fails before it has a pod, and says so (G095)', async ({ secret, says }) => {
  const job = await scene.ended(scene.enqueue(['true'], { variables, secrets: { DB: secret() } }))
  expect(job.final, job.trace.toString()).toMatchObject({ state: 'failed', failureReason: 'runner_configuration_error' })
  expect(job.trace.toString()).toContain(says)
  expect(await scene.names('pods')).toEqual([])
})

test('a manager with a list of addresses of Vault calls no other one for a job (G106)', async () => {
  const only = await scene.startManager({ name: 'strict', words: ['--vault-url', 'https://vault.test'] })
  const before = vault.requests.length
  // The other manager of the scene has no list, and is stopped so that it gets no job.
  await first.service.stop('SIGTERM')
  const job = await scene.ended(scene.enqueue(['true'], { variables, secrets: { DB: ofVault('password') } }))
  expect(job.final, job.trace.toString()).toMatchObject({ state: 'failed', failureReason: 'runner_configuration_error' })
  expect(job.trace.toString()).toContain(
    'is not allowed on this runner. Set VAULT_SERVER_URL in the job to one of: https://vault.test.',
  )
  expect(vault.requests).toHaveLength(before)
  await only.service.stop('SIGTERM')
  first = await startManager()
})

test('secrets of Google Cloud and Azure are variables of a job, and masked in its trace (G095)', async () => {
  const data = Buffer.from('google-p4ssw0rd').toString('base64')
  await using cloud = await openFakeCloud(({ path }) => {
    if (path.endsWith('/token')) return { body: { access_token: 'short-token', expires_in: 3_600 } }
    return { body: path.startsWith('/secrets/') ? { value: 'azure-p4ssw0rd' } : { payload: { data } } }
  })
  await first.service.stop('SIGTERM')
  const manager = await scene.startManager({
    name: 'clouds',
    words: ['--vault-url', cloud.url],
    env: {
      AZURE_AUTHORITY_HOST: cloud.url,
      CLOUDSDK_API_ENDPOINT_OVERRIDES_STS: cloud.url,
      CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: cloud.url,
    },
  })
  const jwt = '$VAULT_ID_TOKEN'
  const pool = { workload_identity_federation_pool_id: 'gitlab', workload_identity_federation_provider_id: 'gitlab' }
  const secrets = {
    GOOGLE_DB: { gcp_secret_manager: { name: 'db', server: { project_number: '1', ...pool, jwt } }, file: false },
    AZURE_DB: { azure_key_vault: { name: 'db', server: { client_id: 'c', tenant_id: 't', jwt, url: cloud.url } } },
  }
  const script = ['test "$GOOGLE_DB" = "google-"p4ssw0rd', 'echo "from Azure: $(cat "$AZURE_DB")"']
  const job = await scene.ended(scene.enqueue(script, { variables, secrets }))
  expect(job.final, job.trace.toString()).toMatchObject({ state: 'success' })
  expect(traceLines(job)).toContain('from Azure: [MASKED]')
  expect(job.trace.toString()).toContain('Resolved the secret "GOOGLE_DB" of Google Cloud Secret Manager')
  await manager.service.stop('SIGTERM')
  first = await startManager()
})

test('a job whose Vault fails for long ends as a failure of another system (G095)', async () => {
  vault.next.push(...Array.from({ length: 5 }, () => 503))
  const job = await scene.ended(scene.enqueue(['true'], { variables, secrets: { DB: ofVault('password') } }))
  expect(job.final, job.trace.toString()).toMatchObject({
    state: 'failed',
    failureReason: 'runner_external_dependency_failure',
  })
  vault.next.push(503, 429)
  const again = await scene.ended(scene.enqueue(['true'], { variables, secrets: { DB: ofVault('password') } }))
  expect(again.final, again.trace.toString()).toMatchObject({ state: 'success' })
})
