import { newId } from '@windlass/kit'
import { expect, test } from 'vitest'
import { runProgram } from '../../../../e2e/support/process.ts'
import { runPipeline } from '../support/run-pipeline.ts'
import { image } from '../support/images.ts'
import { buildImage, deleteImage } from '../support/make-image.ts'

/** Returns a document with a freestyle step named `one`. `fields` is YAML of the step, indented by four. */
function oneStep(fields: string): string {
  return `version: '1.0'\nsteps:\n  one:\n    image: $SHELL\n${fields}`
}

test('runs the command of a step and keeps its output (P001)', async () => {
  const run = await runPipeline(oneStep('    type: freestyle\n    commands:\n      - echo hi\n'))
  expect(run.outcome).toEqual({ status: 'success' })
  expect(run.output('one')).toBe('hi\n')
})

test('defaults to a freestyle step (P002)', async () => {
  const run = await runPipeline(oneStep('    commands: [echo hi]\n'))
  expect(run.output('one')).toBe('hi\n')
})

test('runs steps in document order on a shared volume (P003, P030)', async () => {
  const run = await runPipeline(`
version: '1.0'
steps:
  a: {image: $SHELL, commands: [echo a >> log]}
  b: {image: $SHELL, commands: [echo b >> log]}
  c: {image: $SHELL, commands: [echo c >> log, cat log]}
`)
  expect(run.output('c')).toBe('a\nb\nc\n')
})

test('stops the build at a failed step (P004)', async () => {
  const run = await runPipeline(`
version: '1.0'
steps:
  bad: {image: $SHELL, commands: [exit 3]}
  rest: {image: $SHELL, commands: [echo never]}
`)
  expect(run.outcome).toMatchObject({ status: 'error', reason: 'step-failed', step: 'bad' })
  expect(run.snapshot.steps['bad']).toMatchObject({ status: 'error', reason: 'exit-code', exitCode: 3 })
  expect(run.snapshot.steps['rest']).toMatchObject({ status: 'skipped', reason: 'not-reached' })
  expect(run.log('bad')).toContain('[SYSTEM] Exit code 3.')
})

test('continues after a step with fail_fast false and fails at the end if it is strict (P005, P007)', async () => {
  const text = (strict: boolean): string => `
version: '1.0'
steps:
  bad: {image: $SHELL, fail_fast: false, strict_fail_fast: ${strict}, commands: [exit 1]}
  rest: {image: $SHELL, commands: [echo on]}
`
  const lenient = await runPipeline(text(false))
  expect(lenient.outcome.status).toBe('success')
  expect(lenient.output('rest')).toBe('on\n')
  const strict = await runPipeline(text(true))
  expect(strict.outcome).toMatchObject({ status: 'error', step: 'bad' })
  expect(strict.output('rest')).toBe('on\n')
})

test('applies fail_fast and strict_fail_fast of the root to every step (P006, P008)', async () => {
  const text = (strict: boolean): string => `
version: '1.0'
fail_fast: false
strict_fail_fast: ${strict}
steps:
  one: {image: $SHELL, commands: [exit 1]}
  two: {image: $SHELL, commands: [exit 2]}
`
  const lenient = await runPipeline(text(false))
  expect(lenient.outcome.status).toBe('success')
  expect(lenient.snapshot.steps['two']).toMatchObject({ status: 'error', exitCode: 2 })
  expect((await runPipeline(text(true))).outcome.status).toBe('error')
})

test('reads fail_fast from a variable (P010)', async () => {
  const run = await runPipeline(
    `
version: '1.0'
steps:
  bad: {image: $SHELL, fail_fast: '\${{FF}}', commands: [exit 1]}
  rest: {image: $SHELL, commands: [echo on]}
`,
    { variables: { FF: 'false' } },
  )
  expect(run.outcome.status).toBe('success')
})

test('stops commands at the first failure (P011)', async () => {
  const run = await runPipeline(oneStep('    commands:\n      - "false"\n      - echo after\n'))
  expect(run.status('one')).toBe('error')
  expect(run.output('one')).toBe('')
})

test('continues commands after set +e (P012)', async () => {
  const run = await runPipeline(oneStep('    commands:\n      - set +e\n      - "false"\n      - echo after\n'))
  expect(run.output('one')).toBe('after\n')
})

test('runs commands with bash and reports an image without it (P013)', async () => {
  const text = (name: string): string => `
version: '1.0'
steps:
  one:
    image: ${name}
    shell: bash
    commands:
      - '[[ abc == a* ]] && echo bash'
`
  const run = await runPipeline(text(image('debian')))
  expect(run.output('one')).toBe('bash\n')
  const without = await runPipeline(text(image('shell')))
  expect(without.snapshot.steps['one']).toMatchObject({ status: 'error', reason: 'command-not-found' })
  expect(without.snapshot.steps['one']?.message).toContain('has no working bash')
})

test('passes cmd as arguments to the entry point, which may be overridden (P014, P015)', async () => {
  const run = await runPipeline(oneStep('    entry_point: [echo, from]\n    cmd: [the, entry point]\n'))
  expect(run.output('one')).toBe('from the entry point\n')
})

test('runs the image as it is without commands and replaces its entry point with commands (P016, P017)', async () => {
  const name = 'windlass-test/with-entry-point:1'
  await buildImage(name, { Entrypoint: ['/bin/echo', 'own'], Cmd: ['default'] })
  try {
    const plain = await runPipeline(`version: '1.0'\nsteps:\n  one: {image: ${name}}\n`)
    expect(plain.output('one')).toBe('own default\n')
    const command = await runPipeline(`version: '1.0'\nsteps:\n  one: {image: ${name}, commands: [echo shell]}\n`)
    expect(command.output('one')).toBe('shell\n')
  } finally {
    await deleteImage(name)
  }
})

test('keeps multi-line commands intact (P018)', async () => {
  const run = await runPipeline(
    oneStep(`    commands:
      - |-
        for n in 1 2; do
          echo line $n
        done
      - >-
        echo folded
        into one
`),
  )
  expect(run.output('one')).toBe('line 1\nline 2\nfolded into one\n')
})

test('sets the environment list (P019)', async () => {
  const run = await runPipeline(
    oneStep('    environment: [\'GREETING=hello = world\', EMPTY=]\n    commands: [\'echo "$GREETING" "[$EMPTY]"\']\n'),
  )
  expect(run.output('one')).toBe('hello = world []\n')
})

test('starts a step at the root of the volume without a main_clone (P020)', async () => {
  const run = await runPipeline(oneStep('    commands: [pwd]\n'))
  expect(run.output('one')).toBe('/codefresh/volume\n')
})

test('resolves relative and absolute directories, those of other steps, and a main_clone of another type (P024, P025, P042)', async () => {
  const run = await runPipeline(`
version: '1.0'
steps:
  main_clone: {image: $SHELL, working_directory: /codefresh/volume/project, commands: [pwd]}
  default: {image: $SHELL, commands: [pwd]}
  relative: {image: $SHELL, working_directory: sub/dir, commands: [pwd]}
  absolute: {image: $SHELL, working_directory: /opt, commands: [pwd]}
  same: {image: $SHELL, working_directory: '\${{absolute}}', commands: [pwd]}
  below: {image: $SHELL, working_directory: '\${{relative}}/x', commands: [pwd]}
`)
  const places = ['main_clone', 'default', 'relative', 'absolute', 'same', 'below'].map((step) => run.output(step).trim())
  const project = '/codefresh/volume/project'
  expect(places).toEqual([project, project, `${project}/sub/dir`, '/opt', '/opt', `${project}/sub/dir/x`])
})

test('resolves IMAGE_WORK_DIR to the directory of the image (P026)', async () => {
  const name = 'windlass-test/with-directory:1'
  await buildImage(name, { WorkingDir: '/home' })
  try {
    const run = await runPipeline(
      `version: '1.0'\nsteps:\n  one: {image: ${name}, working_directory: IMAGE_WORK_DIR, commands: [pwd]}\n`,
    )
    expect(run.output('one')).toBe('/home\n')
  } finally {
    await deleteImage(name)
  }
})

test('mounts a file and a folder of the volume at other paths (P027)', async () => {
  const run = await runPipeline(`
version: '1.0'
steps:
  write: {image: $SHELL, commands: [mkdir -p conf/deep, echo 42 > conf/deep/answer, echo key > single]}
  read:
    image: $SHELL
    volumes: ['./conf:/config', '/conf/deep/:/deep:ro', './single:/etc/single', './made/anew:/made']
    commands:
      - cat /config/deep/answer /deep/answer /etc/single
      - echo new > /made/file
      - cat made/anew/file
      - touch /deep/x 2>/dev/null || echo read-only
`)
  expect(run.output('read')).toBe('42\n42\nkey\nnew\nread-only\n')
})

test('rejects a source outside of the volume, also through a link (P028)', async () => {
  const up = await runPipeline(oneStep("    volumes: ['../etc:/x']\n    commands: [ls /x]\n")).catch((error: Error) => error)
  if (up instanceof Error) expect(up.message).toContain('volume')
  else expect(up.snapshot.steps['one']).toMatchObject({ reason: 'mount-invalid' })
  const link = await runPipeline(`
version: '1.0'
steps:
  plant: {image: $SHELL, commands: [ln -s / escape]}
  follow: {image: $SHELL, volumes: ['./escape/etc:/x'], commands: [ls /x]}
`)
  expect(link.snapshot.steps['follow']).toMatchObject({ status: 'error', reason: 'mount-invalid' })
})

test('rejects a second mount at /codefresh/volume with a clear message (P029)', async () => {
  const run = await runPipeline(oneStep("    volumes: ['./a:/codefresh/volume']\n    commands: [ls]\n")).catch(
    (error: Error) => error,
  )
  const message = run instanceof Error ? run.message : run.snapshot.steps['one']?.message
  expect(message).toContain('/codefresh/volume')
})

test('reports a missing image with a hint', async () => {
  const run = await runPipeline("version: '1.0'\nsteps:\n  one: {image: 'localhost:1/no/such:image', commands: [ls]}\n")
  expect(run.snapshot.steps['one']).toMatchObject({ status: 'error', reason: 'image-not-found' })
})

test('reports a command that the image does not have', async () => {
  const run = await runPipeline(oneStep('    commands: [no-such-program --help]\n'))
  expect(run.snapshot.steps['one']).toMatchObject({ status: 'error', reason: 'command-not-found', exitCode: 127 })
  const entry = await runPipeline(oneStep('    entry_point: [/no/such/program]\n'))
  expect(entry.snapshot.steps['one']).toMatchObject({ status: 'error', reason: 'command-not-found' })
})

test('distinguishes a killed step from one that ran out of memory', async () => {
  const run = await runPipeline(oneStep('    commands: [kill -9 $$]\n'))
  expect(run.snapshot.steps['one']).toMatchObject({ status: 'error', reason: 'exit-code', exitCode: 137 })
  expect(run.snapshot.steps['one']?.message).toContain('killed from outside')
})

test('reports limit and peak of a step that ran out of memory, and the usage of a long step (R247)', async () => {
  const buildId = newId(Date.now())
  const letGo = (): Promise<string> =>
    runProgram('docker', ['run', '--rm', '--volume', `windlass-test-${buildId}:/v`, image('shell'), 'touch', '/v/go'])
  const measured = Promise.withResolvers<void>()
  const touched = measured.promise.then(letGo)
  const run = await runPipeline(
    `
version: '1.0'
steps:
  hungry:
    image: $TOOLS
    shell: bash
    commands:
      - self=$(grep -o '[0-9a-f]\\{64\\}' /proc/self/cgroup | head -1)
      - docker update --memory 64m --memory-swap 64m "$self"
      - 'x=$(head -c 30000000 /dev/zero | tr "\\0" y); until test -e /codefresh/volume/go; do sleep 0.2; done'
      - 'tail /dev/zero'
`,
    {
      input: { buildId },
      // The step goes on when the engine has measured it with its limit, however late that is.
      onEvent(event) {
        if (event.type === 'step.usage' && event.usage.memoryLimitBytes === 67_108_864) measured.resolve()
      },
    },
  )
  await touched
  const step = run.snapshot.steps['hungry']
  expect(step).toMatchObject({ status: 'error', reason: 'out-of-memory', exitCode: 137 })
  expect(step?.message).toMatch(/The limit is 64 MiB\. Peak usage was \d+ MiB\./)
  const finished = run.events.find((event) => event.type === 'step.finished')
  expect(finished).toMatchObject({
    usage: { memoryLimitBytes: 67_108_864, cpuMs: expect.any(Number) },
    image: { name: expect.stringContaining('tools') },
    phases: ['pull', 'create', 'run', 'export'].map((phase) => ({ phase, at: expect.any(Number) })),
  })
  // A phase that lasts for a second is reported, and on a busy machine others do as well.
  expect(run.events.filter(({ type }) => type === 'step.phase').at(-1)).toMatchObject({ step: 'hungry', phase: 'run' })
})

test('runs a script that is longer than a process argument', async () => {
  const run = await runPipeline(oneStep(`    commands:\n      - 'x=${'y'.repeat(150_000)}'\n      - 'echo \${#x}'\n`))
  expect(run.output('one')).toBe('150000\n')
})

test('logs whether the image was on the disk (P190)', async () => {
  const run = await runPipeline(oneStep('    commands: [ls]\n'))
  expect(run.log('one')).toMatch(/^\[SYSTEM\] Image \S+ is on the disk \([0-9a-f]{12}\)\.\n/)
})

test('mounts the socket of the daemon only if the runtime allows it (P183)', async () => {
  const text = oneStep('    commands: ["test -S /var/run/docker.sock && echo there || echo not there"]\n')
  expect((await runPipeline(text)).output('one')).toBe('there\n')
  expect((await runPipeline(text, { input: { userAccess: false } })).output('one')).toBe('not there\n')
})
