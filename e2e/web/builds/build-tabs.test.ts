/** Comparison, usage, approvals, attempts and variables of a build, and what can be taken away from it. */
import { pathOf, ROUTES } from '@windlass/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { fastest } from '../support/fastest.ts'
import { begin, failBuild, playBuild, runBuild, runStep, startAttempt, startBuild } from '../support/seeds.ts'
import { contentOf, live, openBuild, show, withAnswer } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene
let scene: HttpScene

beforeAll(async () => {
  web = await openWebScene()
  scene = web.server
})

afterAll(() => web[Symbol.asyncDispose]())

const ONE = `version: '1.0'
steps:
  test: {image: 'node:24', commands: [npm test]}
`
const MIB = 1_048_576

test('compare shows what differs from the last green build, or from any other by its number, and says when nothing does (W041)', async () => {
  const digest = (letter: string): string => `sha256:${letter.repeat(64)}`
  const of = (more: object): object => ({ pipeline: 'demo/compare', document: undefined, branch: 'main', ...more })
  await scene.admin.pipelines.create({ name: 'demo/compare', document: ONE })
  const image = { name: 'node:24', digest: digest('1') }
  const first = await playBuild(scene, of({ variables: { TARGET: 'staging' } }), { test: { image } })
  const same = await playBuild(scene, of({ variables: { TARGET: 'staging' } }), { test: { image } })
  const changed = await playBuild(
    scene,
    of({
      document: ONE.replace('npm test', 'npm test -- --all'),
      variables: { TARGET: 'production' },
      revision: 'c'.repeat(40),
      git: { commitMessage: 'Test all', commitAuthor: 'jo' },
    }),
    { test: { status: 'error', reason: 'exit-code', exitCode: 1, image: { ...image, digest: digest('2') } } },
  )
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(`/builds/${same.id}`)
  await page.getByRole('link', { name: 'Compare', exact: true }).click()
  await page.getByText('Nothing differs: commit, document, variables, images and runtime are the same.').waitFor()
  await openBuild(page, changed)
  await page.keyboard.press('c')
  await page.waitForURL(`**/builds/${changed.id}/compare`)
  const compare = page.getByRole('region', { name: 'Compare', exact: true })
  await compare.getByRole('link', { name: `#${same.number}` }).waitFor()
  await compare.getByRole('region', { name: 'Commit' }).getByText('cccccccc · main · Test all · jo').waitFor()
  const row = (name: string, text: string) => compare.getByRole('region', { name }).getByRole('row').filter({ hasText: text })
  await expect.poll(() => row('Variables that differ', 'TARGET').textContent()).toMatch(/TARGET.*staging.*production/)
  await expect.poll(() => row('Images that differ', 'test').textContent()).toMatch(/sha256:1{12}.*sha256:2{12}/)
  const diff = await compare.getByRole('region', { name: 'Difference of the documents' }).textContent()
  expect(diff).toContain("-  test: {image: 'node:24', commands: [npm test]}")
  expect(diff).toContain("+  test: {image: 'node:24', commands: [npm test -- --all]}")
  await expect.poll(() => row('Steps that differ', 'test').textContent()).toMatch(/test.*success.*error/)
  await page.getByLabel('Compare with build').fill(`#${first.number}`)
  await page.getByRole('button', { name: 'Compare', exact: true }).click()
  await compare.getByRole('link', { name: `#${first.number}` }).waitFor()
  expect(page.url()).toContain(`with=${first.id}`)
  await page.getByLabel('Compare with build').fill('999999')
  await page.getByRole('button', { name: 'Compare', exact: true }).click()
  await page.getByText('There is no build #999999 that you may see.').waitFor()
  expect(seen).toEqual([])
})

test('a step says what size would do after five builds, and nothing before (W034)', async () => {
  await scene.admin.pipelines.create({ name: 'demo/size', document: ONE })
  const build = (): ReturnType<typeof playBuild> =>
    playBuild(scene, { pipeline: 'demo/size', document: undefined, branch: 'main' }, { test: { memory: 610 * MIB } })
  let last = await build()
  for (let count = 2; count <= 4; count += 1) last = await build()
  await using opened = await web.open()
  const { page, seen } = opened
  await withAnswer(page, pathOf(ROUTES.pipelines.stats, 'demo/size'), () => page.goto(`/builds/${last.id}/usage`))
  await page.getByText('610 MiB of 2 GiB memory').waitFor()
  expect(await page.getByText('would do').count()).toBe(0)
  last = await build()
  await page.goto(`/builds/${last.id}/usage`)
  await page.getByText('Asks for 2 GiB, used at most 610 MiB in 95 % of 5 builds: `memory: 800Mi` would do.').waitFor()
  expect(seen).toEqual([])
})

test('usage over time is drawn, and each drawing has its table', async () => {
  const { build, engine } = await startBuild(scene, { document: ONE })
  await begin(engine)
  await engine.event({ type: 'step.started', step: 'test', try: 1 })
  for (const memoryBytes of [100, 300, 200]) {
    const usage = {
      memoryBytes: memoryBytes * MIB,
      memoryPeakBytes: 300 * MIB,
      memoryLimitBytes: 2048 * MIB,
      cpuMs: memoryBytes * 10,
    }
    await engine.event({ type: 'step.usage', step: 'test', usage })
    await new Promise((passed) => setTimeout(passed, 30))
  }
  const usage = { memoryPeakBytes: 300 * MIB, memoryLimitBytes: 2048 * MIB, cpuMs: 3_000 }
  await engine.event({ type: 'step.finished', step: 'test', try: 1, status: 'success', members: {}, exports: [], usage })
  await engine.finish({ status: 'success' })
  await using opened = await web.open()
  const { page } = opened
  await page.goto(`/builds/${build.id}/usage`)
  await page.getByRole('img', { name: 'Memory of test: at most 300 MiB of 2 GiB' }).waitFor()
  await page.getByText('Memory over time').click()
  const cells = page.getByRole('table', { name: 'Memory of test' }).getByRole('cell')
  await expect
    .poll(async () => (await cells.allTextContents()).filter((text) => text.endsWith('MiB')))
    .toEqual(['100 MiB', '300 MiB', '200 MiB'])
})

const GATE = `version: '1.0'
steps:
  build: {image: 'node:24', commands: [npm run build]}
  gate: {type: pending-approval}
  publish: {image: 'node:24', commands: [npm publish]}
  notify: {image: 'node:24', commands: [echo done], when: {steps: [{name: gate, on: [success]}]}}
`

/** Runs a build up to its approval. */
async function waitAtGate(input: object): Promise<Awaited<ReturnType<typeof startBuild>>> {
  const { build, engine } = await startBuild(scene, { pipeline: 'demo/gate', document: undefined, branch: 'main', ...input })
  await begin(engine)
  await runStep(engine, 'build', { status: 'success' })
  await engine.event({ type: 'step.started', step: 'gate', try: 1 })
  await engine.event({ type: 'step.waiting', step: 'gate', reason: 'approval' })
  return { build, engine }
}

test('the approval card names what follows and what changed since the last approved build, and shows a decision made elsewhere (W036, W037)', async () => {
  await scene.admin.pipelines.create({ name: 'demo/gate', document: GATE })
  const first = await waitAtGate({ variables: { REGION: 'eu', SIZE: 's' } })
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(`/builds/${first.build.id}`)
  await page.getByText('No earlier build of this pipeline was approved here.').waitFor()
  await scene.admin.builds.approve(first.build.id, { step: 'gate' })
  const card = page.getByRole('region', { name: 'Approval of gate' })
  const took = await fastest(1_000, async (start) => {
    const { build } = await waitAtGate({ variables: { REGION: 'us', SIZE: 'l' }, revision: 'd'.repeat(40) })
    await page.goto(`/builds/${build.id}`)
    await card.getByText('Next: publish, notify').waitFor()
    await card.getByText(`Since the last approved build #${first.build.number}: another commit, 2 variables.`).waitFor()
    await expect
      .poll(() => card.getByRole('link', { name: 'See what changed' }).getAttribute('href'))
      .toBe(`/builds/${build.id}/compare?with=${first.build.id}`)
    await live(page)
    start()
    await scene.admin.builds.deny(build.id, { step: 'gate', comment: 'not on a Friday' })
    await page.getByText(/gate was denied by .*: not on a Friday/).waitFor()
  })
  expect(took).toBeLessThan(1_000)
  expect(await card.count()).toBe(0)
  expect(seen).toEqual([])
})

test('an approval is decided with a comment, and asks once more when the setting says so (W036)', async () => {
  const settings = await scene.admin.settings.get()
  await scene.admin.settings.put({ ...settings, approvalConfirmation: 'all' })
  const { build } = await waitAtGate({})
  await using opened = await web.open()
  const { page } = opened
  await withAnswer(page, pathOf(ROUTES.settings.get), () => page.goto(`/builds/${build.id}`))
  const card = page.getByRole('region', { name: 'Approval of gate' })
  await card.getByLabel('Comment').fill('tested by hand')
  await card.getByRole('button', { name: 'Approve' }).click()
  const dialog = page.getByRole('dialog', { name: `Approve gate of #${build.number}?` })
  await dialog.waitFor()
  expect((await scene.admin.builds.get(build.id)).approvals?.[0]).not.toHaveProperty('decision')
  await dialog.getByRole('button', { name: 'Approve gate' }).click()
  await page.getByText(/gate was approved by .*: tested by hand/).waitFor()
  expect((await scene.admin.builds.get(build.id)).approvals?.[0]).toMatchObject({
    decision: 'approved',
    comment: 'tested by hand',
  })
  await scene.admin.settings.put({ ...settings, approvalConfirmation: 'none' })
})

test('the summary that is copied has the sentence, the step, its last lines and the address, and no secret (W043)', async () => {
  const build = await failBuild(scene, { pipeline: 'demo/app', document: undefined, secrets: { TOKEN: 'quite-secret-value' } })
  await using opened = await web.open({ permissions: ['clipboard-read', 'clipboard-write'] })
  const { page } = opened
  await page.goto(`/builds/${build.id}`)
  await page.getByRole('button', { name: 'Actions' }).click()
  await page.getByRole('menuitem', { name: 'Copy a summary as Markdown' }).click()
  await page.getByText('Copied the summary as Markdown.').waitFor()
  const text = await page.evaluate(() => navigator.clipboard.readText())
  expect(text).toContain(`**demo/app \\#${build.number}** failed after`)
  expect(text).toContain('step unit\\_tests: exit code 1.')
  expect(text).toContain('Step `unit_tests`: exit code 1')
  expect(text).toContain(' Test Files  1 failed | 790 passed (791)')
  expect(text).toContain(`${scene.server.url}/builds/${build.id}`)
  expect(text).not.toContain('quite-secret-value')
  expect(text).not.toContain('\u001B')
})

test('m tells the end of a build from a hidden tab, and explains a permission that is denied (W044)', async () => {
  const { build, engine } = await runBuild(scene)
  // The clock is that of the context, which no other test should get.
  await using opened = await web.open({})
  const { page } = opened
  await page.clock.install()
  await page.addInitScript(() => {
    const told: { title: string; body: string }[] = []
    class FakeNotification extends EventTarget {
      static permission = 'denied'
      static requestPermission = (): Promise<string> => Promise.resolve(FakeNotification.permission)
      constructor(title: string, { body }: { body: string }) {
        super()
        told.push({ title, body })
      }
      close(): void {
        told.pop()
      }
    }
    Object.assign(window, { Notification: FakeNotification, told })
  })
  await openBuild(page, build)
  await page.keyboard.press('m')
  await page.getByText('The browser blocks notifications of this site.').waitFor()
  await page.evaluate(() => Object.assign(Notification, { permission: 'granted' }))
  await page.keyboard.press('m')
  await page.getByText(`You will be notified when #${build.number} ends`).waitFor()
  await page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })
    document.dispatchEvent(new Event('visibilitychange'))
  })
  // Another hidden tab closes its stream after 30 s.
  await page.clock.fastForward(32_000)
  await engine.finish({ status: 'success' })
  const told = (): Promise<unknown> => page.evaluate(() => (window as unknown as { told: unknown }).told)
  await expect.poll(told).toMatchObject([{ title: expect.stringContaining(`#${build.number}`), body: /succeeded/ }])
})

test('the log and the end of every attempt can be reached, and a lost one says why in the words of the cluster (W042)', async () => {
  const { build, engine } = await startBuild(scene, { document: ONE })
  await begin(engine)
  await engine.event({ type: 'step.started', step: 'test', try: 1 })
  await engine.log('step/test', 'from the first attempt\n')
  const lost = { buildId: build.id, attempt: 1, object: 'engine-x', reason: 'node-lost', message: 'Node 10.0.3.7 is gone.' }
  await scene.agent.fact({ ...lost, state: 'lost' })
  await scene.agent.fact({ ...lost, state: 'gone' })
  const second = await startAttempt(scene, build)
  await begin(second)
  await second.event({ type: 'step.started', step: 'test', try: 1 })
  await second.log('step/test', 'from the second attempt\n')
  await second.event({ type: 'step.finished', step: 'test', try: 1, status: 'success', members: {}, exports: [] })
  await second.finish({ status: 'success' })
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(`/builds/${build.id}`)
  const attempts = page.getByRole('list', { name: 'Attempts and waits' })
  await attempts
    .getByText(/Attempt 1 was lost.* \(node-lost\): Node 10\.0\.3\.7 is gone\. The build continued in another attempt\./)
    .waitFor()
  await attempts.getByText(/Attempt 2 ended.* with success\./).waitFor()
  await page.getByRole('link', { name: 'test', exact: true }).click()
  await page.getByText('from the second attempt').waitFor()
  await page.getByRole('combobox', { name: 'Attempt' }).selectOption('1')
  await page.getByText('from the first attempt').waitFor()
  await page.getByText('from the second attempt').waitFor({ state: 'detached' })
  await page.getByRole('region', { name: 'Step test' }).getByText('Node 10.0.3.7 is gone.').waitFor()
  expect(page.url()).toContain('attempt=1')
  expect(seen).toEqual([])
})

test('pods that cannot start show the words of the cluster within 5 s (W045)', async () => {
  const build = await scene.submit({ document: ONE })
  for (let found = false; !found;)
    for (const task of await scene.agent.claim()) {
      await scene.agent.report(task, 'done')
      found ||= task.kind === 'start-attempt' && task.buildId === build.id
    }
  await using opened = await web.open()
  const { page } = opened
  await openBuild(page, build)
  await live(page)
  let nodes = 2
  const took = await fastest(5_000, async () => {
    nodes += 1
    const message = `0/${nodes} nodes are available: ${nodes} Insufficient cpu.`
    await scene.agent.fact({ buildId: build.id, attempt: 1, state: 'waiting', reason: 'unschedulable', message })
    await page.getByText(message).first().waitFor()
  })
  expect(took).toBeLessThan(5_000)
  await scene.admin.builds.terminate(build.id)
})

test('variables have the values, levels and overrides of the plan, and no secret is in an answer or element (W035)', async () => {
  const secret = 'quite-secret-value'
  await scene.admin.pipelines.create({ name: 'demo/variables', document: ONE, variables: [{ key: 'COLOR', value: 'red' }] })
  const build = await playBuild(scene, {
    pipeline: 'demo/variables',
    document: undefined,
    variables: { COLOR: 'blue' },
    secrets: { TOKEN: secret },
  })
  const { plan } = await scene.admin.builds.plan(build.id)
  await using opened = await web.open()
  const { page } = opened
  const answers: Promise<string>[] = []
  page.on('response', (response) => {
    if (response.url().includes(pathOf(ROUTES.builds.list))) answers.push(response.text().catch(() => ''))
  })
  await page.goto(`/builds/${build.id}/variables`)
  const table = page.getByRole('table', { name: 'Variables' })
  await table.getByText('COLOR', { exact: true }).first().waitFor()
  const rows = await table
    .getByRole('row')
    .evaluateAll((all) => all.slice(1).map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)))
  expect(rows).toEqual(
    (plan?.variables ?? []).map(({ name, value, level, source, isSecret, overriddenBy }) => [
      name,
      isSecret ? '•••••' : (value ?? ''),
      source === undefined ? level : `${level} ${source}`,
      overriddenBy ?? '',
    ]),
  )
  expect(rows).toContainEqual(['COLOR', 'red', 'pipeline demo/variables', 'build'])
  expect(rows.some(([name, value]) => name === 'TOKEN' && value === '•••••')).toBe(true)
  for (const [tab, shows] of [
    ['', 'test'],
    ['/graph', 'test'],
    ['/document', 'npm test'],
    ['/events', 'attempt.finished'],
  ] as const) {
    await show(page, `/builds/${build.id}${tab}`)
    await contentOf(page, { shows }).waitFor()
    expect(await page.content()).not.toContain(secret)
  }
  expect((await Promise.all(answers)).filter((text) => text.includes(secret))).toEqual([])
})
