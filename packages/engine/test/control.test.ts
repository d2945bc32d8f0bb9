import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { newId, systemClock, type Clock } from '@windlass/kit'
import { image } from './support/images.ts'
import { startCuttableProxy } from './support/cuttable-proxy.ts'
import { runPipeline, testDocker } from './support/run-pipeline.ts'

const run = promisify(execFile)

/** A step sleeps for an hour with a grace period of an hour, so it ends only on a command. */
const PATIENT = { stepLogBytes: 1e9, buildLogBytes: 1e9, heartbeatMs: 10_000, stopGraceMs: 3_600_000 }

test('stops a silent step of a terminated build and skips the rest (P157)', async () => {
  const cancel = new AbortController()
  const result = await runPipeline(
    `
version: '1.0'
steps:
  silent: {image: $SHELL, commands: [echo ready, sleep 3600]}
  rest: {image: $SHELL, commands: [echo never]}
  clean:
    image: $SHELL
    commands: [echo clean]
    when: {condition: {all: {ended: "workflow.result == 'terminated'"}}}
`,
    {
      cancel: cancel.signal,
      input: { limits: PATIENT },
      onOutput: (step, text) => step === 'silent' && text.includes('ready') && cancel.abort(),
    },
  )
  expect(result.outcome).toMatchObject({ status: 'terminated', reason: 'cancelled' })
  expect(result.snapshot.steps['silent']).toMatchObject({ status: 'terminated', reason: 'cancelled' })
  expect(result.snapshot.steps['rest']).toMatchObject({ status: 'skipped', reason: 'cancelled' })
  expect(result.output('clean')).toBe('clean\n')
  const docker = await testDocker()
  expect(await docker.listContainers([`windlass.io/build=${result.buildId}`])).toEqual([])
})

test('kills a step that ignores TERM after the grace period', async () => {
  const cancel = new AbortController()
  // The grace period ends once the step has heard TERM, however long that takes.
  const heard = Promise.withResolvers<void>()
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => (ms === 437_000 ? heard.promise : systemClock.sleep(ms, signal)),
  }
  const result = await runPipeline(
    "version: '1.0'\nsteps:\n  deaf: {image: $SHELL, entry_point: [sh, -c], cmd: ['trap \"echo heard\" TERM; echo begun; while true; do sleep 0.1; done']}\n",
    {
      cancel: cancel.signal,
      clock,
      input: { limits: { stepLogBytes: 1e9, buildLogBytes: 1e9, heartbeatMs: 10_000, stopGraceMs: 437_000 } },
      onOutput(_, text) {
        if (text.includes('begun')) cancel.abort()
        if (text.includes('heard')) heard.resolve()
      },
    },
  )
  expect(result.status('deaf')).toBe('terminated')
  expect(result.output('deaf')).toContain('heard')
})

test('retries a step with delays and passes the number of the try to it (P104, P105)', async () => {
  const result = await runPipeline(`
version: '1.0'
steps:
  flaky:
    image: $SHELL
    retry: {maxAttempts: 3, delay: 1}
    commands: ['echo "try $CF_CURRENT_ATTEMPT of $CF_MAX_ATTEMPTS"', 'test $CF_CURRENT_ATTEMPT = 2']
`)
  expect(result.output('flaky')).toBe('try 1 of 3\ntry 2 of 3\n')
  expect(result.snapshot.steps['flaky']).toMatchObject({ status: 'success', try: 2 })
  expect(result.log('flaky')).toMatch(/Try 1 of 3 failed; the next one starts in \d+ s\./)
})

test('stops a step after its time limit as a failure (P106)', async () => {
  const result = await runPipeline(
    "version: '1.0'\nsteps:\n  slow: {image: $SHELL, timeout: 1s, commands: [echo begun, sleep 3600]}\n",
    { input: { limits: PATIENT } },
  )
  expect(result.snapshot.steps['slow']).toMatchObject({ status: 'error', reason: 'timeout' })
  expect(result.outcome).toMatchObject({ status: 'error', step: 'slow' })
  expect(result.log('slow')).toContain('exceeded its time limit of 1 s')
})

test('treats no time, null and an invalid text as no limit (P107, P108)', async () => {
  const result = await runPipeline(`
version: '1.0'
steps:
  zero: {image: $SHELL, timeout: 0s, commands: [echo a]}
  none: {image: $SHELL, timeout: null, commands: [echo b]}
  wrong: {image: $SHELL, timeout: soon, commands: [echo c]}
`)
  expect(result.outcome.status).toBe('success')
})

test('removes what earlier attempts left running and continues their state', async () => {
  const buildId = newId(Date.now())
  const docker = await testDocker()
  const volumeName = `windlass-test-${buildId}`
  const labels = ['--label', `windlass.io/build=${buildId}`, '--label', 'windlass.io/attempt=1']
  await run('docker', ['volume', 'create', `windlass-build-${buildId}`])
  await run('docker', ['volume', 'create', volumeName])
  await run('docker', ['run', '--detach', '--network', 'none', ...labels, image('shell'), 'sleep', '100'])
  const text = `
version: '1.0'
steps:
  one: {image: $SHELL, commands: [echo one]}
  two: {image: $SHELL, commands: ['echo "two after $A"']}
`
  const done = { status: 'success', try: 1, members: {}, output: { A: 'one' }, startedAt: 1, finishedAt: 2 } as const
  const snapshot = {
    steps: { one: done, two: { status: 'running', try: 1, members: {}, output: {} } },
    exports: [{ name: 'A', value: 'one', secret: false, step: 'one', at: 2 }],
  } as const
  try {
    const kept = await runPipeline(text, { input: { buildId, attempt: 2, volumeName, snapshot } })
    expect(kept.events[0]).toMatchObject({ type: 'attempt.started', volumeKept: true })
    expect(kept.events.filter(({ type }) => type === 'step.started')).toHaveLength(1)
    expect(kept.output('two')).toBe('two after one\n')
    expect(await docker.findVolume(`windlass-build-${buildId}`)).toBeUndefined()
    const lost = await runPipeline(text, { input: { buildId, attempt: 3, volumeName, snapshot } })
    expect(lost.events[0]).toMatchObject({ volumeKept: false })
    expect(lost.output('one')).toBe('one\n')
  } finally {
    await docker.removeVolume(volumeName)
  }
})

test('keeps the volume between builds unless it is reset (P031, P032, R251)', async () => {
  const docker = await testDocker()
  const volumeName = `windlass-test-${newId(Date.now())}`
  const text = "version: '1.0'\nsteps:\n  one: {image: $SHELL, commands: [echo line >> log, cat log]}\n"
  try {
    await runPipeline(text, { input: { volumeName } })
    expect((await runPipeline(text, { input: { volumeName } })).output('one')).toBe('line\nline\n')
    expect((await runPipeline(text, { input: { volumeName, resetVolume: true } })).output('one')).toBe('line\n')
  } finally {
    await docker.removeVolume(volumeName)
  }
})

test('survives a step that removes all other containers of the daemon', async () => {
  const result = await runPipeline(`
version: '1.0'
steps:
  first: {image: $SHELL, commands: [echo 1]}
  wipe:
    image: $TOOLS
    shell: bash
    commands:
      - self=$(grep -o '[0-9a-f]\\{64\\}' /proc/self/cgroup | head -1)
      - docker ps --all --quiet --no-trunc --filter label=windlass.io/build=$CF_BUILD_ID | grep -v "$self" | xargs docker rm --force
  last: {image: $SHELL, volumes: ['./a:/a'], commands: [echo still here]}
`)
  expect(result.outcome).toEqual({ status: 'success' })
  expect(result.output('last')).toBe('still here\n')
})

test('drops output beyond the limit with a message and continues the step (P178)', async () => {
  const result = await runPipeline(
    "version: '1.0'\nsteps:\n  loud: {image: $SHELL, commands: ['yes | head -c 300000', 'cf_export DONE=yes']}\n",
    {
      input: { limits: { stepLogBytes: 100_000, buildLogBytes: 1e9, heartbeatMs: 10_000, stopGraceMs: 500 } },
    },
  )
  expect(result.outcome.status).toBe('success')
  expect(result.snapshot.steps['loud']?.output).toEqual({ DONE: 'yes' })
  expect(result.log('loud').length).toBeLessThan(100_200)
  expect(result.log('loud')).toContain('The log limit of this step is reached')
})

test('uses a local work tree with uncommitted changes instead of the clone', async () => {
  const root = await mkdtemp(join(tmpdir(), 'work-tree-'))
  const git = (...args: string[]) => run('git', ['-C', root, '-c', 'user.name=Ada', '-c', 'user.email=a@example.com', ...args])
  await git('init', '--quiet', '--initial-branch=main')
  await mkdir(join(root, 'src'))
  await mkdir(join(root, 'ignored'))
  await writeFile(join(root, '.gitignore'), 'ignored\n')
  await writeFile(join(root, 'src', 'old'), 'committed')
  await writeFile(join(root, 'empty'), '')
  await git('add', '--all')
  await git('commit', '--quiet', '--message', 'first')
  await writeFile(join(root, 'src', 'new'), 'not committed')
  await writeFile(join(root, 'ignored', 'big'), 'stays here')
  const text = `
version: '1.0'
steps:
  main_clone: {type: git-clone, repo: 'https://git.example.com/team/app.git'}
  look: {image: $TOOLS, commands: [pwd, git status --short, cat src/*, ls, 'echo "$CF_BRANCH"', mkdir -p ignored, touch ignored/kept]}
`
  const docker = await testDocker()
  const volumeName = `windlass-test-${newId(Date.now())}`
  try {
    const result = await runPipeline(text, { source: { path: root }, input: { volumeName } })
    expect(result.outcome).toEqual({ status: 'success' })
    expect(result.output('look')).toBe('/codefresh/volume/app\n?? src/new\nnot committedcommittedempty\nsrc\nmain\n')
    await rm(join(root, 'src', 'new'))
    const again = await runPipeline(text, { source: { path: root }, input: { volumeName } })
    expect(again.output('look')).toBe('/codefresh/volume/app\ncommittedempty\nignored\nsrc\nmain\n')
  } finally {
    await docker.removeVolume(volumeName)
    await rm(root, { recursive: true, force: true })
  }
})

test('ends the attempt with an infrastructure failure if the daemon is lost', async () => {
  await using proxy = await startCuttableProxy('/var/run/docker.sock')
  const result = await runPipeline("version: '1.0'\nsteps:\n  one: {image: $SHELL, commands: [echo begun, sleep 30]}\n", {
    dockerEnv: { DOCKER_HOST: proxy.host },
    onOutput: (_, text) => text.includes('begun') && proxy.cut(),
  })
  expect(result.outcome).toMatchObject({ status: 'error', reason: 'dind-lost', step: 'one' })
  expect(result.status('one')).toBe('running')
  const docker = await testDocker()
  for (const { id } of await docker.listContainers([`windlass.io/build=${result.buildId}`])) await docker.removeContainer(id)
  for (const volume of [`windlass-build-${result.buildId}`, `windlass-test-${result.buildId}`]) await docker.removeVolume(volume)
})

test('removes its containers if the attempt ends before anything ran', async () => {
  const result = await runPipeline("version: '1.0'\nsteps:\n  one: {image: '${{NOTHING}}', commands: [ls]}\n")
  expect(result.snapshot.steps['one']).toMatchObject({ status: 'error', reason: 'invalid-step' })
  expect(await (await testDocker()).listContainers([`windlass.io/build=${result.buildId}`])).toEqual([])
})

test('removes what old builds left on the daemon and keeps what recent builds left', async () => {
  const labelled = (buildId: string): string[] => ['--label', `windlass.io/build=${buildId}`]
  const old = newId(Date.now() - 4 * 86_400_000)
  const young = newId(Date.now() - 86_400_000)
  for (const buildId of [old, young]) {
    await run('docker', ['create', ...labelled(buildId), image('shell'), 'true'])
    await run('docker', ['volume', 'create', ...labelled(buildId), `windlass-build-${buildId}`])
  }
  await runPipeline("version: '1.0'\nsteps:\n  one: {image: $SHELL, commands: [ls]}\n")
  const docker = await testDocker()
  expect(await docker.listContainers([`windlass.io/build=${old}`])).toEqual([])
  expect(await docker.findVolume(`windlass-build-${old}`)).toBeUndefined()
  const left = await docker.listContainers([`windlass.io/build=${young}`])
  expect(left).toHaveLength(1)
  for (const { id } of left) await docker.removeContainer(id)
  expect(await docker.findVolume(`windlass-build-${young}`)).toBeDefined()
  await docker.removeVolume(`windlass-build-${young}`)
})
