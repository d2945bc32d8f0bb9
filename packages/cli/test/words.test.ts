/** Approvals, restarts, run options, annotations and settings from the command line, against a real `windlass up`. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDesk, startUp, type Desk, type Up } from './support.ts'

let desk: Desk
let up: Up

beforeAll(async () => {
  desk = await openDesk()
  up = await startUp(desk)
})

afterAll(async () => {
  await up[Symbol.asyncDispose]()
  await desk[Symbol.asyncDispose]()
})

const idIn = (text: string): string => /[0-9a-f]{24}/.exec(text)?.[0] ?? ''
const shell = (): string => desk.images['SHELL_IMAGE'] ?? ''
const step = (...commands: string[]): object => ({ image: shell(), commands })

/** Writes a document with these steps; answers its path. */
function document(steps: object, more: object = {}): Promise<string> {
  return desk.file(`w${Math.random()}.yml`, JSON.stringify({ version: '1.0', ...more, steps }))
}

const gated = (finalState = 'terminated'): Promise<string> =>
  document({
    before: step('echo one > kept.txt'),
    gate: { type: 'pending-approval', timeout: { duration: 30, timeUnit: 'minutes', finalState } },
    after: step('cat kept.txt', 'echo decided by ${{steps.gate.authEntity.name}}'),
  })

test('P073, P077, P177: a build waits for approval, is approved, and the step after it knows by whom', async () => {
  const id = idIn((await desk.run(['run', '-d', '-f', await gated()])).stdout)
  expect(await desk.run(['wait', id, '--status', 'pending-approval', '--timeout', '60'])).toMatchObject({ code: 0 })
  const described = (await desk.run(['describe', 'build', id])).stdout
  expect(described).toContain('Waiting for approval of "gate"')
  expect(described).toMatch(/Approval of gate: waits since/)
  expect(await desk.run(['approve', id, 'before'])).toMatchObject({ code: 1 })
  expect(await desk.run(['approve', id, '-m', 'looks good'])).toMatchObject({ code: 0, stdout: `build/${id} approved\n` })
  expect(await desk.run(['approve', id, 'gate'])).toMatchObject({ code: 0 })
  const late = await desk.run(['deny', id, 'gate'])
  expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('was approved by') })
  const logs = await desk.run(['logs', '-f', id])
  expect(logs.code).toBe(0)
  expect(logs.stdout).toMatch(/decided by (admin|key|\w+)/)
  expect((await desk.run(['describe', 'build', id])).stdout).toMatch(/Approval of gate: approved by .*: looks good/)
})

test('P074, P075: a denial fails the build, unless the step may fail and another one is for that', async () => {
  const id = idIn((await desk.run(['run', '-d', '-f', await gated()])).stdout)
  await desk.run(['wait', id, '--status', 'pending-approval', '--timeout', '60'])
  await desk.run(['deny', id])
  expect(await desk.run(['wait', id, '--timeout', '60'])).toMatchObject({ code: 1 })
  expect(JSON.parse((await desk.run(['describe', 'build', id, '-o', 'json'])).stdout)).toMatchObject({
    status: 'error',
    reason: 'denied',
    steps: [{ status: 'success' }, { status: 'error', reason: 'denied' }, { status: 'skipped' }],
  })
  const path = await document({
    gate: { type: 'pending-approval', fail_fast: false },
    never: { ...step('echo approved'), when: { steps: [{ name: 'gate', on: ['approved'] }] } },
    instead: { ...step('echo denied it was'), when: { steps: [{ name: 'gate', on: ['denied'] }] } },
  })
  const other = idIn((await desk.run(['run', '-d', '-f', path])).stdout)
  await desk.run(['wait', other, '--status', 'pending-approval', '--timeout', '60'])
  const followed = await desk.run(['deny', other, '-f'])
  expect(followed).toMatchObject({ code: 0 })
  expect(followed.stdout).toContain('denied it was')
})

test('P159: a restart from the failed step takes over what the steps before gave', async () => {
  const path = await document({
    make: step('echo made it', 'cf_export MADE=by-the-first'),
    use: step('test "$FIXED" = yes', 'echo used $MADE'),
  })
  const first = await desk.run(['run', '-f', path])
  expect(first.code).toBe(1)
  const again = await desk.run(['restart', idIn(first.stdout), '--from-failed', '-v', 'FIXED=yes'])
  expect(again.stdout).toContain('used by-the-first')
  expect(again.stdout).not.toContain('made it')
  expect(again.code).toBe(0)
  const id = idIn(again.stdout)
  expect((await desk.run(['describe', 'build', id])).stdout).toMatch(/make .*taken over/)
  expect(await desk.run(['restart', id, '--from-failed'])).toMatchObject({ code: 1 })
})

test('P162: a run of chosen steps, and one that leaves some out', async () => {
  const path = await document({ a: step('echo step-a'), b: step('echo step-b'), c: step('echo step-c') })
  const only = await desk.run(['run', '-f', path, '--only', 'b'])
  expect(only).toMatchObject({ code: 0 })
  expect(only.stdout).toContain('step-b')
  expect(only.stdout).not.toMatch(/step-a|step-c/)
  const skip = await desk.run(['run', '-f', path, '--skip', 'b'])
  expect(skip.stdout).toMatch(/step-a[^]*step-c/)
  expect(skip.stdout).not.toContain('step-b')
})

test('P163: a stored pipeline with the steps of another document', async () => {
  const stored = await document({ a: step('echo stored') })
  await desk.run(['apply', '-f', stored, '--name', 'words/app'])
  const run = await desk.run(['run', 'words/app', '-y', await document({ b: step('echo override') })])
  expect(run).toMatchObject({ code: 0 })
  expect(run.stdout).toContain('override')
  expect(run.stdout).not.toContain('echo stored')
})

test('a file with several sets of variables gives one run for each, and the worst exit code', async () => {
  const path = await document({ a: step('echo set-$NAME', 'test "$NAME" != bad') })
  const sets = await desk.file('sets.json', JSON.stringify([{ NAME: 'good' }, { NAME: 'bad' }, { NAME: 'other' }]))
  const { code, stdout } = await desk.run(['run', '-f', path, '--var-file', sets])
  expect(code).toBe(1)
  for (const name of ['good', 'bad', 'other']) expect(stdout).toContain(`set-${name}`)
  const one = await desk.run(['run', '-f', path, '--var-file', await desk.file('one.json', '{"NAME": "good"}')])
  expect(one.code).toBe(0)
})

test('P134: annotations from the command line are read back, shown in lists, and found', async () => {
  const path = await document({ a: step('true') })
  const id = idIn((await desk.run(['run', '-d', '-f', path, '-a', 'team=red', '-a', 'score=85'])).stdout)
  expect(await desk.run(['annotate', 'build', id, 'score=90', 'team-', '--display', 'score'])).toMatchObject({
    code: 0,
    stdout: 'score  90  (shown in lists)\n',
  })
  expect(JSON.parse((await desk.run(['get', 'annotations', 'build', id, '-o', 'json'])).stdout)).toEqual({
    values: { score: 90 },
    display: 'score',
  })
  const found = await desk.run(['get', 'builds', '--annotation', 'score=90'])
  expect(found.stdout).toContain('score=90')
  expect((await desk.run(['get', 'builds', '-o', 'name', '-a', 'score=1'])).stdout).toBe('')
  expect(await desk.run(['get', 'annotations', 'pipeline', 'no/such'])).toMatchObject({ code: 3 })
})

test('settings of the account are shown and changed one by one', async () => {
  expect((await desk.run(['set', 'settings', 'pauseBuilds=true', 'maxQueuedBuilds=50'])).stdout).toMatch(/pauseBuilds +true/)
  const id = idIn((await desk.run(['run', '-d', '-f', await document({ a: step('true') })])).stdout)
  await expect
    .poll(async () => (await desk.run(['describe', 'build', id])).stdout, { timeout: 10_000 })
    .toContain('account-paused')
  await desk.run(['set', 'settings', 'pauseBuilds-'])
  expect(await desk.run(['wait', id, '--timeout', '60'])).toMatchObject({ code: 0 })
  expect(JSON.parse((await desk.run(['get', 'settings', '-o', 'json'])).stdout)).toMatchObject({
    pauseBuilds: false,
    maxQueuedBuilds: 50,
  })
  expect(await desk.run(['set', 'settings', 'pauseBuild=true'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Did you mean 'pauseBuilds'?"),
  })
})
