/** Approvals, restarts, run options, annotations and settings from the command line, against a real `windlass up`. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSandbox, startUp, type Sandbox, type Up } from '../support.ts'

let sandbox: Sandbox
let up: Up

beforeAll(async () => {
  sandbox = await openSandbox()
  up = await startUp(sandbox)
})

afterAll(async () => {
  await up[Symbol.asyncDispose]()
  await sandbox[Symbol.asyncDispose]()
})

const idIn = (text: string): string => /[0-9a-f]{24}/.exec(text)?.[0] ?? ''
const shell = (): string => sandbox.images['SHELL_IMAGE'] ?? ''
const step = (...commands: string[]): object => ({ image: shell(), commands })

/** Writes a document with these steps. Resolves to its path. */
function document(steps: object, more: object = {}): Promise<string> {
  return sandbox.file(`w${Math.random()}.yml`, JSON.stringify({ version: '1.0', ...more, steps }))
}

const gated = (finalState = 'terminated'): Promise<string> =>
  document({
    before: step('echo one > kept.txt'),
    gate: { type: 'pending-approval', timeout: { duration: 30, timeUnit: 'minutes', finalState } },
    after: step('cat kept.txt', 'echo decided by ${{steps.gate.authEntity.name}}'),
  })

test('a build waits for approval, and the step after it knows who approved (P073, P077, P177)', async () => {
  const id = idIn((await sandbox.call(['run', '-d', '-f', await gated()])).stdout)
  expect(await sandbox.call(['wait', id, '--status', 'pending-approval', '--timeout', '300'])).toMatchObject({ code: 0 })
  const described = (await sandbox.call(['describe', 'build', id])).stdout
  expect(described).toContain('Waiting for approval of "gate"')
  expect(described).toMatch(/Approval of gate: waiting since/)
  expect(await sandbox.call(['approve', id, 'before'])).toMatchObject({ code: 1 })
  expect(await sandbox.call(['approve', id, '-m', 'looks good'])).toMatchObject({ code: 0, stdout: `build/${id} approved\n` })
  expect(await sandbox.call(['approve', id, 'gate'])).toMatchObject({ code: 0 })
  const late = await sandbox.call(['deny', id, 'gate'])
  expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('was approved by') })
  const logs = await sandbox.call(['logs', '-f', id])
  expect(logs.code).toBe(0)
  expect(logs.stdout).toMatch(/decided by (admin|key|\w+)/)
  expect((await sandbox.call(['describe', 'build', id])).stdout).toMatch(/Approval of gate: approved by .*: looks good/)
})

test('a denial fails the build, unless another step handles the denial (P074, P075)', async () => {
  const id = idIn((await sandbox.call(['run', '-d', '-f', await gated()])).stdout)
  await sandbox.call(['wait', id, '--status', 'pending-approval', '--timeout', '300'])
  await sandbox.call(['deny', id])
  expect(await sandbox.call(['wait', id, '--timeout', '300'])).toMatchObject({ code: 1 })
  expect(JSON.parse((await sandbox.call(['describe', 'build', id, '-o', 'json'])).stdout)).toMatchObject({
    status: 'error',
    reason: 'denied',
    steps: [{ status: 'success' }, { status: 'error', reason: 'denied' }, { status: 'skipped' }],
  })
  const path = await document({
    gate: { type: 'pending-approval', fail_fast: false },
    never: { ...step('echo approved'), when: { steps: [{ name: 'gate', on: ['approved'] }] } },
    instead: { ...step('echo denied it was'), when: { steps: [{ name: 'gate', on: ['denied'] }] } },
  })
  const other = idIn((await sandbox.call(['run', '-d', '-f', path])).stdout)
  await sandbox.call(['wait', other, '--status', 'pending-approval', '--timeout', '300'])
  const followed = await sandbox.call(['deny', other, '-f'])
  expect(followed).toMatchObject({ code: 0 })
  expect(followed.stdout).toContain('denied it was')
})

test('a restart from the failed step reuses the results of earlier steps (P159)', async () => {
  const path = await document({
    make: step('echo made it', 'cf_export MADE=by-the-first'),
    use: step('test "$FIXED" = yes', 'echo used $MADE'),
  })
  const first = await sandbox.call(['run', '-f', path])
  expect(first.code).toBe(1)
  const again = await sandbox.call(['restart', idIn(first.stdout), '--from-failed', '-v', 'FIXED=yes'])
  expect(again.stdout).toContain('used by-the-first')
  expect(again.stdout).not.toContain('made it')
  expect(again.code).toBe(0)
  const id = idIn(again.stdout)
  expect((await sandbox.call(['describe', 'build', id])).stdout).toMatch(/make .*reused/)
  expect(await sandbox.call(['restart', id, '--from-failed'])).toMatchObject({ code: 1 })
})

test('--only and --skip select the steps of a run (P162)', async () => {
  const path = await document({ a: step('echo step-a'), b: step('echo step-b'), c: step('echo step-c') })
  const only = await sandbox.call(['run', '-f', path, '--only', 'b'])
  expect(only).toMatchObject({ code: 0 })
  expect(only.stdout).toContain('step-b')
  expect(only.stdout).not.toMatch(/step-a|step-c/)
  const skip = await sandbox.call(['run', '-f', path, '--skip', 'b'])
  expect(skip.stdout).toMatch(/step-a[^]*step-c/)
  expect(skip.stdout).not.toContain('step-b')
})

test('runs a stored pipeline with the steps of another document (P163)', async () => {
  const stored = await document({ a: step('echo stored') })
  await sandbox.call(['apply', '-f', stored, '--name', 'words/app'])
  const run = await sandbox.call(['run', 'words/app', '-y', await document({ b: step('echo override') })])
  expect(run).toMatchObject({ code: 0 })
  expect(run.stdout).toContain('override')
  expect(run.stdout).not.toContain('echo stored')
})

test('a file with several variable sets starts one run per set and returns the worst exit code', async () => {
  const path = await document({ a: step('echo set-$NAME', 'test "$NAME" != bad') })
  const sets = await sandbox.file('sets.json', JSON.stringify([{ NAME: 'good' }, { NAME: 'bad' }, { NAME: 'other' }]))
  const { code, stdout } = await sandbox.call(['run', '-f', path, '--var-file', sets])
  expect(code).toBe(1)
  for (const name of ['good', 'bad', 'other']) expect(stdout).toContain(`set-${name}`)
  const one = await sandbox.call(['run', '-f', path, '--var-file', await sandbox.file('one.json', '{"NAME": "good"}')])
  expect(one.code).toBe(0)
})

test('sets annotations, shows them in lists, and filters by them (P134)', async () => {
  const path = await document({ a: step('true') })
  const id = idIn((await sandbox.call(['run', '-d', '-f', path, '-a', 'team=red', '-a', 'score=85'])).stdout)
  expect(await sandbox.call(['annotate', 'build', id, 'score=90', 'team-', '--display', 'score'])).toMatchObject({
    code: 0,
    stdout: 'score  90  (shown in lists)\n',
  })
  expect(JSON.parse((await sandbox.call(['get', 'annotations', 'build', id, '-o', 'json'])).stdout)).toEqual({
    values: { score: 90 },
    display: 'score',
  })
  const found = await sandbox.call(['get', 'builds', '--annotation', 'score=90'])
  expect(found.stdout).toContain('score=90')
  expect((await sandbox.call(['get', 'builds', '-o', 'name', '-a', 'score=1'])).stdout).toBe('')
  expect(await sandbox.call(['get', 'annotations', 'pipeline', 'no/such'])).toMatchObject({ code: 3 })
})

test('shows and changes single settings of the account', async () => {
  expect((await sandbox.call(['set', 'settings', 'pauseBuilds=true', 'maxQueuedBuilds=50'])).stdout).toMatch(/pauseBuilds +true/)
  const id = idIn((await sandbox.call(['run', '-d', '-f', await document({ a: step('true') })])).stdout)
  await expect.poll(async () => (await sandbox.call(['describe', 'build', id])).stdout).toContain('account-paused')
  await sandbox.call(['set', 'settings', 'pauseBuilds-'])
  expect(await sandbox.call(['wait', id, '--timeout', '300'])).toMatchObject({ code: 0 })
  expect(JSON.parse((await sandbox.call(['get', 'settings', '-o', 'json'])).stdout)).toMatchObject({
    pauseBuilds: false,
    maxQueuedBuilds: 50,
  })
  const access = async (...args: string[]): Promise<string> =>
    (await sandbox.call(['set', 'runtime-access', 'gpu', ...args])).stdout
  expect(await access()).toBe('Runtimes with the tag gpu: only admins.\n')
  await sandbox.call(['create', 'team', 'ml'])
  expect(await access('--team', 'ml', '--team', 'ml')).toBe('Runtimes with the tag gpu: members of ml, and admins.\n')
  expect(await sandbox.call(['set', 'settings', 'runtimeAccess=all'])).toMatchObject({ code: 2 })
  expect(await access('--everybody')).toBe('Runtimes with the tag gpu: everybody.\n')
  expect(await sandbox.call(['set', 'settings', 'pauseBuild=true'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean "pauseBuilds"?'),
  })
})
