/** Jobs of GitLab on a real Kubernetes, offered by a fake coordinator that keeps to the rules of GitLab. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureImages } from '../support/images.ts'
import { runProgram } from '../support/process.ts'
import { startRegistry } from '../support/registry.ts'
import { openRunnerScene, type RunnerScene } from './support/runner-scene.ts'
import type { FakeJob } from './support/fake-coordinator.ts'
import { traceLines } from './support/trace-lines.ts'
import { eventually } from '../support/installation.ts'

let scene: RunnerScene
beforeAll(async () => {
  scene = await openRunnerScene(`gitlab-jobs-${process.pid}`)
  await scene.startManager({
    runner: 'environment = ["FROM_CONFIG=yes"]\npre_build_script = "echo before the build"\n',
    kubernetes: 'allowed_pull_policies = ["always", "if-not-present"]\n',
  })
})
afterAll(() => scene?.close())

const variable = (key: string, value: string, more: object = {}): object => ({ key, value, public: true, ...more })

const workOf = (job: FakeJob): string => traceLines(job).join('\n')

test('a job runs in a pod with its sources, says what it does in sections, and leaves nothing (G018, G034, G047, G052, G054)', async () => {
  const job = await scene.ended(scene.enqueue(['cat greeting.txt', 'echo "$CI_JOB_STATUS in $CI_PROJECT_DIR with $FROM_CONFIG"']))
  const trace = job.trace.toString()
  expect(job.final, trace).toMatchObject({ state: 'success' })
  expect(workOf(job)).toContain('hello from the repository')
  expect(workOf(job)).toContain('running in /builds/demo/app with yes')
  expect(trace).toMatch(/section_start:\d+:get_sources\r/)
  expect(trace).toContain('[32;1m$ cat greeting.txt')
  expect(trace).toContain('Job succeeded')
  expect(job.updates[0]).toMatchObject({ state: 'running' })
  await eventually('pods and secrets are gone', async () =>
    [...(await scene.names('pods')), ...(await scene.names('secrets'))].length === 0 ? true : undefined,
  )
})

test('a failed script has its exit code, and after_script and the scripts of the configuration run (G028, G056, G058)', async () => {
  const steps = [
    { name: 'script', script: ['echo working', 'exit 42'], timeout: 60, when: 'on_success', allow_failure: false },
    { name: 'after_script', script: ['echo "after $CI_JOB_STATUS"'], timeout: 60, when: 'always', allow_failure: true },
  ]
  const job = await scene.ended(scene.enqueue([], { steps }))
  expect(job.final).toMatchObject({ state: 'failed', failureReason: 'script_failure', exitCode: 42 })
  expect(workOf(job)).toContain('before the build')
  expect(workOf(job)).toContain('after failed')
  expect(job.trace.toString()).toContain('ERROR: Job failed: command terminated with exit code 42')
})

test('masked values never leave the pod, files and raw values are what they are (G048, G050)', async () => {
  const variables = [
    variable('SECRET', 'sesame-open-12345', { masked: true, public: false }),
    variable('NAMED', 'value of $SECRET'),
    variable('RAW', '$SECRET', { raw: true }),
    variable('CONFIG', 'content of a file', { file: true }),
  ]
  const job = await scene.ended(
    scene.enqueue(['echo "it is $SECRET"', 'echo "$NAMED"', 'echo "$RAW"', 'cat "$CONFIG"; echo', 'echo glpat-abcdefgh'], {
      variables,
    }),
  )
  expect(job.final).toMatchObject({ state: 'success' })
  const work = workOf(job)
  expect(job.trace.toString()).not.toContain('sesame')
  expect(work).toContain('it is [MASKED]')
  expect(work).toContain('value of [MASKED]')
  expect(work).toContain('\n$SECRET')
  expect(work).toContain('content of a file')
  expect(work).toContain('glpat-[MASKED]')
})

test('artifacts are uploaded as a zip and as a report, and later jobs get them (G029, G030, G032, G033)', async () => {
  const artifacts = [
    {
      name: 'build',
      paths: ['out/', '*.log'],
      exclude: ['out/*.tmp'],
      when: 'on_success',
      artifact_type: 'archive',
      artifact_format: 'zip',
      expire_in: '1 week',
    },
    { name: 'junit.xml', paths: ['junit.xml'], when: 'always', artifact_type: 'junit', artifact_format: 'gzip' },
  ]
  const made = await scene.ended(
    scene.enqueue(
      [
        'mkdir -p out/.hidden && echo one >out/a && echo two >out/b.tmp && echo three >out/.hidden/c && chmod 755 out/a',
        'echo log >x.log; ln -s a out/link',
        'echo "<x/>" >junit.xml',
      ],
      {
        artifacts,
      },
    ),
  )
  expect(made.final, made.trace.toString()).toMatchObject({ state: 'success' })
  expect(made.uploads.map(({ fileName }) => fileName)).toEqual(['build.zip', 'junit.xml.gz'])
  const folder = mkdtempSync(join(tmpdir(), 'windlass-artifacts-'))
  try {
    writeFileSync(join(folder, 'a.zip'), made.uploads[0]?.bytes ?? '')
    const listed = execFileSync('python3', ['-m', 'zipfile', '-l', join(folder, 'a.zip')], { encoding: 'utf8' })
    expect(listed).toContain('out/.hidden/c')
    expect(listed).not.toContain('b.tmp')
    expect(listed).toContain('x.log')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const { id, token } = made.payload
  const dependencies = [
    { id, token, name: 'made', artifacts_file: { filename: 'build.zip', size: 100 } },
    { id: 1, token: 'none', name: 'without', artifacts_file: {} },
  ]
  const used = await scene.ended(scene.enqueue(['cat out/a out/link', 'test -x out/a', 'cat x.log'], { dependencies }))
  expect(used.final, used.trace.toString()).toMatchObject({ state: 'success' })
  expect(workOf(used)).toContain('one\none')
  expect(used.trace.toString()).toContain(`Downloading artifacts for made (${id})`)
})

test('services are reached by their names, after their port accepts connections (G069, G070)', async () => {
  const services = [
    {
      name: scene.image,
      alias: 'backend,other-name',
      entrypoint: ['bash', '-c'],
      command: [
        `sleep 3; exec perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalPort => 8080, Listen => 5, ReuseAddr => 1); while ($c = $s->accept) { print $c "answer of $ENV{WHO}"; close $c }'`,
      ],
      variables: [variable('WHO', 'the service'), variable('HEALTHCHECK_TCP_PORT', '8080')],
    },
  ]
  const job = await scene.ended(
    scene.enqueue(['for name in backend other-name; do exec 3<>/dev/tcp/$name/8080; cat <&3; echo; done'], { services }),
  )
  expect(job.final, job.trace.toString()).toMatchObject({ state: 'success' })
  expect(workOf(job).match(/answer of the service/g)).toHaveLength(2)
})

test('a cancel ends the script at once, and after_script still runs (G022)', async () => {
  const steps = [
    {
      name: 'script',
      script: ['echo started', 'while :; do echo .; sleep 1; done'],
      timeout: 600,
      when: 'on_success',
      allow_failure: false,
    },
    { name: 'after_script', script: ['echo "after $CI_JOB_STATUS"'], timeout: 60, when: 'always', allow_failure: true },
  ]
  const job = scene.enqueue([], { steps })
  await eventually('the script runs', async () => (job.trace.includes('started') ? true : undefined))
  job.status = 'canceling'
  await scene.ended(job)
  expect(workOf(job)).toContain('after canceled')
  expect(job.trace.toString()).toContain('ERROR: Job failed: canceled')
})

test('a job that the server has ended is removed with its pod (G023)', async () => {
  const job = scene.enqueue(['echo started', 'while :; do echo .; sleep 1; done'])
  await eventually('the script runs', async () => (job.trace.includes('started') ? true : undefined))
  job.status = 'canceled'
  await eventually('the pod is gone', async () => ((await scene.names('pods')).length === 0 ? true : undefined))
  expect(job.final).toBeUndefined()
})

test('what cannot run says why: no image, a pod that is deleted (G059, G085)', async () => {
  const without = await scene.ended(scene.enqueue(['true'], { image: { name: '' } }))
  expect(without.final).toMatchObject({ state: 'failed', failureReason: 'runner_configuration_error' })
  expect(without.trace.toString()).toContain('The job names no image')

  const deleted = scene.enqueue(['echo started', 'sleep 300'])
  await eventually('the script runs', async () => (deleted.trace.includes('started') ? true : undefined))
  await scene.kubectl('delete', 'pods', '--all', '--grace-period=0', '--force')
  await scene.ended(deleted)
  expect(deleted.final).toMatchObject({ state: 'failed', failureReason: 'runner_system_failure' })
  expect(deleted.trace.toString()).toMatch(
    /ERROR: Job failed \(system failure\): the pod \S+ (?:was deleted|does not exist any more)/,
  )
})

test('a job that takes too long ends with its reason (G057)', async () => {
  const job = await scene.ended(scene.enqueue(['echo started', 'sleep 300'], { runner_info: { timeout: 3 } }))
  expect(job.final).toMatchObject({ state: 'failed', failureReason: 'job_execution_timeout' })
  expect(job.trace.toString()).toContain('execution took longer than 3 seconds')
})

test('images that need a login are pulled with those of the job, and others say what is wrong (G073, G074, G075)', async () => {
  const auth = { user: 'ci', password: 'secret of the registry' }
  await using registry = await startRegistry({ auth })
  const image = `${registry.domain}/team/app:1`
  // A push compresses it and each pull unpacks it, so it is a small one.
  const { SHELL_IMAGE: small = '' } = await ensureImages('shell')
  const logins = { auths: { [registry.domain]: { auth: Buffer.from(`${auth.user}:${auth.password}`).toString('base64') } } }
  const folder = mkdtempSync(join(tmpdir(), 'windlass-docker-'))
  try {
    writeFileSync(join(folder, 'config.json'), JSON.stringify(logins))
    await runProgram('docker', ['tag', small, image])
    await runProgram('docker', ['--config', folder, 'push', '--quiet', image])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const used = { image: { name: image, pull_policy: ['always'] } }
  const byVariable = await scene.ended(
    scene.enqueue(['echo pulled'], {
      ...used,
      variables: [variable('DOCKER_AUTH_CONFIG', JSON.stringify(logins), { public: false })],
    }),
  )
  expect(byVariable.final, byVariable.trace.toString()).toMatchObject({ state: 'success' })
  const credentials = [{ type: 'registry', url: registry.domain, username: auth.user, password: auth.password }]
  const byServer = await scene.ended(scene.enqueue(['echo pulled'], { ...used, credentials }))
  expect(byServer.final, byServer.trace.toString()).toMatchObject({ state: 'success' })

  const refused = await scene.ended(scene.enqueue(['true'], used))
  expect(refused.final, refused.trace.toString()).toMatchObject({ state: 'failed', failureReason: 'runner_configuration_error' })
  expect(refused.trace.toString()).toContain(`the image ${image} cannot be pulled: `)
  const absent = await scene.ended(
    scene.enqueue(['true'], { image: { name: `${registry.domain}/team/none:1`, pull_policy: ['always'] }, credentials }),
  )
  expect(absent.final).toMatchObject({ state: 'failed', failureReason: 'runner_configuration_error' })
  expect(absent.trace.toString()).toContain('not found')
})

test('an upload follows the server to another address, waits for a busy one, and says why it is refused (G031)', async () => {
  const artifacts = [
    { name: 'build', paths: ['greeting.txt'], when: 'on_success', artifact_type: 'archive', artifact_format: 'zip' },
  ]
  const { coordinator } = scene
  coordinator.next(
    'artifacts-upload',
    { status: 503 },
    { status: 307, headers: { location: `${coordinator.url}/elsewhere` } },
    { status: 503 },
  )
  const late = await scene.ended(scene.enqueue(['true'], { artifacts }))
  expect(late.final, late.trace.toString()).toMatchObject({ state: 'success' })
  expect(late.uploads).toHaveLength(1)
  coordinator.next('artifacts-upload', { status: 413, body: { message: '413 Request Entity Too Large' } })
  const refused = await scene.ended(scene.enqueue(['true'], { artifacts }))
  expect(refused.final).toMatchObject({ state: 'failed' })
  expect(refused.trace.toString()).toContain('the artifacts are larger than GitLab allows')
})
