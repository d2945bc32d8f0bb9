/** The form that runs a pipeline in Chromium against a real server. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { windlass } from '../../../packages/cli/test/windlass.ts'
import { CONNECTED } from '../support/fleet-seeds.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

const DOCUMENT = `kind: pipeline
metadata: {name: demo/run}
spec:
  concurrency: 1
  variables:
    - {key: GREETING, value: hello}
    - {key: TOKEN, value: stored-secret, encrypted: true}
  steps:
    always: {image: 'alpine:3', commands: ['echo \${{GREETING}}']}
    only_main: {image: 'alpine:3', commands: [echo main], when: {branch: {only: [main]}}}
    sometimes: {image: 'alpine:3', commands: [echo green], when: {condition: {all: {green: 'steps.always.result == "success"'}}}}
`

let web: WebScene

beforeAll(async () => {
  web = await openWebScene(CONNECTED)
  await web.server.admin.pipelines.create({ name: 'demo/run', document: DOCUMENT })
})

afterAll(() => web[Symbol.asyncDispose]())

test('an address fills the form the same elsewhere, without secrets, and starts what the same flags start (W070)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(
    '/pipelines/demo/run/-/run?branch=next&v.GREETING=two%20words&skip=sometimes&memory=2Gi&a.why=test&resetVolume=1',
  )
  await page.getByRole('button', { name: 'Add a variable' }).click()
  await page.getByLabel('Name of the variable').fill('PASSWORD')
  await page.getByRole('checkbox', { name: 'secret' }).check()
  await page.getByLabel('Value of PASSWORD').fill('hunter2')
  await page.getByLabel('TOKEN', { exact: true }).fill('other-secret')
  expect(page.url()).not.toMatch(/hunter2|other-secret|PASSWORD|TOKEN/)
  const command = await page.locator('code', { hasText: 'windlass run' }).textContent()
  expect(command).toBe(
    "windlass run demo/run --branch next --memory 2Gi -v 'GREETING=two words' -S PASSWORD -S TOKEN --skip sometimes -a why=test --reset-volume",
  )
  await using elsewhere = await web.open()
  await elsewhere.page.goto(page.url())
  await expect.poll(() => elsewhere.page.getByLabel('Branch').inputValue()).toBe('next')
  await expect.poll(() => elsewhere.page.getByLabel('GREETING', { exact: true }).inputValue()).toBe('two words')
  expect(await elsewhere.page.getByLabel('TOKEN', { exact: true }).inputValue()).toBe('')
  await expect.poll(() => elsewhere.page.getByLabel('Memory').inputValue()).toBe('2Gi')
  await page.getByRole('button', { name: 'Run the pipeline' }).click()
  await page.waitForURL('**/builds/*')
  const id = page.url().split('/').at(-1) ?? ''
  const flags = [
    '--branch',
    'next',
    '--memory',
    '2Gi',
    '-v',
    'GREETING=two words',
    '-S',
    'PASSWORD=hunter2',
    '-S',
    'TOKEN=other-secret',
  ]
  const more = ['--skip', 'sometimes', '-a', 'why=test', '--reset-volume', '-d']
  const started = await windlass(web.server, ['run', 'demo/run', ...flags, ...more])
  expect(started).toMatchObject({ code: 0 })
  const { admin } = web.server
  const otherId = /[0-9a-f]{24}/.exec(started.text)?.[0] ?? ''
  const [mine, theirs] = await Promise.all([id, otherId].map((one) => admin.builds.plan(one)))
  // Ids, numbers and times of the two builds differ.
  const facts = ({ plan }: { plan?: unknown }): unknown => {
    const { variables, ...rest } = plan as { variables: { level: string }[] }
    return { ...rest, variables: variables.filter(({ level }) => level !== 'system') }
  }
  expect(facts(mine ?? {})).toEqual(facts(theirs ?? {}))
  const [build, other] = await Promise.all([id, otherId].map((one) => admin.builds.get(one)))
  expect([build?.branch, build?.annotations]).toEqual([other?.branch, other?.annotations])
  expect(seen).toEqual([])
})

test('before the start it says which steps run, and whether, for what and at which place it would wait (W071)', async () => {
  const { admin } = web.server
  for (const { id } of (await admin.builds.list({ query: { pipeline: 'demo/run' } })).items) await admin.builds.terminate(id)
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/pipelines/demo/run/-/run?branch=next')
  const forecast = page.getByRole('region', { name: 'What would run' })
  await forecast.getByText('1 step runs, 1 depends, 1 is skipped.').waitFor()
  await forecast.getByText('It would start at once.').waitFor()
  await expect.poll(() => forecast.locator('[data-step="only_main"]').textContent()).toContain('next')
  await page.getByLabel('Branch').fill('main')
  await forecast.getByText('2 steps run, 1 depends.').waitFor()
  const holder = await admin.builds.create({ pipeline: 'demo/run', branch: 'main' })
  await expect.poll(async () => (await admin.builds.get(holder.id)).status).toBe('elected')
  // The server reads what holds a limit at most once a second.
  await expect
    .poll(async () => (await admin.builds.preview({ pipeline: 'demo/run' })).wait?.holders?.[0]?.number)
    .toBe(holder.number)
  await page.getByLabel('Commit').fill('9e11f03')
  await forecast.getByText(new RegExp(String.raw`It would wait at place 1.*\(1 of 1 by #${holder.number}\)`)).waitFor()
  expect(seen).toEqual([])
})

test('what is wrong with a variable is named and starts nothing', async () => {
  await using opened = await web.open()
  const { page } = opened
  await page.goto('/pipelines/demo/run/-/run')
  await page.getByRole('button', { name: 'Add a variable' }).click()
  await page.getByLabel('Name of the variable').fill('2B')
  await page.getByRole('alert').getByText('"2B" is not the name of a variable').waitFor()
  await expect.poll(() => page.getByRole('button', { name: 'Run the pipeline' }).getAttribute('aria-disabled')).toBe('true')
})
