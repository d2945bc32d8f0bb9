/** The pod of a job for the keys of the configuration. */
import { expect, test } from 'vitest'
import { readConfigText } from '../config/read.ts'
import { featureFlags } from '../job/feature-flags.ts'
import { Job } from '../job/payload.ts'
import { jobVariables } from '../job/variables.ts'
import { ConfigurationError } from './configuration-error.ts'
import { matchesGlob } from './globs.ts'
import { pullPolicies } from './images.ts'
import { labelValue, podName } from './names.ts'
import { overwrite } from './overwrites.ts'
import { parseQuantity } from './quantity.ts'
import { jobServices, serviceValues } from './job-services.ts'
import { renderPod } from './render.ts'
import { hostNamesOf, nameServices } from './services.ts'

interface Shown {
  readonly metadata: {
    readonly name: string
    readonly labels: Record<string, string>
    readonly annotations: Record<string, string>
  }
  readonly spec: Record<string, unknown> & {
    readonly containers: readonly Record<string, unknown>[]
    readonly volumes: readonly object[]
  }
}

/** Renders the pod of a job with lines of `[runners.kubernetes]`. */
function podOf(lines: string, job: object = {}): Shown {
  const text = `[[runners]]\nurl = "https://gitlab.test"\ntoken = "glrt-t1_AbCdEfGhIjKl"\nexecutor = "kubernetes"\n[runners.kubernetes]\nnamespace = "jobs"\n${lines}`
  const { config, findings } = readConfigText(text)
  expect(findings).toEqual([])
  const [runner] = config?.runners ?? []
  if (runner?.kubernetes === undefined) throw new Error('the configuration has no runner')
  const parsed = Job.parse({
    id: 7,
    token: 'glcbt-secret',
    job_info: {
      name: 'build',
      project_id: 5,
      project_name: 'My App',
      project_full_path: 'acme/tools/app',
      namespace_id: 3,
      root_namespace_id: 2,
    },
    git_info: { ref: 'main', sha: 'abc', before_sha: 'def' },
    runner_info: { timeout: 60 },
    image: { name: 'debian:13' },
    ...job,
  })
  const flags = featureFlags(runner, parsed)
  const variables = jobVariables({
    job: parsed,
    runner,
    image: parsed.image?.name,
    flags,
    version: '1.2.3',
    revision: 'abcd',
    tls: {},
    buildsFolder: '/builds',
    projectFolder: '/builds/acme/tools/app',
    concurrentId: 4,
    concurrentProjectId: 1,
  })
  const { section } = overwrite(
    runner.kubernetes,
    variables.valueOf,
    variables.list.map(({ key }) => key),
  )
  const pod: unknown = renderPod({
    job: parsed,
    section,
    variables,
    flags,
    identity: { token: runner.token ?? '', projectId: 5, concurrentProjectId: 1, unique: 'x1y2z3a4' },
    managerName: 'manager one',
    helperImage: 'windlass/gitlab-helper:1',
    pullPolicy: () => undefined,
    pullSecrets: [],
    jobSecret: 'job-secret',
    services: jobServices({ job: parsed, section, variables }),
    buildsFolder: '/builds',
    cacheFolder: '/cache',
  })
  return pod as Shown
}

const containerOf = (pod: Shown, name: string): Record<string, unknown> =>
  pod.spec.containers.find((one) => one['name'] === name) ?? {}

test('a job without settings has a build and a helper container, and no secret in its pod', () => {
  const pod = podOf('', {
    variables: [
      { key: 'SECRET', value: 'hunter2' },
      { key: 'SHOWN', value: 'yes', public: true },
    ],
  })
  expect(pod.metadata.name).toBe('runner-abcdefghi-project-5-concurrent-1-x1y2z3a4')
  expect(pod.spec).toMatchObject({ restartPolicy: 'Never', activeDeadlineSeconds: 960 })
  expect(pod.spec.containers.map(({ name }) => name)).toEqual(['build', 'helper'])
  expect(containerOf(pod, 'build')).toMatchObject({
    image: 'debian:13',
    env: expect.arrayContaining([{ name: 'SHOWN', value: 'yes' }]),
    securityContext: { capabilities: { drop: ['NET_RAW'] } },
  })
  expect(containerOf(pod, 'helper')['env']).toBeUndefined()
  for (const secret of ['hunter2', 'glcbt-secret', 'AbCdEfGhIjKl']) expect(JSON.stringify(pod)).not.toContain(secret)
})

test('labels and annotations say whose job it is', () => {
  const { metadata } = podOf('[runners.kubernetes.pod_labels]\nteam = "$CI_COMMIT_REF_NAME!"\n', {
    variables: [
      { key: 'CI_COMMIT_REF_NAME', value: 'feature/x' },
      { key: 'CI_JOB_URL', value: 'https://gitlab.test/-/jobs/7' },
    ],
  })
  expect(metadata.labels).toMatchObject({
    team: 'feature_x',
    pod: metadata.name,
    'project.runner.gitlab.com/id': '5',
    'project.runner.gitlab.com/name': 'My_App',
    'project.runner.gitlab.com/namespace': 'acme_tools',
    'project.runner.gitlab.com/root-namespace': 'acme',
    'manager.runner.gitlab.com/name': 'manager_one',
  })
  expect(metadata.annotations).toMatchObject({
    'job.runner.gitlab.com/url': 'https://gitlab.test/-/jobs/7',
    'job.runner.gitlab.com/timeout': '60s',
  })
  expect(() => podOf('[runners.kubernetes.pod_labels]\n"x.runner.gitlab.com/id" = "1"\n')).toThrow(ConfigurationError)
})

test('services share the address of the job under their names, and those of the configuration come first', () => {
  const pod = podOf('[[runners.kubernetes.services]]\nname = "redis:7"\nenvironment = ["A=1"]\n', {
    services: [
      {
        name: 'registry.test:5000/db/postgres:16',
        alias: 'db, main-db',
        command: ['-c'],
        entrypoint: ['run'],
        variables: [{ key: 'POSTGRES_DB', value: 'x' }],
      },
      { name: 'redis:6' },
    ],
  })
  expect(pod.spec.containers.map(({ name }) => name)).toEqual(['build', 'helper', 'svc-0', 'db', 'svc-2'])
  expect(containerOf(pod, 'db')).toMatchObject({
    command: ['run'],
    args: ['-c'],
    env: expect.arrayContaining([
      { name: 'POSTGRES_DB', valueFrom: { secretKeyRef: { name: 'job-secret', key: 'service-1-0' } } },
    ]),
  })
  expect(pod.spec['hostAliases']).toEqual([{ ip: '127.0.0.1', hostnames: ['redis', 'db-postgres', 'db', 'main-db'] }])
  expect(() => nameServices([{ name: 'a', alias: 'not_valid!' }])).toThrow('is not a valid host name')
  expect(hostNamesOf('docker:27-dind')).toEqual(['docker'])
  expect(hostNamesOf('tutum/wordpress@sha256:abc')).toEqual(['tutum-wordpress'])
})

test('own variables of services are values of the Secret of the job, not of the pod', () => {
  const lines = '[[runners.kubernetes.services]]\nname = "redis:7"\nenvironment = ["A=of-runner", "PORT=1"]\n'
  const services = [{ name: 'db', variables: [{ key: 'PASSWORD', value: 'hunter2' }] }, { name: 'web' }]
  const pod = podOf(lines, { services })
  for (const secret of ['hunter2', 'of-runner']) expect(JSON.stringify(pod)).not.toContain(secret)
  const section = readConfigText(
    `[[runners]]\nurl = "https://g"\ntoken = "t"\nexecutor = "kubernetes"\n[runners.kubernetes]\n${lines}`,
  )
  const named = jobServices({
    job: Job.parse({ id: 1, token: 't', services }),
    section: section.config?.runners[0]?.kubernetes ?? {},
    variables: { expand: (text) => text },
  })
  expect(serviceValues(named)).toEqual({ 'service-0-0': 'of-runner', 'service-0-1': '1', 'service-1-0': 'hunter2' })
  expect(containerOf(pod, 'svc-1')['env']).toContainEqual({
    name: 'PASSWORD',
    valueFrom: { secretKeyRef: { name: 'job-secret', key: 'service-1-0' } },
  })
})

test('Docker in Docker as the seed has it: privileged, and certificates in a volume of memory that all containers mount', () => {
  const pod = podOf(
    'privileged = true\n[[runners.kubernetes.volumes.empty_dir]]\nname = "docker-certs"\nmount_path = "/certs/client"\nmedium = "Memory"\n',
    { image: { name: 'docker:27' }, services: [{ name: 'docker:27-dind' }] },
  )
  for (const name of ['build', 'helper', 'svc-0'])
    expect(containerOf(pod, name)).toMatchObject({
      securityContext: { privileged: true },
      volumeMounts: expect.arrayContaining([{ name: 'docker-certs', mountPath: '/certs/client' }]),
    })
  expect(pod.spec.volumes).toContainEqual({ name: 'docker-certs', emptyDir: { medium: 'Memory' } })
})

test('every type of volume, and the sources on one of them', () => {
  const pod = podOf(`
[[runners.kubernetes.volumes.host_path]]
name = "h"
mount_path = "/h"
read_only = true
[[runners.kubernetes.volumes.pvc]]
name = "build-pvc-$CI_CONCURRENT_ID"
mount_path = "/builds"
[[runners.kubernetes.volumes.config_map]]
name = "c"
mount_path = "/c"
[runners.kubernetes.volumes.config_map.items]
"a.txt" = "b.txt"
[[runners.kubernetes.volumes.secret]]
name = "s"
mount_path = "/s"
sub_path = "x"
[[runners.kubernetes.volumes.csi]]
name = "d"
mount_path = "/d"
driver = "csi.test"
[[runners.kubernetes.volumes.nfs]]
name = "n"
mount_path = "/n"
server = "nfs.test"
path = "/export"
`)
  expect(pod.spec.volumes.slice(0, 6)).toEqual([
    { name: 'h', hostPath: { path: '/h' } },
    { name: 's', secret: { secretName: 's' } },
    { name: 'build-pvc-4', persistentVolumeClaim: { claimName: 'build-pvc-4' } },
    { name: 'c', configMap: { name: 'c', items: [{ key: 'a.txt', path: 'b.txt' }] } },
    { name: 'd', csi: { driver: 'csi.test' } },
    { name: 'n', nfs: { server: 'nfs.test', path: '/export' } },
  ])
  expect(JSON.stringify(pod.spec.volumes)).not.toContain('"repo"')
  expect(containerOf(pod, 'helper')['volumeMounts']).toContainEqual({ name: 's', mountPath: '/s', subPath: 'x' })
})

test('nodes, tolerations in their four forms, affinity, DNS and hooks', () => {
  const { spec } = podOf(`
dns_policy = "none"
scheduler_name = "own"
[runners.kubernetes.node_selector]
pool = "ci"
[runners.kubernetes.node_tolerations]
"a=b" = "NoSchedule"
"only-key" = "NoExecute"
"empty=" = "NoSchedule"
"" = ""
[runners.kubernetes.dns_config]
nameservers = ["192.0.2.1"]
[runners.kubernetes.container_lifecycle.post_start.exec]
command = ["touch", "/x"]
[[runners.kubernetes.host_aliases]]
ip = "192.0.2.9"
hostnames = ["own"]
[[runners.kubernetes.affinity.node_affinity.preferred_during_scheduling_ignored_during_execution]]
weight = 100
[[runners.kubernetes.affinity.node_affinity.preferred_during_scheduling_ignored_during_execution.preference.match_expressions]]
key = "cpu_speed"
operator = "In"
values = ["fast"]
`)
  expect(spec).toMatchObject({
    dnsPolicy: 'None',
    schedulerName: 'own',
    nodeSelector: { pool: 'ci' },
    tolerations: [
      { key: 'a', operator: 'Equal', value: 'b', effect: 'NoSchedule' },
      { key: 'only-key', operator: 'Exists', effect: 'NoExecute' },
      { key: 'empty', operator: 'Equal', value: '', effect: 'NoSchedule' },
      { operator: 'Exists' },
    ],
    dnsConfig: { nameservers: ['192.0.2.1'] },
    hostAliases: [{ ip: '192.0.2.9', hostnames: ['own'] }],
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 100, preference: { matchExpressions: [{ key: 'cpu_speed', operator: 'In', values: ['fast'] }] } },
        ],
      },
    },
  })
  expect(spec.containers[0]?.['lifecycle']).toEqual({ postStart: { exec: { command: ['touch', '/x'] } } })
})

test('users: the container before the pod before the job, and root only if it is listed', () => {
  const image = (user: string | number): object => ({ image: { name: 'a', executor_opts: { kubernetes: { user } } } })
  const userIn = (lines: string, user: string | number): unknown =>
    containerOf(podOf(lines, image(user)), 'build')['securityContext']
  expect(userIn('', '1000:1001')).toMatchObject({ runAsUser: 1000, runAsGroup: 1001 })
  expect(userIn('[runners.kubernetes.build_container_security_context]\nrun_as_user = 5\n', 1000)).toMatchObject({ runAsUser: 5 })
  expect(userIn('[runners.kubernetes.pod_security_context]\nrun_as_user = 6\n', 1000)).not.toHaveProperty('runAsUser')
  expect(userIn('allowed_users = ["0"]\n', '00')).toMatchObject({ runAsUser: 0 })
  for (const user of ['0', '00', '0:0', 'root', '1000:0']) expect(() => userIn('', user)).toThrow(ConfigurationError)
  expect(() => userIn('allowed_users = ["5"]\n', '6')).toThrow('The user 6 of the job is not in the list allowed_users')
})

test('capabilities: NET_RAW is dropped unless added, and what is dropped wins', () => {
  const capabilities = (lines: string): unknown =>
    (containerOf(podOf(lines), 'build')['securityContext'] as { capabilities: unknown }).capabilities
  expect(capabilities('')).toEqual({ drop: ['NET_RAW'] })
  expect(capabilities('cap_add = ["NET_RAW", "CAP_SYS_PTRACE"]\n')).toEqual({ add: ['NET_RAW', 'SYS_PTRACE'] })
  expect(capabilities('cap_add = ["CHOWN"]\ncap_drop = ["chown", "KILL"]\n')).toEqual({ drop: ['CHOWN', 'KILL', 'NET_RAW'] })
})

test('resources of each owner, and what a service changes for itself', () => {
  const pod = podOf(
    'cpu_limit = "2"\nhelper_memory_request = "64Mi"\nservice_cpu_limit = "1"\nservice_cpu_limit_overwrite_max_allowed = "4"\npod_cpu_request = "3"\n',
    {
      services: [{ name: 'a', variables: [{ key: 'KUBERNETES_SERVICE_CPU_LIMIT', value: '3500m' }] }, { name: 'b' }],
    },
  )
  expect(pod.spec['resources']).toEqual({ requests: { cpu: '3' } })
  expect(pod.spec.containers.map(({ resources }) => resources)).toEqual([
    { limits: { cpu: '2' } },
    { requests: { memory: '64Mi' } },
    { limits: { cpu: '3500m' } },
    { limits: { cpu: '1' } },
  ])
})

test.each([
  ['no guard', '', { KUBERNETES_CPU_LIMIT: '9' }, undefined],
  ['within the guard', 'cpu_limit_overwrite_max_allowed = "2"', { KUBERNETES_CPU_LIMIT: '1500m' }, '1500m'],
  ['equal to the guard', 'cpu_limit_overwrite_max_allowed = "2"', { KUBERNETES_CPU_LIMIT: '2000m' }, '2000m'],
])('a resource of the job with %s', (_, lines, values, expected) => {
  const pod = podOf(`${lines}\n`, { variables: Object.entries(values).map(([key, value]) => ({ key, value })) })
  expect(containerOf(pod, 'build')['resources']).toEqual(expected === undefined ? undefined : { limits: { cpu: expected } })
})

test.each([
  {
    what: 'a resource above its guard',
    lines: 'cpu_limit_overwrite_max_allowed = "2"',
    given: { key: 'KUBERNETES_CPU_LIMIT', value: '3' },
    message: 'is higher than the limit "2"',
  },
  {
    what: 'a resource that is none',
    lines: 'cpu_limit_overwrite_max_allowed = "2"',
    given: { key: 'KUBERNETES_CPU_LIMIT', value: 'many' },
    message: 'is not a quantity',
  },
  {
    what: 'a namespace that does not match',
    lines: 'namespace_overwrite_allowed = "^ci-.*$"',
    given: { key: 'KUBERNETES_NAMESPACE_OVERWRITE', value: 'prod' },
    message: 'The value "prod" of KUBERNETES_NAMESPACE_OVERWRITE does not match "^ci-.*$", which is namespace_overwrite_allowed',
  },
  {
    what: 'a node selector that does not match',
    lines: 'node_selector_overwrite_allowed = "^pool="',
    given: { key: 'KUBERNETES_NODE_SELECTOR_1', value: 'x=y' },
    message: 'of KUBERNETES_NODE_SELECTOR_1 does not match "^pool=", which is node_selector_overwrite_allowed',
  },
])('$what fails the job', ({ lines, given, message }) => {
  expect(() => podOf(`${lines}\n`, { variables: [given] })).toThrow(message)
})

test('allowed texts of the job are used, and said in its log', () => {
  const section = {
    namespace: 'jobs',
    namespace_overwrite_allowed: '^ci-',
    node_tolerations_overwrite_allowed: '.*',
    pod_labels_overwrite_allowed: '.*',
  }
  const values: Readonly<Record<string, string>> = {
    KUBERNETES_NAMESPACE_OVERWRITE: 'ci-7',
    KUBERNETES_SERVICE_ACCOUNT_OVERWRITE: 'ignored',
    KUBERNETES_NODE_TOLERATIONS_2: 'a=b:NoSchedule',
    KUBERNETES_NODE_TOLERATIONS_1: 'c:NoExecute',
    KUBERNETES_POD_LABELS_X: 'team=blue',
  }
  const { section: changed, notes } = overwrite(section, (name) => values[name], Object.keys(values))
  expect(changed).toMatchObject({
    namespace: 'ci-7',
    node_tolerations: { c: 'NoExecute', 'a=b': 'NoSchedule' },
    pod_labels: { team: 'blue' },
  })
  expect(changed.service_account).toBeUndefined()
  expect(notes).toContain('"Namespace" overwritten with "ci-7"')
})

test.each([
  ['ruby:*', 'ruby:3', true],
  ['ruby:*', 'ruby:3/x', false],
  ['my.registry.tld:5000/*:*', 'my.registry.tld:5000/app:1', true],
  ['my.registry.tld:5000/*:*', 'my.registry.tld:5000/a/b:1', false],
  ['my.registry.tld:5000/**', 'my.registry.tld:5000/a/b:1', true],
  ['{ruby,node}:[0-9]', 'node:8', true],
  ['node:[!0-9]', 'node:8', false],
  ['a.c', 'abc', false],
  ['[', '[', false],
])('the pattern %s matches %s: %s', (pattern, image, expected) => {
  expect(matchesGlob(pattern, image)).toBe(expected)
})

test('images that are not allowed fail the job with the list, and the default image always is', () => {
  const lines = 'image = "usual:1"\nallowed_images = ["ruby:*"]\nallowed_services = ["db:*"]\n'
  expect(containerOf(podOf(lines, { image: { name: '' } }), 'build')['image']).toBe('usual:1')
  expect(containerOf(podOf(lines, { image: { name: 'ruby:3' } }), 'build')['image']).toBe('ruby:3')
  expect(() => podOf(lines)).toThrow(
    'The image "debian:13" is not in the list of allowed images of this runner (allowed_images):\n- ruby:*',
  )
  expect(() => podOf(lines, { image: { name: 'ruby:3' }, services: [{ name: 'x' }] })).toThrow('allowed_services')
  expect(() => podOf('', { image: { name: '' } })).toThrow('The job names no image')
})

test('pull policies: those of the job within what is allowed', () => {
  expect(pullPolicies({}, [])).toEqual([undefined])
  expect(pullPolicies({ pull_policy: ['always', 'if-not-present'] }, [])).toEqual(['Always', 'IfNotPresent'])
  expect(pullPolicies({ pull_policy: 'always', allowed_pull_policies: ['always', 'never'] }, ['never'])).toEqual(['Never'])
  expect(() => pullPolicies({ pull_policy: 'always' }, ['never'])).toThrow('are not allowed. Allowed are: always')
  expect(() => pullPolicies({}, ['sometimes'])).toThrow('is not one of')
})

test('names fit, whatever the token', () => {
  const name = podName({
    token: `glrt-${'_'.repeat(9)}`,
    projectId: 123_456_789_012,
    concurrentProjectId: 99,
    unique: 'abcdefgh',
  })
  expect(name).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
  expect(labelValue('-.äöü x/y-')).toBe('x_y')
  expect(labelValue('a'.repeat(80))).toHaveLength(63)
})

test.each([
  ['500m', 0.5],
  ['1Gi', 1_073_741_824],
  ['1e3', 1_000],
  ['.5', 0.5],
  ['2 cores', undefined],
])('the quantity %s is %s', (text, value) => {
  expect(parseQuantity(text)).toBe(value)
})

test('a public variable that refers to a private one is not in the specification', () => {
  const pod = podOf('', {
    variables: [
      { key: 'PASSWORD', value: 'sesame', public: false },
      { key: 'ADDRESS', value: 'db://user:$PASSWORD@host', public: true },
      { key: 'PLAIN', value: 'seen', public: true },
    ],
    services: [{ name: 'db' }],
  })
  expect(JSON.stringify(pod)).not.toContain('sesame')
  expect(containerOf(pod, 'build')['env']).toContainEqual({ name: 'PLAIN', value: 'seen' })
})

test('a job sets a feature flag of its pod unless the configuration has it', () => {
  const job = {
    variables: [{ key: 'FF_KUBERNETES_HONOR_ENTRYPOINT', value: 'true' }],
    image: { name: 'a', entrypoint: ['/run'] },
  }
  expect(containerOf(podOf('', job), 'build')['command']).toEqual(['/run'])
  const configured = '[runners.feature_flags]\nFF_KUBERNETES_HONOR_ENTRYPOINT = false\n'
  expect(containerOf(podOf(configured, job), 'build')['args']).toBeUndefined()
})
