/** Settings of a runtime environment, checked from inside its steps and from the cluster. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { startCollector } from '../../support/collector.ts'
import { eventually, type Installation, startInstallation } from '../../support/installation.ts'
import { runProgram } from '../../support/process.ts'
import { type Registry, startRegistry } from '../../support/registry.ts'
import { selfSigned } from '../../support/self-signed.ts'

const NAMESPACE = `runtime-${process.pid}`
/** A name of a context and a namespace, as clusters have them. */
const TEAM = `team/${NAMESPACE}`
const token = `token-${randomBytes(8).toString('hex')}`

/** Placement of the pods of builds; the agent allows only these. */
const TEAM_NODES = { 'kubernetes.io/os': 'linux' }
const TEAM_TOLERATION = { key: 'builds', operator: 'Exists' }
const DIND_TOLERATION = { key: 'codefresh/dind', operator: 'Exists', effect: 'NoSchedule' }

let installation: Installation
let images: string
let plain: Registry
let secure: Registry

beforeAll(async () => {
  installation = await startInstallation(NAMESPACE, {
    agentEnv: {
      WINDLASS_AGENT_ALLOWED_SECRETS: 'team-secret',
      WINDLASS_AGENT_ALLOWED_VOLUMES: 'projected',
      WINDLASS_AGENT_ALLOWED_LABELS: 'team',
      WINDLASS_AGENT_ALLOWED_ANNOTATIONS: 'sidecar.istio.io/inject',
      WINDLASS_AGENT_PLACEMENTS: JSON.stringify([
        {},
        { tolerations: [DIND_TOLERATION] },
        { nodeSelector: TEAM_NODES, tolerations: [TEAM_TOLERATION] },
        { nodeSelector: TEAM_NODES, tolerations: [DIND_TOLERATION] },
      ]),
    },
  })
  const { cluster } = installation
  const certificate = await selfSigned(cluster.host)
  // One store behind two registries: images pushed to the one on this machine are pulled from both.
  images = await mkdtemp(join(tmpdir(), 'windlass-images-'))
  plain = await startRegistry({ host: '0.0.0.0', folder: images })
  secure = await startRegistry({ host: cluster.host, tls: certificate, folder: images })
  for (const name of ['library/only-here:1', 'team/plain:1', 'team/secure:1']) await push(`127.0.0.1:${portOf(plain)}/${name}`)
  const metadata = (name: string): object => ({ name, namespace: NAMESPACE })
  const map = (name: string, data: object): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata(name), data })
  await cluster.apply(
    map('team-settings', { region: 'north', 'greeting.txt': 'hello from a config map' }),
    map('registry-ca', { 'ca.crt': certificate.cert }),
    map('codefresh-dind-config', { 'daemon.json': JSON.stringify(daemonSettings()) }),
    { apiVersion: 'v1', kind: 'Secret', metadata: metadata('team-secret'), stringData: { token } },
  )
  await installation.putRuntime(TEAM, teamRuntime())
})
afterAll(async () => {
  await plain?.close()
  await secure?.close()
  await rm(images, { recursive: true, force: true })
  await installation?.close()
})

function portOf({ domain }: Registry): string {
  return domain.slice(domain.lastIndexOf(':') + 1)
}

/** Returns the address of the plain registry for pods. */
function plainDomain(): string {
  return `${installation.cluster.host}:${portOf(plain)}`
}

async function push(name: string): Promise<void> {
  await runProgram('docker', ['tag', installation.images['TOOLS_IMAGE'] ?? '', name])
  await runProgram('docker', ['push', '--quiet', name])
  await runProgram('docker', ['image', 'rm', name])
}

function daemonSettings(): object {
  return {
    mtu: 1300,
    bip: '172.29.7.1/24',
    'registry-mirrors': [`http://${plainDomain()}`],
    'insecure-registries': [plainDomain()],
  }
}

/** Returns a runtime with many fields, as a team would write it. */
function teamRuntime(): object {
  const identity = {
    sources: [{ serviceAccountToken: { audience: 'sts.amazonaws.com', expirationSeconds: 3600, path: 'token' } }],
  }
  return {
    runtimeScheduler: {
      cluster: { namespace: NAMESPACE, nodeSelector: TEAM_NODES },
      tolerations: [TEAM_TOLERATION],
      labels: { team: 'north' },
      annotations: { 'sidecar.istio.io/inject': 'false' },
      userEnvVars: [
        { name: 'REGION', valueFrom: { configMapKeyRef: { name: 'team-settings', key: 'region' } } },
        { name: 'TEAM_TOKEN', valueFrom: { secretKeyRef: { name: 'team-secret', key: 'token' } } },
        { name: 'NODE_ADDRESS', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
        { name: 'PLAIN', value: 'as it is' },
      ],
      // Added by the identity webhook of a cloud to pods of an annotated service account.
      envVars: { AWS_ROLE_ARN: 'arn:aws:iam::1:role/builds', AWS_WEB_IDENTITY_TOKEN_FILE: '/var/run/identity/token' },
      volumes: { identity: { projected: identity } },
      volumeMounts: { identity: { mountPath: '/var/run/identity', readOnly: true } },
    },
    dockerDaemonScheduler: {
      labels: { team: 'north' },
      defaultDindResources: { requests: { cpu: '150m', memory: '300Mi' }, limits: '' },
      userVolumes: { greeting: { configMap: { name: 'team-settings' } }, keys: { secret: { secretName: 'team-secret' } } },
      userVolumeMounts: {
        greeting: { mountPath: '/etc/team', readOnly: true },
        keys: { mountPath: '/etc/team-keys', readOnly: true },
      },
      volumes: { 'registry-ca': { configMap: { name: 'registry-ca' } } },
      volumeMounts: {
        'registry-ca': { mountPath: `/etc/docker/certs.d/${secure.domain.replace(':', '_')}`, readOnly: true },
      },
      pvc: [{ name: 'dind', storageClassName: `dind-local-volumes-runner-${NAMESPACE}`, volumeSize: '16Gi' }],
    },
  }
}

/** Returns a pipeline with one step in an image, whose commands are lines. */
function step(name: string, image: string, commands: readonly string[]): string {
  return `  ${name}:\n    image: '${image}'\n    commands:\n${commands.map((command) => `      - ${JSON.stringify(command)}\n`).join('')}`
}

async function run(name: string, steps: string, ...options: string[]): Promise<{ code: number; log: string }> {
  const file = await installation.file(`${name}.yml`, `version: '1.0'\nsteps:\n${steps}`)
  const { code, stdout, stderr } = await installation.windlass('run', '-f', file, '--output', 'json', ...options)
  return { code, log: `${stderr}\n${stdout}\n${installation.agent.log().slice(-4000)}` }
}

const Pod = z.looseObject({
  metadata: z.looseObject({
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.looseObject({}),
})
const Claim = z.looseObject({ spec: z.looseObject({}) })

/** Returns the pods and the claim of a running build of the team. */
async function seen(): Promise<{ pods: z.infer<typeof Pod>[]; claims: z.infer<typeof Claim>[] }> {
  const selection = { namespace: NAMESPACE, labels: `windlass.io/runtime=${TEAM.replace('/', '-')}` }
  const { kube } = installation.cluster
  return eventually(
    'engine, daemon and claim are there',
    async () => {
      const pods = (await kube.list({ kind: 'Pod', ...selection })).map((pod) => Pod.parse(pod))
      const claims = (await kube.list({ kind: 'PersistentVolumeClaim', ...selection })).map((claim) => Claim.parse(claim))
      return pods.length === 2 && claims.length === 1 ? { pods, claims } : undefined
    },
    180_000,
  )
}

test('steps have everything that the runtime configures (R066, R064, R065, R074, R075, R078, R172, R173, R182, R190, R194, R195)', async () => {
  const inside = [
    'test "$REGION" = north && test "$PLAIN" = "as it is" && test -n "$NODE_ADDRESS"',
    `test "$TEAM_TOKEN" = ${token} && echo "the token is $TEAM_TOKEN"`,
    'cat /etc/team/greeting.txt',
    `test "$(cat /etc/team-keys/token)" = ${token}`,
    '! touch /etc/team/x',
    'test "$AWS_ROLE_ARN" = arn:aws:iam::1:role/builds',
    'test "$AWS_WEB_IDENTITY_TOKEN_FILE" = /codefresh/volume/sensitive/.kube/web_id_token',
    'test "$(cut -d. -f2 "$AWS_WEB_IDENTITY_TOKEN_FILE" | wc -c)" -gt 100 && echo "the identity is there"',
    'docker network inspect bridge --format "mtu={{index .Options \\"com.docker.network.driver.mtu\\"}} {{range .IPAM.Config}}{{.Subnet}}{{end}}"',
    'cat /sys/class/net/eth0/mtu',
  ]
  const steps =
    step('inside', 'only-here:1', inside) +
    step('insecure', `${plainDomain()}/team/plain:1`, ['echo "from an insecure registry"']) +
    step('certified', `${secure.domain}/team/secure:1`, ['echo "from a registry with a private CA"'])
  const running = run('inside', steps, '--runtime', TEAM, '--cpu', '200m', '--disk', '17Gi')
  running.catch(() => undefined)
  const { pods, claims } = await seen()
  const { code, log } = await running
  expect(code, log).toBe(0)
  expect(log).toContain('hello from a config map')
  expect(log).toContain('the identity is there')
  expect(log).toContain('mtu=1300 172.29.7.0/24')
  expect(log).toContain('from an insecure registry')
  expect(log).toContain('from a registry with a private CA')
  expect(log, 'secrets of the cluster are masked').not.toContain(token)

  const [engine, dind] = ['runtime', 'dind'].map((app) => pods.find(({ metadata }) => metadata.labels['app'] === app))
  expect(engine?.metadata).toMatchObject({ labels: { team: 'north' }, annotations: { 'sidecar.istio.io/inject': 'false' } })
  expect(engine?.spec).toMatchObject({
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: expect.arrayContaining([{ key: 'builds', operator: 'Exists' }]),
  })
  expect(dind?.metadata.annotations).toMatchObject({ 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' })
  expect(dind?.spec).toMatchObject({
    containers: [{ resources: { requests: { cpu: '200m', memory: '300Mi' }, limits: { cpu: '200m' } } }],
    tolerations: expect.arrayContaining([{ key: 'codefresh/dind', operator: 'Exists', effect: 'NoSchedule' }]),
  })
  expect(claims[0]?.spec).toMatchObject({ resources: { requests: { storage: '17Gi' } } })
  expect(JSON.stringify(pods), 'no secret is in a pod').not.toContain(token)
  await eventually(
    'no pod of the build is left',
    async () => {
      const left = await installation.names('Pod', 'app in (dind, runtime)')
      return left.length === 0 ? true : undefined
    },
    180_000,
  )
})

test('a runtime inherits from another one except for its own fields: without access its steps have no daemon (R179, R188)', async () => {
  await installation.putRuntime(`${TEAM}-closed`, { extends: [TEAM], dockerDaemonScheduler: { userAccess: false } })
  const commands = [
    'test ! -e /var/run/docker.sock',
    '! docker version',
    'test "$REGION" = north',
    'echo "closed, and still in the north"',
  ]
  const { code, log } = await run(
    'closed',
    step('closed', installation.images['TOOLS_IMAGE'] ?? '', commands),
    '--runtime',
    `${TEAM}-closed`,
  )
  expect(code, log).toBe(0)
  expect(log).toContain('closed, and still in the north')
})

test('a Secret that the owner of the cluster does not allow is refused with the setting that would allow it (R194)', async () => {
  const userEnvVars = [{ name: 'X', valueFrom: { secretKeyRef: { name: 'of-others', key: 'token' } } }]
  await installation.putRuntime(`${TEAM}-curious`, { extends: [TEAM], runtimeScheduler: { userEnvVars } })
  const { code, log } = await run('curious', step('never', 'only-here:1', ['echo never']), '--runtime', `${TEAM}-curious`)
  expect(code).toBe(1)
  expect(log).toContain('policy-refused')
  expect(log).toContain('WINDLASS_AGENT_ALLOWED_SECRETS')
})

test('a secret store in a Secret of the cluster is read there, only by builds of its runtime, and can be checked (R205, E31)', async () => {
  const context = {
    kind: 'context',
    metadata: { name: 'in-cluster' },
    spec: { type: 'secret-store', data: { runtime: TEAM, resourceName: 'team-secret' } },
  }
  const file = await installation.file('store.yml', JSON.stringify(context))
  const applied = await installation.windlass('apply', '-f', file)
  expect(applied.code, applied.stderr).toBe(0)
  const steps = step('read', installation.images['TOOLS_IMAGE'] ?? '', [`test "\${{secrets.in-cluster.token}}" = ${token}`])
  const { code, log } = await run('store', steps, '--runtime', TEAM)
  expect(code, log).toBe(0)
  const checked = await installation.windlass('check', 'context', 'in-cluster')
  expect([checked.code, checked.stdout], checked.stderr).toEqual([0, expect.stringContaining('has the Secret team-secret with')])
  const other = await run('store', steps, '--runtime', `${TEAM}-closed`)
  expect(other.code).toBe(1)
  expect(other.log).toContain('cannot find team-secret in the cluster')
})

const Address = z.object({ status: z.object({ podIP: z.string() }) })

test('a runtime sets how long a debugger holds a step, exposes its engines to Prometheus, and lets them push (R196, R248, R254)', async () => {
  await using collector = await startCollector('0.0.0.0')
  const envVars = {
    DEBUGGER_TIMEOUT: '0.25',
    METRICS_PROMETHEUS_ENABLED: 'true',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://${installation.cluster.host}:${collector.port}`,
  }
  await installation.putRuntime(`${TEAM}-seen`, { extends: [TEAM], runtimeScheduler: { envVars } })
  const tools = installation.images['TOOLS_IMAGE'] ?? ''
  const running = run('held', step('held', tools, ['echo never']), '--runtime', `${TEAM}-seen`, '--break', 'held:before')
  running.catch(() => undefined)
  const selector = `app=runtime,windlass.io/runtime=${TEAM.replace('/', '-')}-seen`
  const metrics = await eventually('the engine serves the metrics of its build', async () => {
    const [pod] = await installation.cluster.kube.list({ kind: 'Pod', namespace: NAMESPACE, labels: selector })
    const address = Address.safeParse(pod).data?.status.podIP
    const answer = address === undefined ? undefined : await fetch(`http://${address}:9464/metrics`).catch(() => undefined)
    const text = (await answer?.text()) ?? ''
    return text.includes('phase="') && text.includes('start_timestamp{') ? text : undefined
  })
  expect(metrics).toMatch(/codefresh_classic_build_info\{cf_classic_build_id="[0-9a-f]{24}",[^}]*attempt="1",phase="/)
  const { code, log } = await running
  expect(code, log).toBe(2)
  expect(log).toContain('debug-timeout')
  // The engine ends with a last push, after the command has seen the end of the build.
  const info = await eventually('the engine has pushed the end of its build', async () =>
    collector.taken
      .at(-1)
      ?.metrics.get('codefresh.classic.build.info')
      ?.points.find(({ attributes }) => attributes['phase'] === 'terminated'),
  )
  expect(info.attributes).toMatchObject({ 'cf.classic.build.id': /cf_classic_build_id="([0-9a-f]{24})"/.exec(metrics)?.[1] })
})

test('a displayed runtime can be applied again without a change, and a change creates a version (R175, R176, R203)', async () => {
  const { runtimes } = installation.client
  const before = await runtimes.get(TEAM)
  const { name, type, agent, isDefault, spec, version } = before
  const body = { name, type, agent, isDefault, spec }
  expect((await runtimes.put(TEAM, body)).version).toBe(version)
  const changed = await runtimes.put(TEAM, { ...body, spec: { ...spec, capacity: 3 } })
  expect(changed).toMatchObject({ version: version + 1, spec: { capacity: 3 } })
})
