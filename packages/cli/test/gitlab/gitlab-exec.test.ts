/** `windlass gitlab exec` on real Docker, with the helper that also runs in pods. */
import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync, rmSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { manualClock } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureImages } from '../../../../e2e/support/images.ts'
import { runProgram } from '../../../../e2e/support/process.ts'
import { openDocker } from '../../../engine/src/index.ts'
import { LABEL_RUN } from '../../../gitlab/src/exec/containers.ts'
import { removeLeftovers } from '../../../gitlab/src/exec/leftovers.ts'
import { sha256 } from '../../../kit/src/index.ts'
import { openSandbox, type Finished, type Sandbox, type Started } from '../support.ts'

let sandbox: Sandbox
let helper: string
let shell: string
const trees: string[] = []

beforeAll(async () => {
  const images = await ensureImages('shell', 'gitlab-helper')
  ;[shell = '', helper = ''] = [images['SHELL_IMAGE'], images['GITLAB_HELPER_IMAGE']]
  sandbox = await openSandbox()
})

afterAll(async () => {
  for (const tree of trees) await runProgram('docker', ['volume', 'rm', '--force', cacheVolume(tree)])
  await sandbox[Symbol.asyncDispose]()
})

const cacheVolume = (tree: string): string => `windlass-gitlab-cache-${sha256(tree).slice(0, 12)}`

const git = (tree: string, ...args: string[]): string =>
  execFileSync('git', ['-C', tree, '-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...args], {
    encoding: 'utf8',
  }).trim()

/** Makes a repository with one commit. */
async function repository(name: string, config: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const tree = join(sandbox.folder, name)
  trees.push(tree)
  for (const [path, text] of Object.entries({ '.gitlab-ci.yml': config, ...files })) {
    await mkdir(dirname(join(tree, path)), { recursive: true })
    await writeFile(join(tree, path), text)
  }
  git(tree, 'init', '--quiet', '--initial-branch=topic/x')
  git(tree, 'remote', 'add', 'origin', 'https://git.example.com/group/app.git')
  git(tree, 'add', '.')
  git(tree, 'commit', '--quiet', '--message', "It's first")
  return tree
}

const env = (): Record<string, string> => ({ WINDLASS_GITLAB_HELPER_IMAGE: helper, SECRET_OF_USER: 'from-environment' })
const exec = (tree: string, ...words: string[]): Promise<Finished> =>
  sandbox.run(['gitlab', 'exec', ...words], { cwd: tree, env: env() })
const start = (tree: string, ...words: string[]): Started =>
  sandbox.start(['gitlab', 'exec', ...words], { cwd: tree, env: env() })

/** Returns what runs of this machine have on the daemon, one line for each. */
async function onDaemon(): Promise<string[]> {
  const filter = ['--filter', `label=${LABEL_RUN}`]
  const lists = await Promise.all([
    runProgram('docker', ['ps', '--all', '--quiet', ...filter]),
    runProgram('docker', ['volume', 'ls', '--quiet', ...filter]),
  ])
  return lists.flatMap((text) => text.split('\n')).filter((line) => line !== '')
}

test('runs a job with its services, variables and scripts, and returns the exit code of the script (G101)', async () => {
  const tree = await repository(
    'basic',
    `
include: {local: ci/*.yml}
variables: {NAME: file, FULL: "$NAME-$CI_JOB_NAME"}
default: {image: "${shell}"}
build:
  extends: .base
  stage: build
  variables: {NAME: job}
  before_script: [echo before]
  script:
    - !reference [.lines, script]
    - 'echo "full=$FULL dir=$CI_PROJECT_DIR branch=$CI_COMMIT_BRANCH path=$CI_PROJECT_PATH stage=$CI_JOB_STAGE"'
    - wget -q -O- http://web:8080/
    - wget -q -O- http://localhost:8080/
    - echo "token=$TOKEN user=$SECRET_OF_USER"
    - exit $CODE
  after_script: ['echo "after $CI_JOB_STATUS"']
  rules: [{if: $CI}]
`,
    {
      'ci/base.yml': `
.base:
  services:
    - name: ${shell}
      alias: web
      command: [sh, -c, "mkdir /www && echo hello $GREETING >/www/index.html && httpd -f -p 8080 -h /www"]
      variables: {GREETING: "to $NAME", HEALTHCHECK_TCP_PORT: "8080"}
.lines: {script: [echo referenced]}
`,
    },
  )
  const words = ['build', '--env', 'CODE=7', '--secret', 'TOKEN=very-secret', '--secret', 'SECRET_OF_USER']
  const { code, stdout, stderr } = await exec(tree, ...words)
  expect({ code, stderr }).toMatchObject({ code: 7 })
  expect(stdout).toContain('$ echo before\nbefore\n$ echo referenced\nreferenced\n')
  expect(stdout).toContain('full=job-build dir=/builds/group/app branch=topic/x path=group/app stage=build\n')
  expect(stdout.match(/^hello to job$/gm)).toHaveLength(2)
  expect(stdout).toContain('token=[MASKED] user=[MASKED]\n')
  expect(stdout).toContain('after failed\n')
  expect(stdout).toContain('ERROR: Job failed: command terminated with exit code 7\n')
  expect(stdout + stderr).not.toMatch(/very-secret|from-environment/)
  expect(stderr).toContain('.gitlab-ci.yml:18: warning: "rules" of the job "build" has no effect in a local run')
  expect(await onDaemon()).toEqual([])
  const good = await exec(tree, 'build', '--env', 'CODE=0')
  expect(good.code, good.stderr).toBe(0)
  expect(good.stdout).toMatch(/after success\n[^]*Job succeeded\n$/)
})

test('uses the working tree with its changes, leaves it alone, and copies artifacts and caches (G102)', async () => {
  const tree = await repository(
    'tree',
    `
default: {image: "${shell}"}
job:
  cache: {key: {files: [lock]}, paths: [.cache], when: always}
  artifacts: {paths: [out, "*.txt"], exclude: [out/secret], when: always}
  script:
    - cat file.txt new.txt
    - test ! -e ignored.bin
    - mkdir -p out .cache
    - echo kept >out/kept; echo secret >out/secret; ln -s kept out/link
    - echo run >>.cache/runs; echo "runs=$(wc -l <.cache/runs)"
    - echo damage >file.txt; rm .gitlab-ci.yml
    - exit $CODE
`,
    { 'file.txt': 'committed\n', '.gitignore': '*.bin\nresults\n', lock: 'one' },
  )
  await writeFile(join(tree, 'file.txt'), 'changed\n')
  await writeFile(join(tree, 'new.txt'), 'untracked\n')
  await writeFile(join(tree, 'ignored.bin'), 'ignored\n')
  const before = git(tree, 'status', '--porcelain', '--ignored')
  const results = join(tree, 'results')
  const first = await exec(tree, 'job', '--env', 'CODE=0', '--artifacts', results)
  expect(first.code, first.stdout + first.stderr).toBe(0)
  expect(first.stdout).toContain('changed\nuntracked\n')
  expect(first.stdout).toContain('runs=1\n')
  expect(readFileSync(join(results, 'out/kept'), 'utf8')).toBe('kept\n')
  expect(lstatSync(join(results, 'out/link')).isSymbolicLink()).toBe(true)
  expect(lstatSync(join(results, 'out/kept')).uid).toBe(process.getuid?.())
  expect(existsSync(join(results, 'out/secret'))).toBe(false)
  expect(readFileSync(join(results, 'file.txt'), 'utf8')).toBe('damage\n')
  expect(readFileSync(join(tree, 'file.txt'), 'utf8')).toBe('changed\n')
  rmSync(results, { recursive: true })
  expect(git(tree, 'status', '--porcelain', '--ignored')).toBe(before)

  const failed = await exec(tree, 'job', '--env', 'CODE=3', '--artifacts', results)
  expect(failed).toMatchObject({ code: 3, stdout: expect.stringContaining('runs=2\n') })
  expect(existsSync(join(results, 'out/kept'))).toBe(true)
  await writeFile(join(tree, 'lock'), 'two')
  const other = await exec(tree, 'job', '--env', 'CODE=0')
  expect(other.stdout).toContain('runs=1\n')
  expect(other.stderr).toContain('The artifacts of the job are not kept. Name a folder for them with --artifacts.')
  expect((await exec(tree, 'job', '--env', 'CODE=0', '--reset-cache')).stdout).toContain('runs=1\n')
  expect(await onDaemon()).toEqual([])
})

test('Ctrl-C ends the containers of a job and leaves nothing of it (G103)', async () => {
  const tree = await repository(
    'interrupted',
    `job: {image: "${shell}", services: [{name: "${shell}", alias: db, command: [sleep, "1000"]}], script: [echo begun, sleep 1000]}`,
  )
  const run = start(tree, 'job')
  await run.says('\nbegun\n')
  expect((await onDaemon()).length).toBeGreaterThanOrEqual(5)
  run.interrupt()
  expect(await run.finished).toMatchObject({ code: 130, stderr: expect.stringContaining('Stopping the job.') })
  expect(await onDaemon()).toEqual([])
})

test('a reader that closes the pipe ends the job, and nothing of it stays (G103)', async () => {
  const tree = await repository(
    'piped',
    `job: {image: "${shell}", services: [{name: "${shell}", alias: db, command: [sleep, "1000"]}], script: [echo begun, "while :; do echo more; sleep 0.1; done"]}`,
  )
  const run = start(tree, 'job')
  await run.says('\nbegun\n')
  expect((await onDaemon()).length).toBeGreaterThanOrEqual(5)
  // As `head` does when it has its lines.
  run.child.stdout.destroy()
  const { code, stderr } = await run.finished
  expect(code, stderr).toBe(0)
  expect(await onDaemon()).toEqual([])
})

test('the job of a killed command ends, and a later command removes what is left (G103)', async () => {
  const tree = await repository('killed', `job: {image: "${shell}", script: ["trap '' TERM", echo begun, sleep 1000]}`)
  const run = start(tree, 'job')
  await run.says('\nbegun\n')
  // The program that starts Node replaces itself with it.
  run.child.kill('SIGKILL')
  await run.finished
  const running = (): Promise<string> => runProgram('docker', ['ps', '--quiet', '--filter', `label=${LABEL_RUN}`])
  for (let n = 0; n < 600 && (await running()).trim() !== ''; n += 1) await sleep(100)
  expect((await running()).trim()).toBe('')
  const docker = await openDocker({ env: process.env })
  try {
    await removeLeftovers(docker, manualClock(Date.now()))
    expect((await onDaemon()).length).toBeGreaterThan(0)
    await removeLeftovers(docker, manualClock(Date.now() + 25 * 3_600_000))
  } finally {
    docker.close()
  }
  expect(await onDaemon()).toEqual([])
})

test('an entrypoint of the job gets the shell, and one that ends at once is an error (G101)', async () => {
  const tree = await repository(
    'entrypoint',
    `
good:
  image: {name: "${shell}", entrypoint: [sh, -c, 'export FROM=entrypoint; exec "$@"', entry], docker: {user: "1234"}}
  script: ['echo "from=$FROM user=$(id -u)"', echo new >file]
bad: {image: {name: "${shell}", entrypoint: [sh, -c, echo I am no shell]}, script: [echo never]}
service:
  image: "${shell}"
  services: [{name: "${shell}", entrypoint: [sh, -c], command: [echo the reason; exit 4]}]
  script: [sleep 3]
missing: {image: "windlass.invalid/none:1", script: [x]}
`,
  )
  const good = await exec(tree, 'good')
  expect(good.code, good.stdout + good.stderr).toBe(0)
  expect(good.stdout).toContain('from=entrypoint user=1234\n')
  const bad = await exec(tree, 'bad')
  expect(bad.code).toBe(1)
  expect(bad.stderr).toMatch(/ended with exit code 0 before its job\.\nI am no shell\n/)
  const service = await exec(tree, 'service')
  expect(service.code).toBe(0)
  expect(service.stderr).toMatch(/WARNING: The service \S+ ended with exit code 4\.\nthe reason\n/)
  expect(service.stdout).not.toContain('the reason')
  const shown = await exec(tree, 'service', '--env', 'CI_DEBUG_SERVICES=true', '--secret', 'WORD=reason')
  expect(shown.stdout).toContain('[service:svc-0] the [MASKED]\n')
  const missing = await exec(tree, 'missing')
  expect(missing.code).toBe(1)
  expect(missing.stderr).toMatch(/The image windlass\.invalid\/none:1 cannot be pulled: [^]*docker login windlass\.invalid/)
  expect(await onDaemon()).toEqual([])
})

test('only a privileged job has all rights on the machine of Docker (G101)', async () => {
  const tree = await repository(
    'privileged',
    `job: {image: "${shell}", script: [mkdir /m, mount -t tmpfs none /m, echo mounted]}`,
  )
  expect(await exec(tree, 'job')).toMatchObject({ code: 1, stdout: expect.stringContaining('permission denied') })
  const { stdout, stderr } = await exec(tree, 'job', '--privileged')
  // A daemon that has not all rights itself refuses to give them.
  expect(stdout + stderr).toMatch(/\nmounted\n|unable to apply caps: operation not permitted/)
})

test('a time limit ends the job with 1, and an allowed failure keeps its exit code (G101)', async () => {
  const tree = await repository(
    'limits',
    `
slow: {image: "${shell}", timeout: 10s, script: [echo begun, sleep 1000], after_script: ['echo "after $CI_JOB_STATUS"']}
allowed: {image: "${shell}", allow_failure: {exit_codes: [9]}, script: [exit 9]}
`,
  )
  const slow = await exec(tree, 'slow')
  expect(slow.code).toBe(1)
  expect(slow.stdout).toMatch(/after timedout\n[^]*ERROR: Job failed: execution took longer than 10 seconds\n$/)
  const allowed = await exec(tree, 'allowed')
  expect(allowed).toMatchObject({ code: 9, stderr: expect.stringContaining('is allowed to fail: its pipeline would continue.') })
})

test('lists jobs, and wrong files and command lines have their exit codes', async () => {
  const tree = await repository(
    'list',
    '.hidden: {script: [x]}\nstages: [a, b]\none: {stage: a, script: [x]}\ntwo: {script: [x]}\n',
  )
  expect(await exec(tree, '--list')).toMatchObject({
    code: 0,
    stdout: 'NAME  STAGE  PLACE\none   a      .gitlab-ci.yml:3\ntwo   test   .gitlab-ci.yml:4\n',
  })
  const json = await exec(tree, '--list', '--output', 'json')
  expect(JSON.parse(json.stdout)).toEqual([
    { name: 'one', stage: 'a', file: '.gitlab-ci.yml', line: 3, problem: null },
    { name: 'two', stage: 'test', file: '.gitlab-ci.yml', line: 4, problem: null },
  ])
  expect(await exec(tree)).toMatchObject({ code: 2, stderr: expect.stringContaining('Name the job to run.') })
  expect(await exec(tree, 'none')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('.gitlab-ci.yml has no job "none".'),
  })
  expect(await exec(tree, 'one')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('.gitlab-ci.yml:3: the job "one" names no image'),
  })
  expect(await exec(tree, 'one', '--file', 'other.yml')).toMatchObject({ code: 3, stderr: expect.stringContaining('other.yml') })
  await writeFile(join(tree, 'broken.yml'), 'job: [\n')
  expect(await exec(tree, 'job', '--file', 'broken.yml')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('broken.yml:2: '),
  })
})

test('the example of the guide runs (G101, G102)', async () => {
  const page = readFileSync(new URL('../../../../docs/guides/gitlab-runner.md', import.meta.url), 'utf8')
  const example = /<!-- job: exec -->\n```yaml\n([^]*?)```/.exec(page)?.[1] ?? ''
  expect(example).toContain('busybox:1.37')
  const tree = await repository('guide', example.replaceAll('busybox:1.37', shell))
  const first = await exec(tree, 'test', '--artifacts', 'results')
  expect(first.code, first.stdout + first.stderr).toBe(0)
  expect(readFileSync(join(tree, 'results/out/page.txt'), 'utf8')).toBe('hello from a service\n')
  expect(first.stdout).toContain('run 1 of test on topic/x\n')
  expect((await exec(tree, 'test', '--env', 'GREETING=hi')).stdout).toMatch(/hi from a service\n[^]*run 2 of test on topic\/x\n/)
})
