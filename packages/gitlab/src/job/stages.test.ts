import { expect, test } from 'vitest'
import { featureFlags } from './feature-flags.ts'
import { Job } from './payload.ts'
import type { Stage, StagesOptions } from './stage.ts'
import { jobStages } from './stages.ts'
import type { Variables } from './variables.ts'

function variablesOf(values: Readonly<Record<string, string>>): Variables {
  const list = Object.entries(values).map(([key, value]) => ({
    key,
    value,
    isPublic: true,
    isInternal: false,
    isFile: false,
    isMasked: false,
    isRaw: true,
  }))
  return {
    list,
    masked: [],
    valueOf: (key) => values[key],
    expand: (text) => text.replaceAll(/\$(\w+)/g, (_, name: string) => values[name] ?? ''),
  }
}

function stagesOf(
  job: object,
  { values = {}, ...more }: Partial<StagesOptions> & { values?: Readonly<Record<string, string>> } = {},
): Stage[] {
  return jobStages({
    job: Job.parse({
      id: 7,
      token: 'glcbt-own',
      job_info: { name: 'build', project_full_path: 'acme/app' },
      git_info: { ref: 'main', sha: 'abc', depth: 20 },
      steps: [{ name: 'script', script: ['make'], when: 'on_success' }],
      ...job,
    }),
    variables: variablesOf(values),
    temporaryFolder: '/builds/acme/app.tmp',
    isTraced: false,
    sources: { userAgent: 'windlass', correlationId: undefined, caFile: undefined, cleansConfig: true, isSafeDirectory: true },
    repoUrl: 'https://gitlab-ci-token:x@gitlab.test/acme/app.git',
    projectFolder: '/builds/acme/app',
    cacheFolder: '/cache',
    serverUrl: 'https://gitlab.test',
    hooks: {},
    flags: featureFlags({}),
    ...more,
  })
}

const namesOf = (stages: readonly Stage[]): string[] => stages.map(({ name }) => name)
const scriptOf = (stages: readonly Stage[], name: string): string => stages.find((stage) => stage.name === name)?.script ?? ''

test('a job has the stages of the original in their order', () => {
  const stages = stagesOf({
    steps: [
      { name: 'script', script: ['make'], when: 'on_success' },
      { name: 'release', script: ['publish'], when: 'on_success' },
      { name: 'after_script', script: ['echo'], when: 'always', allow_failure: true },
    ],
    cache: [{ key: 'k', paths: ['node_modules'], policy: 'pull-push', when: 'always' }],
    artifacts: [{ paths: ['dist'], when: 'always' }],
    dependencies: [{ id: 3, token: 't', name: 'before', artifacts_file: { filename: 'artifacts.zip', size: 1 } }],
  })
  expect(namesOf(stages)).toEqual([
    'prepare_script',
    'get_sources',
    'restore_cache',
    'download_artifacts',
    'step_script',
    'step_release',
    'after_script',
    'archive_cache',
    'archive_cache_on_failure',
    'upload_artifacts_on_success',
    'upload_artifacts_on_failure',
    'cleanup_file_variables',
  ])
  expect(stages.filter(({ container }) => container === 'build').map(({ name }) => name)).toEqual([
    'step_script',
    'step_release',
    'after_script',
  ])
})

test('stages without work are left out', () => {
  const stages = stagesOf({
    cache: [{ key: 'k', paths: [] }],
    dependencies: [{ id: 3, token: 't', name: 'before' }],
    steps: [
      { name: 'script', script: ['make'], when: 'on_success' },
      { name: 'after_script', script: [], when: 'always' },
    ],
  })
  expect(namesOf(stages)).toEqual(['prepare_script', 'get_sources', 'step_script', 'cleanup_file_variables'])
})

test('a dependency without a file is skipped', () => {
  const file = { filename: 'artifacts.zip', size: 1 }
  const script = scriptOf(
    stagesOf({
      dependencies: [
        { id: 3, token: 'glcbt-three', name: 'one', artifacts_file: file },
        { id: 4, token: 'glcbt-four', name: 'two', artifacts_file: { filename: '', size: 0 } },
      ],
    }),
    'download_artifacts',
  )
  expect(script).toContain('artifacts-downloader --url https://gitlab.test --id 3')
  expect(script).not.toContain('--id 4')
  expect(script).not.toMatch(/--token/)
})

test('artifacts have the options of the job, with variables expanded', () => {
  const script = scriptOf(
    stagesOf(
      {
        artifacts: [
          { name: '$NAME-files', paths: ['dist', '$NAME/*'], exclude: ['**/*.o'], untracked: true, expire_in: '1 week' },
          { paths: ['junit.xml'], artifact_type: 'junit', artifact_format: 'gzip', when: 'always' },
          { paths: ['core'], when: 'on_failure' },
        ],
      },
      { values: { NAME: 'my app' } },
    ),
    'upload_artifacts_on_success',
  )
  expect(script).toContain(
    "--path dist --path 'my app/*' --exclude '**/*.o' --untracked --name 'my app-files' --expire-in '1 week'",
  )
  expect(script).toContain('--path junit.xml --artifact-format gzip --artifact-type junit')
  expect(script).not.toContain('--path core')
})

test('caches follow their policy, conditions and fallback keys', () => {
  const values = { POLICY: 'pull', CACHE_FALLBACK_KEY: 'last', CACHE_REQUEST_TIMEOUT: '3' }
  const stages = stagesOf(
    {
      cache: [
        { key: 'a', paths: ['one'], policy: '$POLICY', fallback_keys: ['b', '../c'] },
        { key: 'pushed', paths: ['two'], policy: 'push', when: 'on_failure' },
        { key: '', paths: [], untracked: true },
      ],
    },
    {
      values,
      cacheUrls: (key) => ({
        get: `https://s3/${key}?get`,
        put: `https://s3/${key}?put`,
        headers: ['A: b'],
      }),
    },
  )
  const restore = scriptOf(stages, 'restore_cache')
  const order = [
    'Checking cache for a...',
    'Checking cache for b...',
    'Checking cache for c...',
    'Checking cache for last...',
  ].map((text) => restore.indexOf(text))
  expect(order).toEqual(order.toSorted((a, b) => a - b))
  expect(Math.min(...order)).toBeGreaterThan(0)
  expect(restore).toContain('Not downloading cache pushed due to policy')
  expect(restore).toContain('Checking cache for build/main...')
  expect(restore).toContain("--file /cache/acme/app/a/cache.zip --timeout 3 --url 'https://s3/a?get'")
  const saved = scriptOf(stages, 'archive_cache')
  expect(saved).toContain(
    "cache-archiver --file /cache/acme/app/build/main/cache.zip --timeout 3 --untracked --url 'https://s3/build/main?put'",
  )
  expect(saved).toContain("--header 'A: b'")
  expect(saved).not.toContain('/cache/acme/app/a/')
  expect(scriptOf(stages, 'archive_cache_on_failure')).toContain('--path two')
})

test('the log says once why caches have no addresses', () => {
  const cache = [
    { key: 'a', paths: ['one'] },
    { key: 'b', paths: ['two'] },
  ]
  const restore = scriptOf(stagesOf({ cache }, { cacheProblem: "it's no answer" }), 'restore_cache')
  expect(restore.split('caches stay in the pod of this job: it')).toHaveLength(2)
})

test('a fallback key of a protected branch is refused', () => {
  const values = { CACHE_FALLBACK_KEY: 'main-protected' }
  const restore = scriptOf(stagesOf({ cache: [{ key: 'a', paths: ['one'] }] }, { values }), 'restore_cache')
  expect(restore).toContain('must not end with "-protected"')
  expect(restore).not.toContain('Checking cache for main-protected')
})

test('failures of the cache and of after_script do not fail the job, unless the job says so', () => {
  const steps = [
    { name: 'script', script: ['make'], when: 'on_success' },
    { name: 'after_script', script: ['false', 'echo'], when: 'always' },
  ]
  const stages = stagesOf({ steps, cache: [{ key: 'a', paths: ['one'] }] })
  expect(stages.filter(({ isFatal }) => !isFatal).map(({ name }) => name)).toEqual([
    'restore_cache',
    'after_script',
    'archive_cache',
    'cleanup_file_variables',
  ])
  expect(stages.find(({ name }) => name === 'after_script')).toMatchObject({ when: 'always', timeoutMs: 300_000 })
  const strict = stagesOf({ steps }, { values: { AFTER_SCRIPT_IGNORE_ERRORS: 'false' } })
  expect(strict.find(({ name }) => name === 'after_script')?.isFatal).toBe(true)
})

test('scripts of the configuration stand around those of the job', () => {
  const script = scriptOf(stagesOf({}, { hooks: { beforeBuild: 'echo before', afterBuild: 'echo after' } }), 'step_script')
  const order = ['echo before', 'make', 'echo after'].map((text) => script.indexOf(text))
  expect(order).toEqual(order.toSorted((a, b) => a - b))
})

test('tries are counted by the variables of their stages, at most ten', () => {
  const values = { GET_SOURCES_ATTEMPTS: '3', RESTORE_CACHE_ATTEMPTS: '99', ARTIFACT_DOWNLOAD_ATTEMPTS: 'x' }
  const job = {
    cache: [{ key: 'a', paths: ['one'] }],
    dependencies: [{ id: 3, token: 't', name: 'before', artifacts_file: { filename: 'a', size: 1 } }],
  }
  const attempts = Object.fromEntries(stagesOf(job, { values }).map((stage) => [stage.name, stage.attempts]))
  expect(attempts).toMatchObject({ get_sources: 3, restore_cache: 10, download_artifacts: 1, step_script: 1 })
})

test('the time for sources and that of an upload come from the configuration', () => {
  const job = { artifacts: [{ paths: ['dist'] }] }
  const limited = stagesOf(job, { sourcesMs: 90_000, uploadMs: 1_800_000 })
  expect(limited.find(({ name }) => name === 'get_sources')?.timeoutMs).toBe(90_000)
  expect(scriptOf(limited, 'upload_artifacts_on_success')).toContain('--id 7 --timeout 1800s --path dist')
  const unlimited = stagesOf(job, { sourcesMs: 0, uploadMs: -1 })
  expect(unlimited.find(({ name }) => name === 'get_sources')?.timeoutMs).toBeUndefined()
  expect(scriptOf(unlimited, 'upload_artifacts_on_success')).not.toContain('--timeout')
})
