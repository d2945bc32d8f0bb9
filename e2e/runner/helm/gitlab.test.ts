/** The chart of a Runner with GitLab jobs: what it renders and refuses, and which rights each container has. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { readTemplate } from '../../../packages/gitlab/src/index.ts'
import { type Helm, openHelm, type Rendered } from '../../support/helm.ts'
import { BASE, env, kinds, one, pod, pods, unrestricted, valuesOf, type PodSpec } from './render.ts'

const root = join(import.meta.dirname, '../../..')
const GITLAB = {
  enabled: true,
  gitlabUrl: 'https://gitlab.example.com',
  runners: { jobNamespace: 'gitlab-jobs', secret: 'gitlab-runner-secret' },
}

let helm: Helm
beforeAll(async () => {
  helm = await openHelm()
})
afterAll(() => helm?.close())

const render = (...values: object[]): Promise<Rendered[]> =>
  helm.template('windlass-runtime', BASE, { gitlab: GITLAB }, ...values)
const refusal = (...values: object[]): Promise<string> => render(...values).then(() => 'rendered', String)

/** Returns the container of a pod with this name. */
function container({ containers, initContainers }: PodSpec, name: string): PodSpec['containers'][number] {
  const found = [...containers, ...initContainers].find((each) => each.name === name)
  if (found === undefined) throw new Error(`the pod has no container ${name}`)
  return found
}

/** Returns the mounted volume at the place of the token of an account. */
function accessOf(spec: PodSpec, name: string): unknown {
  const mounts = z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).parse(container(spec, name)['volumeMounts'])
  const mount = mounts.find(({ mountPath }) => mountPath === '/var/run/secrets/kubernetes.io/serviceaccount')
  return spec.volumes.find((volume) => volume.name === mount?.name)
}

test('one Deployment has the agent and the manager, with one image, restricted, and probes of each (G107)', async () => {
  const objects = await render()
  const spec = pod(objects, 'Deployment', 'runner')
  expect(spec.containers.map(({ name }) => name)).toEqual(['runner', 'gitlab-runner'])
  const [agent, manager] = [container(spec, 'runner'), container(spec, 'gitlab-runner')]
  expect(manager.image).toBe(agent.image)
  expect(unrestricted(spec)).toEqual([])
  expect(spec).toMatchObject({ terminationGracePeriodSeconds: 3600, automountServiceAccountToken: false })
  // A container that hangs does not wait for the jobs of the other one.
  expect(agent).toMatchObject({ livenessProbe: { terminationGracePeriodSeconds: 60 } })
  expect(manager).toMatchObject({ livenessProbe: { httpGet: { path: '/health/live' }, terminationGracePeriodSeconds: 30 } })
  const { data } = z.object({ data: z.record(z.string(), z.string()) }).parse(one(objects, 'ConfigMap', '-gitlab-runner'))
  expect(readTemplate(data['config.template.toml'] ?? '', 'config.template.toml')).toBeDefined()
  expect(data['config.template.toml']).toContain('namespace = "gitlab-jobs"')
  expect(data['config.toml']).toContain('concurrent = 10')
})

test('each container has the token of its own account, and the accounts share no right (G107)', async () => {
  const objects = await render()
  const spec = pod(objects, 'Deployment', 'runner')
  const own = { projected: { sources: [{ serviceAccountToken: { path: 'token' } }, {}, {}] } }
  for (const name of ['runner', 'register']) expect(accessOf(spec, name)).toMatchObject(own)
  const secretName = 'cf-runtime-gitlab-runner-token'
  expect(accessOf(spec, 'gitlab-runner')).toMatchObject({ secret: { secretName } })
  expect(one(objects, 'Secret', secretName)).toMatchObject({
    type: 'kubernetes.io/service-account-token',
    metadata: { annotations: { 'kubernetes.io/service-account.name': 'cf-runtime-gitlab-runner' } },
  })
  const role = one(objects, 'Role', 'cf-runtime-gitlab-runner')
  expect(role.metadata['namespace']).toBe('gitlab-jobs')
  const ofPackage = z
    .object({ rules: z.array(z.looseObject({})) })
    .parse(parse(readFileSync(join(root, 'packages/gitlab/rbac/role.yaml'), 'utf8')))
  expect(role['rules']).toEqual(ofPackage.rules)
  expect(one(objects, 'RoleBinding', 'cf-runtime-gitlab-runner')).toMatchObject({
    metadata: { namespace: 'gitlab-jobs' },
    subjects: [{ name: 'cf-runtime-gitlab-runner', namespace: 'codefresh' }],
  })
  // The rights of the agent do not change.
  const without = await helm.template('windlass-runtime', BASE)
  for (const kind of ['Role', 'ClusterRole'])
    expect(
      objects.filter((each) => each.kind === kind && /-runner(?:-codefresh)?$/.test(each.metadata.name) && each !== role),
    ).toEqual(without.filter((each) => each.kind === kind && /-runner(?:-codefresh)?$/.test(each.metadata.name)))
})

test('the manager reports through the agent, and has neither its token nor a key (G107)', async () => {
  const spec = pod(await render(), 'Deployment', 'runner')
  const manager = container(spec, 'gitlab-runner')
  expect(env({ ...spec, containers: [container(spec, 'runner')] })).toMatchObject({ WINDLASS_AGENT_GITLAB_REPORTS_PORT: '8082' })
  expect(env({ ...spec, containers: [manager] })).toMatchObject({
    WINDLASS_GITLAB_SERVER_AGENT: 'http://127.0.0.1:8082',
    WINDLASS_GITLAB_HELPER_IMAGE: expect.stringMatching(/^windlass\/gitlab-helper:/),
  })
  expect(JSON.stringify(manager)).not.toMatch(/WINDLASS_AGENT_|cf-runtime-runner|user-token|"state"|runtimes/)
  expect(JSON.stringify(manager)).not.toContain('WINDLASS_GITLAB_SERVER_TOKEN')
  const silent = JSON.stringify(await render({ gitlab: { reports: { enabled: false } } }))
  expect(silent).not.toMatch(/WINDLASS_GITLAB_SERVER_AGENT|GITLAB_REPORTS_PORT/)
})

test('registry, proxy, certificates, pull secrets and monitoring of the release apply to the manager (G107)', async () => {
  const objects = await render(valuesOf('install-helm.md', 'registry'), valuesOf('install-helm.md', 'proxy'), {
    networkPolicy: { enabled: true, metricsFrom: [{ namespaceSelector: {} }] },
    podMonitor: { runner: { enabled: true } },
  })
  const spec = pod(objects, 'Deployment', 'runner')
  const manager = container(spec, 'gitlab-runner')
  expect(manager.image).toMatch(/^registry\.example\.com\/mirror\/windlass\/windlass:/)
  expect(env({ ...spec, containers: [manager] })).toMatchObject({
    HTTPS_PROXY: 'http://proxy.corp.example:3128',
    NODE_EXTRA_CA_CERTS: '/etc/windlass/ca/ca.crt',
    WINDLASS_GITLAB_HELPER_IMAGE: expect.stringMatching(/^registry\.example\.com\/mirror\/windlass\/gitlab-helper:/),
  })
  expect(JSON.stringify(manager)).toContain('/etc/windlass/ca')
  for (const { spec: each } of pods(objects)) expect(each['imagePullSecrets']).toEqual([{ name: 'registry-login' }])
  expect(JSON.stringify(one(objects, 'NetworkPolicy', '-others'))).toContain('"port":9252')
  expect(one(objects, 'PodMonitor', '-runner')).toMatchObject({
    spec: { podMetricsEndpoints: [{ portNumber: 8080 }, { portNumber: 9252 }] },
  })
})

test('values that would be unsafe or stop builds are refused, and values of the other chart are taken (G107)', async () => {
  const ours = { gitlab: { runners: { jobNamespace: 'codefresh' } } }
  expect(await refusal(ours)).toContain('must not be the namespace of the release')
  expect(await refusal({ gitlab: { runners: { jobNamespace: '' } } })).toContain('gitlab.runners.jobNamespace is required')
  expect(await refusal({ gitlab: { gitlabUrl: '' } })).toContain('gitlabUrl is required')
  expect(await refusal({ runner: { updateStrategy: { type: 'Recreate' } } })).toContain('requires runner.updateStrategy.type')
  expect(await refusal({ runner: { enabled: false } })).toContain('requires runner.enabled')
  expect(await refusal({ gitlab: { gitlabUrl: 'gitlab.example.com' } })).toContain('gitlabUrl')
  expect(await refusal({ gitlab: { reports: { prt: 1 } } })).toContain('prt')
  const guide = valuesOf('install-helm.md', 'gitlab')
  expect(kinds(await helm.template('windlass-runtime', BASE, guide))).toContain('Secret/cf-runtime-gitlab-runner-token')
  const moved = {
    concurrent: '25',
    logLevel: 'debug',
    replicas: 2,
    nodeSelector: { pool: 'ci' },
    envVars: [{ name: 'A', value: 'b' }],
  }
  const objects = await render({ gitlab: moved })
  expect(JSON.stringify(one(objects, 'ConfigMap', '-gitlab-runner'))).toContain('concurrent = 25')
  expect(JSON.stringify(one(objects, 'Deployment', 'runner'))).toContain('{"name":"A","value":"b"}')
  expect(pod(objects, 'Deployment', 'runner').nodeSelector).toEqual({})
  // A token in the values is in a Secret only.
  const inline = await render({ gitlab: { runnerToken: 'glrt-secret', runners: { secret: '' } } })
  expect(JSON.stringify(inline.filter(({ kind }) => kind !== 'Secret'))).not.toContain('glrt-secret')
  expect(one(inline, 'Secret', '-gitlab-runner')).toMatchObject({ stringData: { 'runner-token': 'glrt-secret' } })
})

test('without GitLab jobs nothing of them is rendered (G107)', async () => {
  const text = JSON.stringify(await helm.template('windlass-runtime', BASE))
  expect(text).not.toMatch(/gitlab/i)
})

test('GitLab reaches the terminals of jobs at the pod of the agent, also with network policies (G096, G107)', async () => {
  const sessionServer = { enabled: true, publicIP: 'runner.example.com' }
  const objects = await render({ gitlab: { sessionServer }, networkPolicy: { enabled: true } })
  const { data } = z.object({ data: z.record(z.string(), z.string()) }).parse(one(objects, 'ConfigMap', '-gitlab-runner'))
  expect(data['config.toml']).toContain('advertise_address = "runner.example.com:9000"')
  const { spec } = z
    .looseObject({ spec: z.looseObject({ selector: z.record(z.string(), z.string()) }) })
    .parse(one(objects, 'Service', '-session-server'))
  const { template } = z
    .looseObject({ spec: z.looseObject({ template: z.looseObject({ metadata: z.looseObject({ labels: z.looseObject({}) }) }) }) })
    .parse(one(objects, 'Deployment', 'runner')).spec
  expect(template.metadata.labels).toMatchObject(spec.selector)
  expect(spec).toMatchObject({ type: 'LoadBalancer', ports: [{ port: 9000, targetPort: 8093 }] })
  expect(container(pod(objects, 'Deployment', 'runner'), 'gitlab-runner')['ports']).toContainEqual({
    name: 'sessions',
    containerPort: 8093,
  })
  expect(JSON.stringify(one(objects, 'NetworkPolicy', '-others'))).toContain('"port":8093')
  expect(JSON.stringify(await render({ networkPolicy: { enabled: true } }))).not.toMatch(/session_server|"port":8093/)
})
