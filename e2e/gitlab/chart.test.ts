/** The chart windlass-gitlab-runner: what it renders for values of gitlab/gitlab-runner, and its life on a real Kubernetes. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { readConfigText, readTemplate } from '../../packages/gitlab/src/index.ts'
import { openHelm, type Helm, type Rendered } from '../support/helm.ts'
import { ensureImages } from '../support/images.ts'
import { eventually } from '../support/installation.ts'
import { runProgram } from '../support/process.ts'
import { WINDLASS } from '../support/programs.ts'
import { one, pods, unrestricted } from '../runner/helm/render.ts'
import { TOKEN } from './support/coordinator-pair.ts'
import { openRunnerScene, type RunnerScene } from './support/runner-scene.ts'

const CHART = 'windlass-gitlab-runner'
const root = join(import.meta.dirname, '../..')

let scene: RunnerScene
let helm: Helm
let images: Record<string, string> = {}
beforeAll(async () => {
  images = await ensureImages('debian', 'gitlab-helper', 'windlass')
  scene = await openRunnerScene(`gitlab-chart-${process.pid}`)
  await scene.cluster.load(images['WINDLASS_IMAGE'] ?? '')
  helm = await openHelm(scene.cluster.kubeconfig)
})
afterAll(async () => {
  await helm?.close()
  await scene?.close()
})

const render = (...values: object[]): Promise<Rendered[]> =>
  helm.template(CHART, { gitlabUrl: 'https://gitlab.example.com' }, ...values)
const Data = z.object({ data: z.record(z.string(), z.string()) })
const templateOf = (objects: readonly Rendered[]): string =>
  Data.parse(one(objects, 'ConfigMap')).data['config.template.toml'] ?? ''

/** Values that were written for the original, in the shapes that are published. */
const PUBLISHED: readonly { readonly what: string; readonly values: string; readonly has: readonly string[] }[] = [
  {
    what: 'the image of jobs',
    values: 'runners:\n  config: |\n    [[runners]]\n      [runners.kubernetes]\n        image = "ubuntu:16.04"\n',
    has: ['image = "ubuntu:16.04"'],
  },
  {
    what: 'Docker in Docker with TLS',
    values:
      'runners:\n  config: |\n    [[runners]]\n      [runners.kubernetes]\n        image = "ubuntu:20.04"\n        privileged = true\n      [[runners.kubernetes.volumes.empty_dir]]\n        name = "docker-certs"\n        mount_path = "/certs/client"\n        medium = "Memory"\n',
    has: ['privileged = true', 'medium = "Memory"'],
  },
  {
    what: 'a namespace by an expression of Helm',
    values:
      'runners:\n  jobNamespace: jobs\n  config: |\n    [[runners]]\n      [runners.kubernetes]\n        namespace = "{{ default .Release.Namespace .Values.runners.jobNamespace }}"\n',
    has: ['namespace = "jobs"'],
  },
  {
    what: 'a service account that exists',
    values: 'rbac:\n  create: false\n  serviceAccountName: your-service-account\n',
    has: ['serviceAccountName: your-service-account'],
  },
  {
    what: 'pull secrets as plain names',
    values: 'imagePullSecrets: [your-image-pull-secret]\n',
    has: ['name: your-image-pull-secret'],
  },
  { what: 'pull secrets as objects', values: 'imagePullSecrets:\n  - name: other-secret\n', has: ['name: other-secret'] },
  {
    what: 'a certificate',
    values: 'certsSecretName: RELEASE-wildcard-tls-chain\n',
    has: ['secretName: RELEASE-wildcard-tls-chain'],
  },
  { what: 'tokens in a Secret', values: 'runners:\n  secret: gitlab-runner-secret\n', has: ['name: gitlab-runner-secret'] },
  {
    what: 'an image as a text',
    values: 'image: registry.gitlab.com/gitlab-org/ci-cd/gitlab-runner-ubi-images/gitlab-runner-ocp:v13.11.0\n',
    has: ['image: windlass/windlass:'],
  },
  {
    what: 'an image as an object',
    values: 'image:\n  registry: registry.gitlab.com\n  image: gitlab-org/gitlab-runner\n  tag: alpine-v17.0.0\n',
    has: ['image: windlass/windlass:'],
  },
  { what: 'another user', values: 'securityContext:\n  runAsNonRoot: true\n  runAsUser: 999\n', has: ['runAsUser: 999'] },
  {
    what: 'parallel jobs',
    values: 'concurrent: 25\ncheckInterval: 30\nlogLevel: debug\n',
    has: ['concurrent = 25', 'check_interval = 30', 'log_level = "debug"'],
  },
  {
    what: 'tags of older servers',
    values: 'runnerRegistrationToken: abc\nrunners:\n  tags: "a,b"\n  locked: false\n  runUntagged: true\n',
    has: ['RUNNER_TAG_LIST', 'REGISTER_LOCKED'],
  },
  {
    what: 'resources and nodes',
    values:
      'resources:\n  limits:\n    memory: 256Mi\nnodeSelector:\n  pool: ci\ntolerations:\n  - key: ci\n    operator: Exists\naffinity: {}\n',
    has: ['memory: 256Mi', 'pool: ci'],
  },
  {
    what: 'metrics with a service',
    values: 'metrics:\n  enabled: true\nservice:\n  enabled: true\n',
    has: ['kind: Service\n', 'prometheus.io/scrape'],
  },
  {
    what: 'an autoscaler',
    values:
      'hpa:\n  minReplicas: 1\n  maxReplicas: 5\n  metrics:\n    - type: Pods\n      pods:\n        metric: {name: gitlab_runner_jobs}\n        target: {type: AverageValue, averageValue: "5"}\n',
    has: ['kind: HorizontalPodAutoscaler', 'maxReplicas: 5'],
  },
  {
    what: 'rules of the values',
    values: 'rbac:\n  create: true\n  rules:\n    - resources: [configmaps]\n      verbs: [get]\n',
    has: ['configmaps'],
  },
  {
    what: 'rights in all namespaces',
    values: 'rbac:\n  create: true\n  clusterWideAccess: true\n',
    has: ['kind: ClusterRole\n', 'kind: ClusterRoleBinding'],
  },
  {
    what: 'annotations of the account',
    values: 'rbac:\n  create: true\nserviceAccount:\n  annotations:\n    eks.amazonaws.com/role-arn: arn:aws:iam::1:role/x\n',
    has: ['arn:aws:iam::1:role/x'],
  },
  { what: 'a script before the manager', values: 'preEntrypointScript: |\n  echo before\n', has: ['echo before'] },
  {
    what: 'environment and volumes',
    values:
      'envVars:\n  - name: A\n    value: b\nextraEnvFrom:\n  K:\n    secretKeyRef: {name: s, key: k}\nvolumes:\n  - name: v\n    emptyDir: {}\nvolumeMounts:\n  - name: v\n    mountPath: /v\n',
    has: ['name: A', 'mountPath: /v'],
  },
  {
    what: 'a cache in S3',
    values:
      'runners:\n  cache:\n    secretName: s3access\n  config: |\n    [[runners]]\n      [runners.cache]\n        Type = "s3"\n        [runners.cache.s3]\n          BucketName = "ci"\n',
    has: ['name: s3access', 'BucketName = "ci"', 'CACHE_S3_ACCESS_KEY="$(read_key accesskey)"'],
  },
  {
    what: 'a cache in Google Cloud Storage',
    values:
      'runners:\n  cache:\n    secretName: google-application-credentials\n  config: |\n    [[runners]]\n      [runners.cache]\n        Type = "gcs"\n        [runners.cache.gcs]\n          BucketName = "ci"\n',
    has: [
      'name: google-application-credentials',
      'Type = "gcs"',
      'CACHE_GCS_ACCESS_ID="$(read_key gcs-access-id)"',
      'GOOGLE_APPLICATION_CREDENTIALS="/secrets/$name"',
    ],
  },
  {
    what: 'a cache in Azure',
    values:
      'runners:\n  cache:\n    secretName: azureaccess\n  config: |\n    [[runners]]\n      [runners.cache]\n        Type = "azure"\n        [runners.cache.azure]\n          ContainerName = "ci"\n          StorageDomain = "blob.core.windows.net"\n',
    has: ['name: azureaccess', 'Type = "azure"', 'CACHE_AZURE_ACCOUNT_NAME="$(read_key azure-account-name)"'],
  },
  {
    what: 'probes',
    values:
      'probeTimeoutSeconds: 7\nlivenessProbe:\n  periodSeconds: 61\n  successThreshold: 1\n  failureThreshold: 5\n  terminationGracePeriodSeconds: 40\nreadinessProbe:\n  initialDelaySeconds: 11\n',
    has: [
      'path: /health/live',
      'timeoutSeconds: 7',
      'periodSeconds: 61',
      'terminationGracePeriodSeconds: 40',
      'initialDelaySeconds: 11',
    ],
  },
  {
    what: 'defaults of the original that are empty, and keys without an effect',
    values:
      'useTini: false\nreplicas: null\nlogFormat: text\nsentryDsn: https://key@sentry.test/1\nschedulerName: ""\nhpa: {}\nsessionServer:\n  enabled: false\n  ingress: {enabled: false}\nserviceAccount:\n  create: null\n  imagePullSecrets: []\nrbac:\n  create: false\n  podSecurityPolicy: {enabled: false}\nmetrics:\n  enabled: false\n  serviceMonitor: {enabled: false}\nsecrets: []\nconfigMaps: {}\ndeploymentLifecycle: {}\nconcurrent: "12"\n',
    has: ['concurrent = 12', 'log_format = "text"', 'replicas: 1'],
  },
  {
    what: 'terminals',
    values:
      'sessionServer:\n  enabled: true\n  annotations: {example.com/lb: internal}\n  timeout: 900\n  internalPort: 8093\n  externalPort: 9000\n  publicIP: 203.0.113.7\n  loadBalancerSourceRanges:\n    - 10.0.0.0/8\n',
    has: [
      'advertise_address = "203.0.113.7:9000"',
      'session_timeout = 900',
      'example.com/lb: internal',
      'loadBalancerSourceRanges:\n    - 10.0.0.0/8',
    ],
  },
  {
    what: 'labels of pods and other objects',
    values:
      'podLabels:\n  team: "{{ .Release.Name }}-ci"\nextraObjects:\n  - apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: "{{ .Release.Name }}-x"}\n',
    has: ['cf-runtime-ci', 'cf-runtime-x'],
  },
]

test.each(PUBLISHED)('values of the original are taken unchanged: $what (G087, G088, G098)', async ({ values, has }) => {
  const file = await helm.values(z.record(z.string(), z.unknown()).parse(parse(values)))
  const text = await helm.run(
    'template',
    'cf-runtime',
    join(root, 'charts', CHART),
    '--set',
    'gitlabUrl=https://gitlab.example.com',
    '--values',
    file,
  )
  for (const part of has) expect(text).toContain(part)
})

const GUIDE = readFileSync(join(root, 'docs/guides/gitlab-runner.md'), 'utf8')
const SNIPPETS = [...GUIDE.matchAll(/<!-- values: ([\w-]+) -->\n```yaml\n([\s\S]*?)```/g)].map(([, name = '', text = '']) => ({
  name,
  text,
}))

test.each(SNIPPETS)('the values "$name" of the guide render, and their configuration is valid (G088, G093)', async ({ text }) => {
  const objects = await render(z.record(z.string(), z.unknown()).parse(parse(text)))
  expect(readTemplate(templateOf(objects), 'config.template.toml')).toBeDefined()
  const { findings } = readConfigText(`concurrent = 1\n${templateOf(objects)}`)
  const told = findings.filter(({ key }) => !/\.(?:url|token|executor|namespace)$/.test(key))
  expect(told).toEqual([])
})

const PEM = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'

/** Runs the entrypoint of the container up to the registration, with these keys in the Secret. Returns the configuration of the manager. */
async function registered(values: object, secret: Readonly<Record<string, string>>): Promise<ReturnType<typeof readConfigText>> {
  const { data } = Data.parse(one(await render(values), 'ConfigMap'))
  const folder = mkdtempSync(join(tmpdir(), 'windlass-chart-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const write = (name: string, files: Readonly<Record<string, string>>, mode = 0o600): void => {
    mkdirSync(join(folder, name))
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, name, file), text, { mode })
  }
  // The folders of the container, and its program, of which only the registration runs.
  write('configmaps', data)
  write('secrets', secret)
  write('bin', { windlass: `#!/bin/sh\n[ "$2" = run ] || exec ${WINDLASS} "$@"\n` }, 0o755)
  const script = (data['entrypoint'] ?? '').replaceAll(/\/(?:secrets|configmaps)\b/g, (path) => folder + path)
  const file = join(folder, '.gitlab-runner/config.toml')
  const env = {
    HOME: folder,
    CONFIG_FILE: file,
    CI_SERVER_URL: scene.coordinator.url,
    PATH: `${folder}/bin:${process.env['PATH'] ?? ''}`,
  }
  await runProgram('/bin/sh', ['-c', script], { env: { ...process.env, ...env } })
  return readConfigText(readFileSync(file, 'utf8'))
}

test.each([
  {
    what: 'keys of S3',
    type: 's3',
    secret: { accesskey: 'AK\n', secretkey: 'SK\n' },
    keys: { AccessKey: 'AK', SecretKey: 'SK' },
  },
  {
    what: 'the ID and the key of an account of Google',
    type: 'gcs',
    secret: { 'gcs-access-id': 'ci@acme.test', 'gcs-private-key': PEM },
    keys: { AccessID: 'ci@acme.test', PrivateKey: PEM.trimEnd() },
  },
  {
    what: 'the contents of a key file of Google',
    type: 'gcs',
    secret: { 'gcs-application-credentials-file': '{}' },
    keys: { CredentialsFile: expect.stringMatching(/secrets\/gcs-application-credentials-file$/) },
  },
  {
    what: 'keys of Azure',
    type: 'azure',
    secret: { 'azure-account-name': 'acme', 'azure-account-key': 'a2V5' },
    keys: { AccountName: 'acme', AccountKey: 'a2V5' },
  },
])('$what in the Secret of a cache reach the configuration of the manager (G044, G088)', async ({ type, secret, keys }) => {
  const config = `[[runners]]\n  [runners.cache]\n    Type = "${type}"\n    [runners.cache.${type}]\n`
  const { config: written } = await registered({ runners: { config } }, { 'runner-token': TOKEN, ...secret })
  expect(written?.runners.map(({ cache }) => cache)).toEqual([{ Type: type, [type]: keys }])
})

test('a Secret without a token ends the container with the names of its keys', async () => {
  const values = { runners: { secret: 'gitlab-runner-secret' } }
  const message = 'The Secret gitlab-runner-secret has neither the key runner-token nor runner-registration-token.'
  await expect(registered(values, { token: TOKEN })).rejects.toThrow(message)
  await expect(registered(values, { 'runner-token': '', 'runner-registration-token': '' })).rejects.toThrow(message)
  const { config } = await registered(values, { 'runner-token': `${TOKEN}\n`, 'runner-registration-token': '' })
  expect(config?.runners).toMatchObject([{ token: TOKEN }])
})

test('the chart passes the linter, needs the URL of GitLab, and its pods are restricted (G091)', async () => {
  const values = await helm.values({ gitlabUrl: 'https://gitlab.example.com' })
  expect(await helm.run('lint', join(root, 'charts', CHART), '--strict', '--values', values)).toContain('0 chart(s) failed')
  await expect(helm.template(CHART)).rejects.toThrow('gitlabUrl is required')
  await expect(render({ runners: { executor: 'docker' } })).rejects.toThrow('runs jobs in pods only')
  const objects = await render({ rbac: { create: true } })
  for (const { name, spec } of pods(objects)) expect({ name, problems: unrestricted(spec) }).toEqual({ name, problems: [] })
  expect(templateOf(objects)).toContain('namespace = "codefresh"')
})

const Service = z.looseObject({
  spec: z.looseObject({
    type: z.string(),
    selector: z.record(z.string(), z.string()),
    ports: z.array(z.looseObject({ port: z.number() })),
  }),
})

test('terminals have a Service, and the manager tells its address to GitLab (G096)', async () => {
  const configOf = (objects: readonly Rendered[]): unknown =>
    readConfigText(
      `${Data.parse(one(objects, 'ConfigMap')).data['config.toml']}\n[[runners]]\nexecutor = "kubernetes"\nurl = "https://gitlab.test"\n`,
    ).config?.session_server
  const sessions = (serviceType: string, more: object = {}): Promise<Rendered[]> =>
    render({ sessionServer: { enabled: true, serviceType, ...more } })
  const inCluster = 'cf-runtime-gitlab-runner-session-server.codefresh.svc.cluster.local'
  const expected = [
    { type: 'ClusterIP', more: {}, address: `${inCluster}:9000`, port: { port: 9000, targetPort: 8093 } },
    { type: 'Headless', more: {}, address: `${inCluster}:8093`, port: { port: 8093, targetPort: 8093 } },
    { type: 'LoadBalancer', more: { publicIP: 'fd00::7' }, address: '[fd00::7]:9000', port: { port: 9000 } },
    {
      type: 'NodePort',
      more: { publicIP: 'node.test', nodePort: 30_123 },
      address: 'node.test:30123',
      port: { nodePort: 30_123 },
    },
  ]
  for (const { type, more, address, port } of expected) {
    const objects = await sessions(type, more)
    expect(configOf(objects)).toEqual({ listen_address: ':8093', advertise_address: address, session_timeout: 1_800 })
    const { spec } = Service.parse(one(objects, 'Service'))
    expect(spec).toMatchObject({ type: type === 'Headless' ? 'ClusterIP' : type, ports: [port] })
    const { template } = z
      .looseObject({
        spec: z.looseObject({
          template: z.looseObject({ metadata: z.looseObject({ labels: z.record(z.string(), z.string()) }) }),
        }),
      })
      .parse(one(objects, 'Deployment')).spec
    expect(template.metadata.labels).toMatchObject(spec.selector)
    expect(JSON.stringify(template)).toContain('{"name":"sessions","containerPort":8093}')
  }
  await expect(sessions('LoadBalancer')).rejects.toThrow('sessionServer.publicIP is required')
  await expect(sessions('NodePort', { publicIP: 'node.test' })).rejects.toThrow('sessionServer.nodePort is required')
  // GitLab would reach one of them, and not the one that runs the job.
  for (const several of [{ replicas: 2 }, { hpa: { maxReplicas: 2 } }]) {
    const text = JSON.stringify(await render(several, { sessionServer: { enabled: true } }))
    expect(text).not.toMatch(/session_server|session-server|"sessions"/)
  }
})

test('namespaces for jobs need rights in all namespaces, and the chart grants them only then (G077, G087)', async () => {
  const runners = { config: '[[runners]]\n  [runners.kubernetes]\n    namespace_per_job = true\n' }
  await expect(render({ rbac: { create: true }, runners })).rejects.toThrow('Set rbac.clusterWideAccess to true')
  const rulesOf = async (...values: object[]): Promise<string> =>
    JSON.stringify(one(await render({ rbac: { create: true, clusterWideAccess: true } }, ...values), 'ClusterRole'))
  expect(await rulesOf({ runners })).toContain('"namespaces"')
  expect(await rulesOf()).not.toContain('"namespaces"')
})

test('a manager with a Windlass server gets the key from a Secret, and its pod has neither the key nor another right (G104)', async () => {
  const controlPlane = { url: 'https://windlass.test', secretName: 'windlass-key', caSecretName: 'windlass-ca' }
  const objects = await render({ rbac: { create: true }, controlPlane })
  const text = JSON.stringify(one(objects, 'Deployment'))
  expect(text).toContain('{"name":"WINDLASS_GITLAB_SERVER_URL","value":"https://windlass.test"}')
  expect(text).toContain('{"name":"WINDLASS_GITLAB_SERVER_TOKEN_FILE","value":"/windlass-server/token"}')
  expect(text).toContain('{"name":"WINDLASS_GITLAB_SERVER_CA","value":"/windlass-server/ca.crt"}')
  expect(text).toContain('"mountPath":"/windlass-server"')
  expect(text).toContain('{"secret":{"name":"windlass-key","items":[{"key":"token","path":"token"}]}}')
  for (const { name, spec } of pods(objects)) expect({ name, problems: unrestricted(spec) }).toEqual({ name, problems: [] })
  const rolesOf = (all: readonly Rendered[]): Rendered[] => all.filter(({ kind }) => kind === 'Role')
  expect(rolesOf(objects)).toEqual(rolesOf(await render({ rbac: { create: true } })))
  const without = await render({ controlPlane: { ...controlPlane, caSecretName: '' } })
  expect(JSON.stringify(without)).not.toContain('ca.crt')
  expect(JSON.stringify(await render())).not.toContain('windlass-server')
  await expect(render({ controlPlane: { url: 'https://windlass.test' } })).rejects.toThrow('controlPlane.secretName is required')
})

test('a release retries its registration, runs jobs, and waits for them before it is removed (G089, G097, G002)', async () => {
  const { coordinator, namespace } = scene
  const [manager = '', helper = ''] = [images['WINDLASS_IMAGE'], images['GITLAB_HELPER_IMAGE']]
  coordinator.next('verify', { status: 500 })
  const values = await helm.values({
    gitlabUrl: coordinator.url,
    runnerToken: TOKEN,
    managerImage: manager,
    helperImage: helper,
    rbac: { create: true },
    runners: { config: `[[runners]]\n  [runners.kubernetes]\n    namespace = "${namespace}"\n    image = "${scene.image}"\n` },
  })
  await helm.run(
    'install',
    'gl',
    join(root, 'charts', CHART),
    '--namespace',
    namespace,
    '--values',
    values,
    '--wait',
    '--timeout',
    '300s',
  )
  const first = await scene.ended(scene.enqueue(['cat greeting.txt']))
  expect(first.final, first.trace.toString()).toMatchObject({ state: 'success' })

  const last = scene.enqueue(['echo started; sleep 6; echo slept'])
  await eventually('the job runs', async () => (last.trace.includes('started') ? true : undefined))
  await helm.run('uninstall', 'gl', '--namespace', namespace, '--timeout', '300s')
  await scene.ended(last)
  expect(last.final, last.trace.toString()).toMatchObject({ state: 'success' })
  await eventually('nothing is left', async () => {
    const left = await Promise.all(['pods', 'secrets', 'jobs', 'deployments', 'leases'].map((kind) => scene.names(kind)))
    return left.flat().length === 0 ? true : undefined
  })
  expect((await scene.names('roles')).join()).not.toContain('gl-gitlab-runner')
})
