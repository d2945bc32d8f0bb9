import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { openCiFile } from '../ci-file/ci-file.ts'
import { buildSpec, helperSpec, serviceSpec } from './containers.ts'
import { planExec, type ExecPlan, type ExecPlanOptions } from './exec-plan.ts'
import { predefinedVariables, projectPath, slug } from './predefined.ts'

let root: string

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'windlass-exec-plan-'))
  return () => rmSync(root, { recursive: true, force: true })
})

function planOf(text: string, more: Partial<ExecPlanOptions> = {}): ExecPlan {
  writeFileSync(join(root, '.gitlab-ci.yml'), text)
  const { job } = openCiFile({ root, file: '.gitlab-ci.yml', valueOf: () => undefined }).job('job')
  return planExec({
    job,
    root,
    project: 'acme/app',
    ref: 'main',
    predefined: predefinedVariables({
      job,
      root,
      commit: undefined,
      remote: { owner: 'acme', name: 'app', host: 'https://gitlab.test' },
      configPath: '.gitlab-ci.yml',
      now: 0,
    }),
    given: [],
    defaultImage: 'usual',
    keepsArtifacts: true,
    version: '1',
    revision: 'r',
    ...more,
  })
}

const scriptOf = ({ program }: ExecPlan, name: string): string =>
  program.stages.find((stage) => stage.name === name)?.script ?? ''

test('the program has the stages of a pod, without those of a server', () => {
  const plan = planOf(
    'job: {script: [make], after_script: [clean], cache: {paths: [a]}, artifacts: {paths: [out], exclude: [out/x]}}',
  )
  expect(plan.program.stages.map(({ name }) => name)).toEqual([
    'prepare_script',
    'restore_cache',
    'step_script',
    'after_script',
    'archive_cache',
    'upload_artifacts_on_success',
    'cleanup_file_variables',
  ])
  expect(scriptOf(plan, 'upload_artifacts_on_success')).toContain(
    'artifacts-archiver --file /run/windlass/artifacts/0.zip --path out --exclude out/x\n',
  )
  expect(scriptOf(plan, 'archive_cache')).toContain('--file /cache/acme/app/default/cache.zip')
  expect(plan.program.timeoutMs).toBe(3_600_000)
  expect(planOf('job: {script: [make], artifacts: {paths: [out]}}', { keepsArtifacts: false }).archives).toBe(0)
})

test('variables of the command line win over those of the job, those over the file, and values are expanded', () => {
  const { variables, image } = planOf(
    'variables: {A: file, B: file, TAG: "$CI_PROJECT_NAME-$A"}\njob: {variables: {A: job, B: job}, image: "app:$TAG", script: [x]}',
    { given: [{ key: 'B', value: '$A', raw: true, public: true }] },
  )
  expect(['A', 'B', 'TAG', 'CI_JOB_NAME', 'CI_JOB_STAGE', 'CI_PROJECT_DIR'].map(variables.valueOf)).toEqual([
    'job',
    '$A',
    'app-job',
    'job',
    'test',
    '/builds/acme/app',
  ])
  expect(image).toBe('app:app-job')
})

test('the key of a cache of files follows their content, and files outside are refused', () => {
  const text = 'job: {script: [x], cache: {key: {files: [lock], prefix: p}, paths: [a]}}'
  const keyOf = (): string =>
    /cache-extractor --file \/cache\/acme\/app\/(\S+)\//.exec(scriptOf(planOf(text), 'restore_cache'))?.[1] ?? ''
  onTestFinished(() => rmSync(join(root, 'lock'), { force: true }))
  expect(keyOf()).toBe('p-default')
  writeFileSync(join(root, 'lock'), 'one')
  const first = keyOf()
  expect(first).toMatch(/^p-[0-9a-f]{64}$/)
  writeFileSync(join(root, 'lock'), 'two')
  expect(keyOf()).not.toBe(first)
  rmSync(join(root, 'lock'))
  symlinkSync('/etc/hostname', join(root, 'lock'))
  expect(keyOf).toThrow(/"lock", which leads out of the repository/)
})

test('containers share the network of the helper, and only public variables are part of them', () => {
  const plan = planOf(
    'job: {script: [x], image: {name: app, entrypoint: [/run.sh], docker: {user: "7"}}, services: [{name: acme/db:1, alias: db, command: [a], variables: {P: $CI_PROJECT_NAME}}]}',
    { given: [{ key: 'TOKEN', value: 'secret-value', public: false, masked: true, raw: true }] },
  )
  const scene = {
    plan,
    helperImage: 'helper',
    labels: { run: '1' },
    volumes: { builds: 'b', exchange: 'e', cache: 'c' },
    isPrivileged: false,
  }
  expect(helperSpec(scene)).toMatchObject({ network: 'bridge', hosts: { 'acme-db': '127.0.0.1', db: '127.0.0.1' }, stdin: true })
  const build = buildSpec(scene, 'h1')
  expect(build).toMatchObject({ image: 'app', entrypoint: ['/run.sh'], user: '7', network: 'container:h1', privileged: false })
  expect(build.command?.slice(0, 2)).toEqual(['sh', '-c'])
  const [service] = plan.services
  if (service === undefined) throw new Error('no service')
  const spec = serviceSpec(scene, service, 'h1')
  expect(spec).toMatchObject({ image: 'acme/db:1', command: ['a'], network: 'container:h1' })
  expect(spec.environment).toContain('P=app')
  for (const { environment } of [helperSpec(scene), build, spec]) expect(environment.join('\n')).not.toContain('secret-value')
  expect(scriptOf(plan, 'step_script')).toContain('export TOKEN=secret-value')
  expect(plan.variables.masked).toEqual(['secret-value'])
})

test('a job without an image uses the default one, and is an error without that', () => {
  expect(planOf('job: {script: [x]}').image).toBe('usual')
  expect(() => planOf('\njob: {script: [x]}', { defaultImage: undefined })).toThrow(
    /^\.gitlab-ci\.yml:2: the job "job" names no image$/,
  )
  expect(() => planOf('job: {script: [x], services: [{name: db, alias: "a_b"}]}')).toThrow(/alias "a_b"/)
})

test('the variables of a commit and a remote are those of GitLab, and what is not known is not set', () => {
  const commit = {
    root: '/src/app',
    sha: 'abcdef0123456789',
    branch: 'Feature/One_Two',
    tag: undefined,
    author: 'Ann <ann@example.com>',
    message: 'Title\n\nMore text',
    committedAt: '2026-01-01T00:00:00Z',
    defaultBranch: 'main',
    remoteUrl: undefined,
    user: { name: 'Ann', email: 'ann@example.com' },
  }
  const options = {
    job: { name: 'Job 1', stage: 'build' },
    root: '/src/app',
    configPath: '.gitlab-ci.yml',
    remote: { owner: 'group/sub', name: 'app', host: 'https://gitlab.test:8443' },
    now: 0,
  }
  const values = new Map(predefinedVariables({ ...options, commit }).map(({ key, value }) => [key, value]))
  expect(Object.fromEntries(values)).toMatchObject({
    CI: 'true',
    GITLAB_CI: 'true',
    CI_COMMIT_SHA: 'abcdef0123456789',
    CI_COMMIT_SHORT_SHA: 'abcdef01',
    CI_COMMIT_BRANCH: 'Feature/One_Two',
    CI_COMMIT_REF_SLUG: 'feature-one-two',
    CI_COMMIT_TITLE: 'Title',
    CI_COMMIT_DESCRIPTION: 'More text',
    CI_JOB_NAME: 'Job 1',
    CI_JOB_NAME_SLUG: 'job-1',
    CI_JOB_STARTED_AT: '1970-01-01T00:00:00Z',
    CI_PROJECT_PATH: 'group/sub/app',
    CI_PROJECT_ROOT_NAMESPACE: 'group',
    CI_SERVER_HOST: 'gitlab.test',
    CI_SERVER_PORT: '8443',
    CI_PROJECT_URL: 'https://gitlab.test:8443/group/sub/app',
    GITLAB_USER_LOGIN: 'ann',
  })
  expect(values.has('CI_COMMIT_TAG')).toBe(false)
  expect(values.has('CI_JOB_TOKEN')).toBe(false)
  const odd = predefinedVariables({ ...options, commit, remote: { owner: 'a', name: 'b', host: 'https://no host' } })
  expect(odd.find(({ key }) => key === 'CI_SERVER_URL')).toBeUndefined()
  const tagged = { ...commit, branch: undefined, tag: 'v1' }
  const ofTag = new Map(predefinedVariables({ ...options, commit: tagged }).map(({ key, value }) => [key, value]))
  expect([ofTag.get('CI_COMMIT_TAG'), ofTag.get('CI_COMMIT_REF_NAME'), ofTag.has('CI_COMMIT_BRANCH')]).toEqual([
    'v1',
    'v1',
    false,
  ])
})

test('the path of a project has only parts that a folder can have', () => {
  expect(projectPath({ root: '/src/my app', remote: undefined })).toBe('local/my-app')
  expect(projectPath({ root: '/', remote: { owner: '../..', name: '$(x)', host: undefined } })).toBe('--x-')
  expect(slug(`--${'Ä'.repeat(70)}x`)).toBe('')
})
