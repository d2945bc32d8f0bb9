/** Deploy steps from the Docker of this machine to the real Kubernetes. */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runPipeline } from '../../packages/engine/test/support/run-pipeline.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { ensureImages } from '../support/images.ts'

const namespace = `deploy-${Date.now().toString(36)}`
let cluster: Cluster
let clusters: { context: string; kubeconfig: string }[]
let image: string

beforeAll(async () => {
  cluster = await startCluster()
  const { SHELL_IMAGE = '' } = await ensureImages('shell', 'tools', 'deploy')
  image = SHELL_IMAGE
  await cluster.load(image)
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  // Containers of the daemon reach the API server at the address of this machine.
  const kubeconfig = (await readFile(cluster.kubeconfig, 'utf8')).replace('127.0.0.1', cluster.host)
  clusters = [{ context: 'test', kubeconfig }]
})

afterAll(async () => {
  await cluster.kubectl('delete', 'namespace', namespace, '--wait=false')
})

const deployment = (name: string, more: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name, tier: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'web', image, imagePullPolicy: 'IfNotPresent', command: ['sleep', '1000'], ...more }],
      },
    },
  },
})
const service = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: `${name}-front`, namespace },
  spec: { selector: { app: name, tier: 'web' }, ports: [{ port: 80 }] },
})

const deploy = (fields: string): string => `
version: '1.0'
steps:
  write:
    image: $SHELL
    commands:
      - |
        cat > deployment.json <<'END'
        ${JSON.stringify(deployment('manifest', { image: '{{IMAGE}}', env: [{ name: 'KEPT', value: '{{NOBODY}}' }] }))}
        END
  it:
    type: deploy
    kind: kubernetes
    cluster: test
    namespace: ${namespace}
${fields
  .split('\n')
  .map((line) => `    ${line}`)
  .join('\n')}
`

test('renders and applies a manifest in a cluster without a Runner and waits for its rollout (P072, R004)', async () => {
  const result = await runPipeline(deploy('file_path: deployment.json\ntimeout: 180'), {
    input: { clusters },
    variables: { IMAGE: image },
  })
  expect(result.log('it')).toContain('successfully rolled out')
  expect(result.status('it')).toBe('success')
  const shown = await cluster.kubectl('get', 'deployment', 'manifest', '-n', namespace, '-o', 'json')
  expect(JSON.parse(shown)).toMatchObject({
    status: { readyReplicas: 1 },
    spec: { template: { spec: { containers: [{ image, env: [{ value: '{{NOBODY}}' }] }] } } },
  })
  // The step needed only the kubeconfig: neither an agent nor a pod of the build runs there.
  const pods = (await cluster.kubectl('get', 'pods', '-n', namespace, '-o', 'name')).trim().split('\n')
  expect(pods.filter((name) => !name.startsWith('pod/manifest-'))).toEqual([])
})

test('sets the candidate image and a pull secret on the deployment behind a Service (P072)', async () => {
  await cluster.apply(deployment('front'), service('front'))
  const [repository = ''] = image.split(':')
  const result = await runPipeline(
    deploy(`service: front-front\ntimeout: 180\ncandidate: { image: ${repository.split('/')[1] ?? ''}:1, registry: mine }`),
    {
      input: {
        clusters,
        registries: [
          { context: 'mine', isDefault: true, domain: repository.split('/')[0] ?? '', username: 'me', password: 'geheim-123' },
        ],
      },
    },
  )
  expect(result.log('it')).toContain('successfully rolled out')
  const { spec } = JSON.parse(await cluster.kubectl('get', 'deployment', 'front', '-n', namespace, '-o', 'json'))
  expect(spec.template.spec).toMatchObject({
    imagePullSecrets: [{ name: 'windlass-pull-mine' }],
    containers: [{ name: 'web', image }],
  })
  const secret = JSON.parse(await cluster.kubectl('get', 'secret', 'windlass-pull-mine', '-n', namespace, '-o', 'json'))
  expect(Buffer.from(secret.data['.dockerconfigjson'], 'base64').toString()).toContain(
    Buffer.from('me:geheim-123').toString('base64'),
  )
  expect(result.log('it')).not.toContain('geheim-123')
})

test('fails a step whose rollout does not end in time with the message of the cluster (P072)', async () => {
  const missing = 'missing.invalid/app:2'
  await cluster.apply(deployment('late', { image: missing }), service('late'))
  // The step waits six seconds. A busy kubelet may not have tried the image by then.
  const waiting = 'jsonpath={.items[*].status.containerStatuses[*].state.waiting.reason}'
  await expect
    .poll(() => cluster.kubectl('get', 'pods', '-n', namespace, '-l', 'app=late', '-o', waiting), { timeout: 180_000 })
    .toMatch(/ErrImagePull|ImagePullBackOff/)
  const result = await runPipeline(deploy(`service: late-front\ntimeout: 6\ncandidate: { image: ${missing}, registry: mine }`), {
    input: { clusters, registries: [{ context: 'mine', isDefault: true, domain: 'missing.invalid' }] },
  })
  expect(result.snapshot.steps['it']).toMatchObject({ status: 'error', reason: 'deploy-failed' })
  expect(result.snapshot.steps['it']?.message).toMatch(/not complete after 6 s\..*(ErrImagePull|ImagePullBackOff)/)
})

test('names a missing cluster or Service (P072)', async () => {
  const other = await runPipeline(deploy('service: nobody'), { input: { clusters: [] } })
  expect(other.snapshot.steps['it']).toMatchObject({ reason: 'integration-missing' })
  const missing = await runPipeline(deploy('service: nobody'), { input: { clusters } })
  expect(missing.snapshot.steps['it']?.message).toContain('services "nobody" not found')
  await cluster.apply({ ...service('nothing'), spec: { selector: { app: 'none' }, ports: [{ port: 80 }] } })
  const empty = await runPipeline(deploy('service: nothing-front'), { input: { clusters } })
  expect(empty.snapshot.steps['it']?.message).toContain('No Deployment creates pods with app=none')
})
