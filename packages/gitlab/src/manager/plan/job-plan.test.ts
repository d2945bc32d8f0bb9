/** The plan of a job: what follows from its payload and the configuration before anything runs. */
import { expect, test } from 'vitest'
import { readConfigText } from '../../config/read.ts'
import { Job } from '../../job/payload.ts'
import { planJob, type JobPlan } from './job-plan.ts'
import type { JobPlanOptions } from './plan-options.ts'

/** Plans a job with lines of `[[runners]]`. */
function planOf(lines: string, job: object = {}, more: Partial<JobPlanOptions> = {}): JobPlan {
  const { config } = readConfigText(
    `[[runners]]\nname = "shop"\nurl = "https://gitlab.test"\ntoken = "glrt-t1_AbCdEfGhIjKl"\nexecutor = "kubernetes"\n${lines}`,
  )
  const [runner] = config?.runners ?? []
  if (runner === undefined) throw new Error('the configuration has no runner')
  return planJob({
    job: Job.parse({
      id: 7,
      token: 'glcbt-secret',
      job_info: { name: 'build', project_id: 5, project_full_path: 'acme/app' },
      git_info: { repo_url: 'https://gitlab-ci-token:x@gitlab.test/acme/app.git', ref: 'main', sha: 'abcdef' },
      runner_info: { timeout: 60 },
      steps: [{ name: 'script', script: ['make'], when: 'on_success' }],
      image: { name: 'debian:13' },
      features: { trace_sections: true },
      ...job,
    }),
    secrets: [],
    correlationId: 'c-1',
    runner,
    runnerKey: 'key',
    systemId: 'r_0123456789ab',
    managerName: 'manager',
    version: '1.2.3',
    revision: 'abcd',
    helperImage: 'windlass/gitlab-helper:1',
    namespace: 'of-manager',
    place: { concurrentId: 3, concurrentProjectId: 1 },
    unique: 'x1y2z3a4',
    tls: {},
    now: 0,
    ...more,
  })
}

const scriptOf = (plan: JobPlan, name: string): string =>
  plan.program(() => undefined).stages.find((stage) => stage.name === name)?.script ?? ''
const introOf = ({ record }: JobPlan): string => record.intro.map(({ text }) => text).join('')

test('a job has its namespace from the configuration, or that of the manager', () => {
  expect(planOf('[runners.kubernetes]\nnamespace = "jobs"\n')).toMatchObject({
    namespace: 'jobs',
    pod: 'runner-abcdefghi-project-5-concurrent-1-x1y2z3a4',
  })
  const plan = planOf('')
  expect(plan.namespace).toBe('of-manager')
  expect(plan.render(0, [])).toMatchObject({ metadata: { namespace: 'of-manager' } })
})

test('the record of a job with another namespace than its manager names it', () => {
  expect(planOf('').record).toMatchObject({ ownsNamespace: false })
  expect(planOf('').record).not.toHaveProperty('namespace')
  const variables = [{ key: 'KUBERNETES_NAMESPACE_OVERWRITE', value: 'team-a' }]
  const overwritten = planOf('[runners.kubernetes]\nnamespace_overwrite_allowed = "^team-"\n', { variables })
  expect(overwritten).toMatchObject({ namespace: 'team-a', record: { namespace: 'team-a', ownsNamespace: false } })
  const own = planOf('[runners.kubernetes]\nnamespace_per_job = true\nnamespace_overwrite_allowed = ".*"\n', { variables })
  expect(own).toMatchObject({ namespace: 'ci-job-7', record: { namespace: 'ci-job-7', ownsNamespace: true } })
  expect(introOf(own)).not.toContain('overwritten')
})

test('a job with terminals may wait for one: its helper, its record and the life of its pod know how long', () => {
  const flags = 'feature_flags = { FF_USE_POD_ACTIVE_DEADLINE_SECONDS = true }\n'
  const plan = planOf(flags, {}, { terminalS: 90 })
  expect(plan.program(() => undefined)).toMatchObject({ timeoutMs: 60_000, terminalMs: 90_000 })
  expect(plan.record).toMatchObject({ timeoutS: 60, terminalS: 90 })
  expect(plan.render(0, [])).toMatchObject({ spec: { activeDeadlineSeconds: 60 + 900 + 90 } })
  const without = planOf(flags)
  expect(without.program(() => undefined)).not.toHaveProperty('terminalMs')
  expect(without.record).not.toHaveProperty('terminalS')
  expect(without.render(0, [])).toMatchObject({ spec: { activeDeadlineSeconds: 60 + 900 } })
})

test('the first lines of a trace say who runs the job where, and which variables changed it', () => {
  const variables = [
    { key: 'KUBERNETES_CPU_LIMIT', value: '1' },
    { key: 'FF_HASH_CACHE_KEYS', value: 'true' },
    { key: 'FF_USE_FASTZIP', value: 'true' },
  ]
  const intro = introOf(planOf('[runners.kubernetes]\ncpu_limit_overwrite_max_allowed = "2"\n', { variables }))
  for (const line of [
    'Running with windlass 1.2.3 (abcd)\n  on shop AbCdEfGhI, system ID: r_0123456789ab\n',
    '  feature flags: FF_HASH_CACHE_KEYS:true\n',
    '  feature flags without an effect in Windlass: FF_USE_FASTZIP\n',
    '"CPULimit" overwritten with "1"\n',
    'Using Kubernetes namespace: of-manager\nUsing Kubernetes executor with image debian:13 ...\n',
  ])
    expect(intro).toContain(line)
  expect(intro).not.toContain('glcbt-secret')
})

test('each pull policy is a try, for its own container', () => {
  const plan = planOf('[runners.kubernetes]\npull_policy = ["always", "if-not-present"]\n', {
    image: { name: 'debian:13', pull_policy: ['if-not-present'] },
    services: [{ name: 'redis:7' }, { name: 'db:1', pull_policy: ['always'] }],
  })
  expect(plan.pullTries).toBe(2)
  const policiesOf = (pullTry: number): unknown => plan.render(pullTry, [])
  const containers = (...policies: string[]): object => ({
    spec: { containers: policies.map((imagePullPolicy) => expect.objectContaining({ imagePullPolicy })) },
  })
  expect(policiesOf(0)).toMatchObject(containers('IfNotPresent', 'Always', 'Always', 'Always'))
  expect(policiesOf(1)).toMatchObject(containers('IfNotPresent', 'IfNotPresent', 'IfNotPresent', 'Always'))
})

test('the caches of a job are known before its program, which gets their addresses', () => {
  const plan = planOf('', {
    cache: [
      { key: 'a', paths: ['one'], fallback_keys: ['b'] },
      { key: 'pushed', paths: ['two'], policy: 'push', fallback_keys: ['unused'] },
      { key: 'no-paths', paths: [] },
    ],
    variables: [{ key: 'CACHE_FALLBACK_KEY', value: 'last' }],
  })
  expect(plan.cacheKeys).toEqual(['a', 'b', 'last', 'pushed'])
  const asked: string[] = []
  const { stages } = plan.program((key) => {
    asked.push(key)
    return { get: `https://s3/${key}?get`, put: `https://s3/${key}?put`, headers: [] }
  })
  expect(new Set(asked)).toEqual(new Set(plan.cacheKeys))
  expect(stages.find(({ name }) => name === 'restore_cache')?.script).toContain('https://s3/last?get')
  expect(planOf('').cacheKeys).toEqual([])
})

test('variables of services are in the Secret of the job, and their ports in its program', () => {
  const plan = planOf('', {
    services: [
      {
        name: 'db:1',
        variables: [
          { key: 'PASSWORD', value: 'hunter2' },
          { key: 'HEALTHCHECK_TCP_PORT', value: '5432' },
        ],
      },
    ],
  })
  expect(plan.serviceValues).toEqual({ 'service-0-0': 'hunter2', 'service-0-1': '5432' })
  expect(plan.program(() => undefined).healthChecks).toEqual([{ service: 'db:1', port: 5432 }])
  expect(JSON.stringify(plan.render(0, []))).not.toContain('hunter2')
})

test('sources are cloned from clone_url, into a folder of their own on a shared volume', () => {
  const shared =
    'clone_url = "http://inside.test:8080/git/"\n[runners.kubernetes]\n[[runners.kubernetes.volumes.pvc]]\nname = "b"\nmount_path = "/builds"\n'
  const script = scriptOf(planOf(shared), 'get_sources')
  expect(script).toContain('http://inside.test:8080/git/acme/app.git')
  expect(script).toContain('/builds/AbCdEfGhI/1/acme/app')
  expect(scriptOf(planOf(''), 'get_sources')).toContain(
    'git init --quiet --template /builds/acme/app.tmp/git-template /builds/acme/app',
  )
})

test.each([
  ['GIT_CLONE_PATH outside of the builds folder', '', { variables: [{ key: 'GIT_CLONE_PATH', value: '/etc' }] }, 'is not within'],
  ['a way out of it', '', { variables: [{ key: 'GIT_CLONE_PATH', value: '$CI_BUILDS_DIR/../etc' }] }, 'has characters'],
  [
    'GIT_CLONE_PATH on a runner without it',
    '[runners.custom_build_dir]\nenabled = false\n',
    { variables: [{ key: 'GIT_CLONE_PATH', value: '/builds/x' }] },
    '[runners.custom_build_dir] is not enabled',
  ],
  ['CI steps', '', { run: '[]' }, 'use `script`'],
  [
    'a namespace that is not allowed',
    '[runners.kubernetes]\nnamespace_overwrite_allowed = "^ci-"\n',
    {
      variables: [{ key: 'KUBERNETES_NAMESPACE_OVERWRITE', value: 'prod' }],
    },
    'does not match',
  ],
])('a job with %s is refused', (_, lines, job, message) => {
  expect(() => planOf(lines, job)).toThrow(message)
})

test('a debug trace needs the permission of the runner', () => {
  const job = { variables: [{ key: 'CI_DEBUG_TRACE', value: 'true' }] }
  expect(planOf('', job).record.isDebug).toBe(true)
  expect(scriptOf(planOf('', job), 'step_script')).toContain('set -o xtrace')
  const disabled = planOf('debug_trace_disabled = true\n', job)
  expect(disabled.record.isDebug).toBe(false)
  expect(scriptOf(disabled, 'step_script')).not.toContain('set -o xtrace')
})
