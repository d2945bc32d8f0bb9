/** The `gitlab` commands against the runner API of a fake GitLab. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadConfig } from '@windlass/gitlab'
import {
  startFakeCoordinator,
  type FakeCoordinator,
  type FakeCoordinatorOptions,
} from '../../../../e2e/gitlab/support/fake-coordinator.ts'
import { readSettings, takeGlobalOptions } from '../../src/config.ts'
import { runCommandLine } from '../../src/program.ts'
import { openPrinter } from '../../src/printer.ts'
import { Collected } from '../windlass.ts'

interface Scene {
  readonly fake: FakeCoordinator
  readonly folder: string
  readonly file: string
  run(words: readonly string[], env?: Readonly<Record<string, string>>): Promise<{ readonly code: number; readonly text: string }>
}

const TOKEN = 'glrt-t1_abcdefghijklmnop'

async function openScene(options: FakeCoordinatorOptions = {}): Promise<Scene> {
  const fake = await startFakeCoordinator(options)
  const folder = mkdtempSync(join(tmpdir(), 'windlass-gitlab-cli-'))
  const file = join(folder, 'config', 'config.toml')
  writeFileSync(join(folder, 'token'), `${TOKEN}\n`)
  onTestFinished(async () => {
    await fake.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    fake,
    folder,
    file,
    async run(words, env = {}) {
      const { argv, globals } = takeGlobalOptions(['gitlab', ...words])
      const settings = readSettings({ NO_COLOR: '1', HOME: folder, CONFIG_FILE: file, ...env }, globals)
      const [stdout, stderr] = [new Collected(), new Collected()]
      const code = await runCommandLine(argv, { settings, out: openPrinter(settings, { stdout, stderr }) })
      return { code, text: stdout.text() + stderr.text() }
    },
  }
}

const callsOf = ({ fake }: Scene): string[] =>
  fake.requests.map(({ method, path }) => `${method} ${path.replace(/^.*api\/v4\//, '')}`)

const register = (scene: Scene, ...more: string[]): ReturnType<Scene['run']> =>
  scene.run(['register', '--url', scene.fake.url, '--token-file', join(scene.folder, 'token'), '--name', 'shop', ...more])

test('an authentication token is only verified, and the settings of GitLab are refused with it (G002)', async () => {
  const scene = await openScene()
  const { code, text } = await register(scene, '--kubernetes-namespace', 'jobs', '--kubernetes-privileged', '--limit', '3')
  expect({ code, text }).toMatchObject({ code: 0 })
  expect(text).toContain('The runner "shop" (abcdefghi) is registered')
  expect(text).not.toContain(TOKEN)
  expect(callsOf(scene)).toEqual(['POST runners/verify'])
  expect(loadConfig(scene.file).config.runners).toMatchObject([
    {
      name: 'shop',
      token: TOKEN,
      executor: 'kubernetes',
      limit: 3,
      kubernetes: { namespace: 'jobs', privileged: true },
      token_obtained_at: expect.any(String),
    },
  ])
  const refused = await register(scene, '--tag-list', 'a,b', '--locked=false')
  expect(refused.code).toBe(2)
  expect(refused.text).toContain('is reserved: --locked, --tag-list cannot be used with a runner authentication token')
  expect(loadConfig(scene.file).config.runners).toHaveLength(1)
})

test('a registration token creates a runner with its settings, from flags, variables and a template (G001)', async () => {
  const scene = await openScene({ tokenExpiresAt: '2030-01-01T00:00:00.000Z' })
  const template = join(scene.folder, 'template.toml')
  writeFileSync(
    template,
    '[[runners]]\nlimit = 5\ntoken = "not-this"\n[runners.kubernetes]\nimage = "debian:13"\nnamespace = "t"\n',
  )
  const { code, text } = await scene.run(['register', '--non-interactive', '--tag-list', 'docker, linux'], {
    CI_SERVER_URL: scene.fake.url,
    REGISTRATION_TOKEN: 'registration-secret',
    RUNNER_NAME: 'from-env',
    REGISTER_MAXIMUM_TIMEOUT: '600',
    TEMPLATE_CONFIG_FILE: template,
    KUBERNETES_NAMESPACE: 'jobs',
    KUBERNETES_CPU_LIMIT: '2',
  })
  expect({ code, text }).toMatchObject({ code: 0 })
  expect(scene.fake.of('register')[0]?.json).toMatchObject({
    token: 'registration-secret',
    description: 'from-env',
    tag_list: 'docker,linux',
    run_untagged: false,
    maximum_timeout: 600,
  })
  const [runner] = loadConfig(scene.file).config.runners
  expect(runner).toMatchObject({
    name: 'from-env',
    id: expect.any(Number),
    limit: 5,
    token_expires_at: '2030-01-01T00:00:00.000Z',
    kubernetes: { image: 'debian:13', namespace: 'jobs', cpu_limit: '2' },
  })
  expect(runner?.token).not.toMatch(/registration-secret|not-this/)
  expect(readFileSync(scene.file, 'utf8')).not.toContain('registration-secret')
})

test('the variables of a cache become keys of the runner, beside those of its template (G044)', async () => {
  const scene = await openScene()
  const template = join(scene.folder, 'template.toml')
  writeFileSync(
    template,
    '[[runners]]\n[runners.cache]\nType = "gcs"\n[runners.cache.gcs]\nBucketName = "ci"\nAccessID = "from-template"\n',
  )
  const key = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'
  const registered = (env: Readonly<Record<string, string>>): ReturnType<Scene['run']> =>
    scene.run(['register', '--non-interactive', '--url', scene.fake.url, '--token-file', join(scene.folder, 'token')], env)
  const first = await registered({
    TEMPLATE_CONFIG_FILE: template,
    CACHE_GCS_ACCESS_ID: 'ci@acme.iam.gserviceaccount.com',
    CACHE_GCS_PRIVATE_KEY: key,
  })
  expect(first).toMatchObject({ code: 0 })
  expect(first.text).not.toContain('AAAA')
  const second = await registered({
    CACHE_TYPE: 's3',
    CACHE_SHARED: 'true',
    CACHE_MAXIMUM_UPLOADED_ARCHIVE_SIZE: '5000',
    CACHE_S3_ACCESS_KEY: 'AK',
    CACHE_S3_SECRET_KEY: 'SK',
    CACHE_S3_BUCKET_NAME: 'ci',
    CACHE_S3_BUCKET_LOCATION: '',
    CACHE_S3_ROLE_ARN: 'arn:aws:iam::1:role/ci',
    CACHE_AZURE_ACCOUNT_KEY: 'a2V5',
  })
  expect(second).toMatchObject({ code: 0 })
  expect(loadConfig(scene.file).config.runners.map(({ cache }) => cache)).toEqual([
    { Type: 'gcs', gcs: { BucketName: 'ci', AccessID: 'ci@acme.iam.gserviceaccount.com', PrivateKey: key } },
    {
      Type: 's3',
      Shared: true,
      MaxUploadedArchiveSize: 5_000,
      s3: { AccessKey: 'AK', SecretKey: 'SK', BucketName: 'ci', RoleARN: 'arn:aws:iam::1:role/ci' },
      azure: { AccountKey: 'a2V5' },
    },
  ])
  expect(await registered({ CACHE_MAXIMUM_UPLOADED_ARCHIVE_SIZE: 'much' })).toMatchObject({
    code: 2,
    text: expect.stringContaining('CACHE_MAXIMUM_UPLOADED_ARCHIVE_SIZE must be a whole number'),
  })
})

test('a registration is undone if the file cannot take it', async () => {
  const scene = await openScene()
  const { code, text } = await scene.run([
    'register',
    '--url',
    scene.fake.url,
    '--registration-token',
    'r',
    '--kubernetes-cpu-limit',
    'two',
  ])
  expect(code).toBe(2)
  expect(text).toContain('would not be valid with this runner')
  expect(callsOf(scene)).toEqual(['POST runners', 'DELETE runners'])
  const kept = await openScene()
  await kept.run([
    'register',
    '--url',
    kept.fake.url,
    '--registration-token',
    'r',
    '--kubernetes-cpu-limit',
    'two',
    '--leave-runner',
  ])
  expect(callsOf(kept)).toEqual(['POST runners'])
})

test('another executor is refused', async () => {
  const scene = await openScene()
  const { code, text } = await scene.run(['register', '--non-interactive'], {
    RUNNER_EXECUTOR: 'shell',
    CI_SERVER_URL: scene.fake.url,
  })
  expect(code).toBe(2)
  expect(text).toContain('Windlass has only the executor kubernetes')
})

test('without a token or with a refused one nothing is written', async () => {
  const scene = await openScene()
  expect(await scene.run(['register', '--url', scene.fake.url, '--non-interactive'])).toMatchObject({
    code: 2,
    text: expect.stringContaining('The token is missing.'),
  })
  scene.fake.revoke(TOKEN)
  const refused = await register(scene)
  expect(refused.code).toBe(1)
  expect(refused.text).toContain('GitLab did not verify the runner')
  expect(await scene.run(['list'])).toMatchObject({ code: 3 })
})

test('unregister removes only this manager of a runner with an authentication token, and an old runner as a whole (G004)', async () => {
  const scene = await openScene()
  await register(scene)
  await scene.run(['register', '--url', scene.fake.url, '--registration-token', 'r', '--name', 'old'])
  expect(await scene.run(['unregister'])).toMatchObject({ code: 2, text: expect.stringContaining('--all-runners') })
  expect(await scene.run(['unregister', '--name', 'none'])).toMatchObject({ code: 3 })
  const { code, text } = await scene.run(['unregister', '--all-runners'])
  expect({ code, text }).toMatchObject({ code: 0 })
  expect(scene.fake.of('unregister-manager')).toHaveLength(1)
  expect(scene.fake.of('unregister')).toHaveLength(1)
  const systemId = readFileSync(join(scene.folder, 'config', '.runner_system_id'), 'utf8').trim()
  expect(scene.fake.of('verify')[0]?.json).toMatchObject({ system_id: systemId })
  expect(scene.fake.of('unregister-manager')[0]?.json).toMatchObject({ token: TOKEN, system_id: systemId })
  expect(loadConfig(scene.file).config.runners).toEqual([])
})

test('verify has the words that probes look for, and removes only runners that are surely gone', async () => {
  const scene = await openScene()
  await register(scene)
  expect(await scene.run(['verify'])).toEqual({ code: 0, text: 'The runner "shop" (abcdefghi) is valid.\n' })
  scene.fake.next('verify', { status: 500 }, { status: 500 }, { status: 500 }, { status: 500 }, { status: 500 })
  expect(await scene.run(['verify', '--delete'])).toMatchObject({
    code: 0,
    text: expect.stringContaining('could not be verified'),
  })
  scene.fake.revoke(TOKEN)
  expect(await scene.run(['verify'])).toMatchObject({ code: 1, text: expect.stringContaining('is not valid') })
  expect(loadConfig(scene.file).config.runners).toHaveLength(1)
  expect(await scene.run(['verify', '--delete'])).toMatchObject({ code: 0 })
  expect(loadConfig(scene.file).config.runners).toEqual([])
})

test('list shows no whole token, and reset-token writes the new one and its dates (G005)', async () => {
  const scene = await openScene({ tokenExpiresAt: '2031-02-03T00:00:00.000Z' })
  await register(scene)
  const listed = await scene.run(['list'])
  expect(listed.text).toMatch(/NAME +ID +TOKEN +EXECUTOR +URL\nshop +\d+ +abcdefghi +kubernetes +http/)
  expect(JSON.parse((await scene.run(['list', '-o', 'json'])).text)).toMatchObject([{ name: 'shop', executor: 'kubernetes' }])
  expect(await scene.run(['reset-token', '--name', 'shop'])).toMatchObject({ code: 0 })
  const [runner] = loadConfig(scene.file).config.runners
  expect(runner?.token).not.toBe(TOKEN)
  expect(runner?.token_expires_at).toBe('2031-02-03T00:00:00.000Z')
  writeFileSync(join(scene.folder, 'pat'), 'glpat-personal\n')
  const byId = await scene.run(['reset-token', '--name', 'shop', '--pat-file', join(scene.folder, 'pat')])
  expect(byId).toMatchObject({ code: 0 })
  expect(scene.fake.of('reset-token')[1]?.headers['private-token']).toBe('glpat-personal')
})

test('validate names unknown keys with line and suggestion, and fails for them (G093)', async () => {
  const scene = await openScene()
  const file = join(scene.folder, 'other.toml')
  writeFileSync(
    file,
    '[[runners]]\nname = "a"\nurl = "https://gitlab.example.com"\ntoken = "t"\nexecutor = "kubernetes"\n[runners.kubernetes]\nnamespace = "jobs"\nimgae = "debian"\n',
  )
  expect(await scene.run(['validate', file])).toEqual({
    code: 1,
    text: `${file}:8: warning: the key "imgae" is not known, and is ignored (Did you mean image?)\n`,
  })
  expect(JSON.parse((await scene.run(['validate', file, '-o', 'json'])).text)).toMatchObject({
    valid: false,
    findings: [{ line: 8, key: 'runners[0].kubernetes.imgae', isUnknownKey: true }],
  })
  writeFileSync(file, readFileSync(file, 'utf8').replace('imgae', 'image'))
  expect(await scene.run(['validate', file])).toEqual({ code: 0, text: `${file} is valid: 1 runner.\n` })
  expect(await scene.run(['validate', join(scene.folder, 'absent')])).toMatchObject({ code: 3 })
})
