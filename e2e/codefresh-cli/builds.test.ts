/** Builds with the public command line: started, followed live and from the archive, listed and steered. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Build, BuildInput } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runProgram } from '../support/process.ts'
import { letGo, UNTIL_LET_GO } from '../support/steps.ts'
import { endOf, idIn, openCodefresh, rowsOf, type Codefresh } from './client.ts'

let codefresh: Codefresh

beforeAll(async () => {
  codefresh = await openCodefresh()
})

afterAll(() => codefresh[Symbol.asyncDispose]())

interface Step {
  readonly type?: string
  readonly [field: string]: unknown
}

/** Stores a pipeline with these steps: commands of a shell, or whole steps. */
async function pipeline(name: string, steps: Readonly<Record<string, readonly string[] | Step>>): Promise<string> {
  const body = Object.entries(steps).map(([step, one]) => [
    step,
    Array.isArray(one) ? { image: codefresh.image, commands: one } : one,
  ])
  await codefresh.admin.pipelines.create({ name, document: JSON.stringify({ version: '1.0', steps: Object.fromEntries(body) }) })
  return name
}

/** Starts a build without the client, for tests of other commands. */
const start = async (name: string, more: Omit<BuildInput, 'pipeline'> = {}): Promise<string> =>
  (await codefresh.admin.builds.create({ pipeline: name, ...more })).id
const ended = (id: string): Promise<Build> => endOf(codefresh.admin, id)
/** The lines of a log without their times. */
const plain = (log: string): string => log.replaceAll(/\[\d{4}-[^\]]*\] /g, '').replaceAll('\r', '')

test('an attached run prints the output of its steps while they run, and ends with 0 (F011, F016)', async () => {
  await pipeline('live', { first: ['echo "hello $NAME"', UNTIL_LET_GO, 'echo and more'], second: ['echo second step'] })
  const run = codefresh.start(['run', 'live', '-v', 'NAME=Ann'])
  await run.says('hello Ann')
  const [build] = (await codefresh.admin.builds.list({ query: { pipeline: 'live' } })).items
  expect(build?.status).toBe('running')
  await letGo(build?.id ?? '')
  const { code, stdout, stderr } = await run.finished
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(plain(stdout)).toMatch(/=+\nStep: first\n=+\n(?:.*\n)*hello Ann\n(?:.*\n)*and more\n/)
  expect(plain(stdout)).toMatch(/Step: second\n=+\n(?:.*\n)*second step\n/)
})

test('an attached run ends with 1 for a failed build and shows its cause, and with 2 for a terminated one (F011, F018)', async () => {
  await pipeline('fails', { bad: ['echo broken', 'exit 7'] })
  await pipeline('long', { slow: ['echo begun', 'sleep 60'] })
  const [failed, long] = [codefresh.run('run', 'fails'), codefresh.start(['run', 'long'])]
  const { code, stdout } = await failed
  expect(code).toBe(1)
  expect(plain(stdout)).toMatch(/broken\n[^]*Step: Build\n=+\nerror: /)
  await long.says('begun')
  const [build] = (await codefresh.admin.builds.list({ query: { pipeline: 'long' } })).items
  expect(await codefresh.must('terminate', build?.id ?? '')).toContain('terminated')
  expect(await long.finished).toMatchObject({ code: 2 })
  expect((await ended(build?.id ?? '')).status).toBe('terminated')
  // Terminating an ended build changes nothing.
  expect(await codefresh.must('terminate', build?.id ?? '')).toContain('terminated')
})

test('a build whose document has errors fails with its problems in the log (F011)', async () => {
  await codefresh.admin.pipelines.create({ name: 'invalid', document: "version: '1.0'\nsteps: 5\n" })
  const { code, stdout } = await codefresh.run('run', 'invalid')
  expect(code).toBe(1)
  expect(plain(stdout)).toMatch(/Step: Build\n=+\nerror: .*steps/)
  const missing = await codefresh.run('run', 'none')
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('Passed pipeline id: none does not exist') })
})

test('a run passes branch, commit, variables, secrets, contexts, annotations, sizes and steps on (F012)', async () => {
  await codefresh.admin.contexts.create({ name: 'shared', type: 'config', data: { SHARED: 'from-context' } })
  await pipeline('options', { shown: ['echo "$A $SECRET $SHARED"', 'test "$SECRET" = hush'], left: ['echo no'] })
  const source = ['-b', 'main', '-s', 'abc123', '-t', 'nightly']
  const values = ['-v', 'A=1', '-S', 'SECRET=hush', '-c', 'shared', '-a', 'team=red']
  const options = ['--cpu', '500', '--memory', '256', '--skip', 'left', '--no-cache', '--reset-volume']
  const id = idIn(await codefresh.must('run', 'options', ...source, ...values, ...options, '--detach'))
  const build = await ended(id)
  expect(build).toMatchObject({
    status: 'success',
    branch: 'main',
    revision: 'abc123',
    trigger: { kind: 'manual', name: 'nightly' },
    annotations: { team: 'red' },
  })
  expect(build.steps).toMatchObject([
    { name: 'shown', status: 'success' },
    { name: 'left', status: 'skipped' },
  ])
  const log = plain(await codefresh.must('logs', id))
  expect(log).toContain('1 ***** from-context')
  expect(log).not.toContain('hush')
  const context = await codefresh.run('run', 'options', '-c', 'none')
  expect(context).toMatchObject({ code: 1, stderr: expect.stringContaining('Failed to verify context none') })
  const size = await codefresh.run('run', 'options', '--pack-name', 'small')
  expect(size).toMatchObject({ code: 1, stderr: expect.stringContaining('no machine sizes') })
})

test('runs a document without a pipeline, and refuses one with errors before it starts (F013)', async () => {
  const steps = { say: { image: codefresh.image, commands: ['echo from the file'] } }
  const { code, stdout } = await codefresh.run(
    'run',
    '--yaml',
    await codefresh.file('adhoc.yml', JSON.stringify({ version: '1.0', steps })),
  )
  expect(code).toBe(0)
  expect(plain(stdout)).toContain('from the file')
  const before = (await codefresh.admin.builds.list()).items.length
  const bad = await codefresh.run(
    'run',
    '--yaml',
    await codefresh.file('bad-adhoc.yml', "version: '1.0'\nsteps: {a: {type: nonsense}}\n"),
  )
  expect(bad.code).toBe(1)
  expect((await codefresh.admin.builds.list()).items).toHaveLength(before)
})

test('starts a build for each entry of a file of variables (F014)', async () => {
  await pipeline('many', { say: ['echo "got $A"'] })
  const file = await codefresh.file('vars.yml', '- {A: one}\n- {A: 2}\n')
  const printed = await codefresh.must('run', 'many', '--var-file', file)
  const ids = printed.match(/[0-9a-f]{24}/g) ?? []
  expect(new Set(ids).size).toBe(2)
  await Promise.all(ids.map(ended))
  const logs = await Promise.all(ids.map((id) => codefresh.must('logs', id)))
  expect(new Set(logs.map((log) => /got \w+/.exec(log)?.[0]))).toEqual(new Set(['got 2', 'got one']))
})

test('a start that is sent again with the same request id starts one build (F012)', async () => {
  await pipeline('once', { say: ['echo once'] })
  const send = async (reqId: string): Promise<unknown> => {
    const answer = await fetch(`${codefresh.url}/api/pipelines/run/once?reqId=${reqId}`, {
      method: 'POST',
      headers: { authorization: codefresh.key, 'content-type': 'application/json' },
      body: JSON.stringify({ options: {}, userMachineConfig: {}, variables: [], annotations: {} }),
    })
    return answer.json()
  }
  const [first, again, other] = [await send('one'), await send('one'), await send('two')]
  expect(again).toBe(first)
  expect(other).not.toBe(first)
  expect((await codefresh.admin.builds.list({ query: { pipeline: 'once' } })).items).toHaveLength(2)
})

test('shows the log of an ended build with and without times, and follows one that ends (F015, F016)', async () => {
  await pipeline('logged', { one: ['printf "first\\nlast without end"'], two: [UNTIL_LET_GO, 'echo "ü and 日本"'] })
  const id = await start('logged')
  const follow = codefresh.start(['logs', '-f', id])
  await follow.says('last without end')
  const running = await codefresh.must('logs', id)
  expect(plain(running)).toContain('first\n')
  await letGo(id)
  const live = (await follow.finished).stdout
  await ended(id)
  const archived = await codefresh.must('logs', id)
  expect(archived).toMatch(/\[\d{4}-\d\d-\d\dT[\d:.]+Z\] first\r\n/)
  expect(plain(archived)).toMatch(/Step: one\n=+\n(?:.*\n)*first\nlast without end\n/)
  const step = (log: string, name: string): string | undefined =>
    new RegExp(`Step: ${name}\n=+\n((?:(?!=+\nStep).*\n)*)`).exec(plain(log))?.[1]
  for (const name of ['one', 'two']) expect(step(live, name)).toBe(step(archived, name))
  const bare = await codefresh.must('logs', id, '--no-timestamps')
  expect(bare).not.toMatch(/\[\d{4}-/)
  expect(bare).toContain('ü and 日本')
})

test('a log of many lines arrives live without loss and without doubles (F016)', async () => {
  await pipeline('big', { count: ['i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo "line $i of the long log"; done'] })
  // The client exits before a pipe has accepted all of its output, but not before a file has.
  expect(await codefresh.runToFile('big.log', 'run', 'big')).toBe(0)
  const seen = [...(await codefresh.read('big.log')).matchAll(/line (\d+) of the long log/g)].map(([, n]) => Number(n))
  expect(seen.filter((n, index) => n !== index + 1)).toEqual([])
  expect(seen).toHaveLength(20_000)
})

test('lists builds by pipeline, status, branch and commit, a page at a time, and shows one (F017)', async () => {
  await pipeline('listed', { say: ['echo listed'] })
  await pipeline('listed-too', { say: ['exit 1'] })
  const [first, second] = [
    await start('listed', { branch: 'main', revision: 'aaa' }),
    await start('listed', { branch: 'next', revision: 'bbb' }),
  ]
  const third = await start('listed-too', { branch: 'main' })
  await Promise.all([first, second, third].map(ended))
  const ids = async (...words: string[]): Promise<(string | undefined)[]> =>
    rowsOf(await codefresh.must('get', 'builds', ...words)).map(([id]) => id)
  const { id: pipelineId } = await codefresh.admin.pipelines.get('listed')
  expect(await ids('--pipeline-id', pipelineId)).toEqual([second, first])
  expect(await ids('--pipeline-name', 'listed-too')).toEqual([third])
  expect(await ids('--pipeline-id', pipelineId, '--branch', 'main')).toEqual([first])
  expect(await ids('--pipeline-id', pipelineId, '--sha', 'bbb')).toEqual([second])
  expect(await ids('--pipeline-id', pipelineId, '--status', 'error')).toEqual([])
  expect(await ids('--pipeline-id', pipelineId, '--limit', '1', '--page', '2')).toEqual([first])
  expect(await ids('--pipeline-id', pipelineId, '--from', '2020-01-01', '--to', '2020-02-01')).toEqual([])
  expect(JSON.parse(await codefresh.must('get', 'build', third, '-o', 'json'))).toMatchObject({
    id: third,
    status: 'error',
    'pipeline-name': 'listed-too',
    branch: 'main',
    progress: third,
  })
  const missing = await codefresh.run('get', 'build', 'f'.repeat(24))
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('does not exist') })
})

test('restarts a build, attached and detached (F019)', async () => {
  await pipeline('again', { say: ['echo "again $A"'] })
  const id = await start('again', { variables: { A: 'kept' } })
  await ended(id)
  const attached = await codefresh.run('restart', id)
  expect(attached.code).toBe(0)
  expect(plain(attached.stdout)).toContain('again kept')
  const other = idIn(await codefresh.must('restart', id, '-d'))
  expect(await ended(other)).toMatchObject({ status: 'success', restartOf: id })
})

test('waits for a status, and fails when another final one is reached (F020)', async () => {
  await pipeline('waited', { say: ['exit 1'] })
  const id = await start('waited')
  expect(await codefresh.must('wait', id, '--status', 'error')).toContain(`Build: ${id} status: error reached`)
  expect(await codefresh.run('wait', id)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('finished with status: error'),
  })
  expect(await codefresh.run('wait', 'short')).toMatchObject({ code: 1, stderr: expect.stringContaining('not valid') })
})

test('approves and denies a step that waits (F021)', async () => {
  await pipeline('gate', { gate: { type: 'pending-approval', title: 'may it go on?' }, after: ['echo went on'] })
  const [yes, no] = [await start('gate'), await start('gate')]
  for (const id of [yes, no]) await codefresh.must('wait', id, '--status', 'pending-approval', '-t', '5')
  await codefresh.must('approve', yes)
  await codefresh.must('deny', no)
  expect((await ended(yes)).status).toBe('success')
  expect(await ended(no)).toMatchObject({ status: 'error', reason: 'denied' })
  expect(await codefresh.run('wait', no)).toMatchObject({ code: 1 })
  const late = await codefresh.run('deny', yes)
  expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('Error: ') })
})

test('sets, lists and removes annotations of builds, pipelines and images (F037)', async () => {
  const name = await pipeline('annotated', { say: ['echo x'] })
  const id = await start(name)
  await codefresh.must('create', 'annotation', 'workflow', id, 'coverage=75', 'team=red', '--display', 'coverage')
  expect((await codefresh.admin.builds.get(id)).display).toEqual({ name: 'coverage', value: '75' })
  const listed = async (): Promise<unknown> =>
    rowsOf(await codefresh.must('get', 'annotation', 'workflow', id)).map((row) => row.slice(2))
  expect(await listed()).toEqual([
    ['workflow', 'coverage', '75'],
    ['workflow', 'team', 'red'],
  ])
  await codefresh.must('delete', 'annotation', 'workflow', id, 'team')
  expect(await listed()).toEqual([['workflow', 'coverage', '75']])
  await codefresh.must('delete', 'annotation', 'workflow', id)
  expect((await codefresh.admin.builds.get(id)).annotations).toEqual({})
  await codefresh.must('annotate', 'image', 'sha256:abc', '-l', 'scanned=yes')
  expect((await codefresh.admin.annotations.get('image', 'sha256:abc')).values).toEqual({ scanned: 'yes' })
  const unknown = await codefresh.run('get', 'annotation', 'pipeline', 'none')
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('Annotations not found') })
  await ended(id)
})

/** Returns the API key that the server provides to the running step of a build. */
async function keyOfSteps(buildId: string): Promise<string> {
  for (;;) {
    const [id = ''] = (await runProgram('docker', ['ps', '--quiet', '--filter', `label=windlass.io/build=${buildId}`])).split(
      '\n',
    )
    const key = id === '' ? '' : await runProgram('docker', ['exec', id, 'printenv', 'CF_API_KEY']).catch(() => '')
    if (key !== '') return key
    await sleep(50)
  }
}

test('a step starts a build with its own key and the public command line (F041)', async () => {
  await pipeline('kids/child', { say: ['echo child'] })
  await pipeline('kids/parent', { hold: [UNTIL_LET_GO] })
  const parent = await start('kids/parent')
  const key = await keyOfSteps(parent)
  const env = { CF_API_KEY: key, CF_URL: codefresh.url, CF_BUILD_ID: parent, HOME: codefresh.folder }
  const run = await codefresh.start(['run', 'kids/child', '--detach'], env).finished
  expect(run.stderr).toBe('')
  const child = idIn(run.stdout)
  expect(await codefresh.admin.builds.get(child)).toMatchObject({ parent, trigger: { kind: 'build' } })
  await ended(child)
  const logs = await codefresh.runWith(env, 'logs', child)
  expect(plain(logs.stdout)).toContain('child')
  const refused = await codefresh.runWith(env, 'get', 'contexts')
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('do not have permissions') })
  await letGo(parent)
  await ended(parent)
})

test('stores data with a build, and shows it only when it is asked for (F047)', async () => {
  await pipeline('reports', { report: ['true'] })
  const build = await start('reports')
  await ended(build)
  const file = await codefresh.file('report.json', { tests: 12, failed: ['tax'] })
  const printed = await codefresh.must('create', 'workflow-data-item', '--workflow', build, '-f', file)
  expect(printed).toContain(`Workflow-Data-Item ${idIn(printed)} created`)
  const listed = rowsOf(await codefresh.must('get', 'workflow-data-item', '--workflow', build))
  expect(listed).toEqual([[idIn(printed), expect.stringMatching(/^20\d\d-/), '*****']])
  const get = ['get', 'workflow-data-item', idIn(printed), '--workflow', build]
  expect(rowsOf(await codefresh.must(...get))).toEqual(listed)
  expect(await codefresh.must(...get, '--decrypt')).toContain('{"tests":12,"failed":["tax"]}')
})
