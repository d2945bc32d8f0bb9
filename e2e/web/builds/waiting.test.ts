/** Why builds wait, in the list of builds and in the box above it. */
import { REASONS, type Reason } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { processDeliveries } from '../../../packages/server/src/triggers/deliveries/process.ts'
import { addPipeline, addTrigger, addWebhook, deliver } from '../../../packages/server/test/support/forge-scene.ts'
import { githubPull } from '../../../packages/server/test/support/payloads/payloads.ts'
import { claimStart } from '../../../packages/server/test/support/fakes/fake-agent.ts'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import type { WatchedPage } from '../support/chromium.ts'
import { CONNECTED } from '../support/fleet-seeds.ts'
import { DOCUMENT, runBuild } from '../support/seeds.ts'
import { live } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

const HELLO = "version: '1.0'\nsteps:\n  hello: {image: alpine, commands: [echo hello]}\n"
const GATE = "version: '1.0'\nsteps:\n  gate: {type: pending-approval}\n"

interface Case {
  readonly reason: Reason
  /** Makes a build wait for the reason. */
  arrange(scene: HttpScene): Promise<{ readonly build: Build; readonly holder?: Build }>
}

const ofPipeline = (pipeline: string, more: object = {}): object => ({ pipeline, document: undefined, ...more })

/** Starts a build that uses the only place of a pipeline, and submits another one. */
async function holdAndWait(
  scene: HttpScene,
  pipeline: string,
  limits: object,
  more: object = {},
): Promise<{ build: Build; holder: Build }> {
  await scene.admin.pipelines.put(pipeline, { name: pipeline, document: DOCUMENT, ...limits })
  const { build: holder } = await runBuild(scene, ofPipeline(pipeline, more))
  return { holder, build: await scene.submit(ofPipeline(pipeline, more)) }
}

const runtimeOf = (name: string, capacity: number, agent = 'agent'): Parameters<HttpScene['admin']['runtimes']['put']>[1] => ({
  name,
  type: 'fake',
  agent,
  isDefault: name === 'local',
  spec: { capacity },
})

const CASES: readonly Case[] = [
  { reason: 'pipeline-limit', arrange: (scene) => holdAndWait(scene, 'w/pipeline', { concurrency: 1 }) },
  { reason: 'branch-limit', arrange: (scene) => holdAndWait(scene, 'w/branch', { branchConcurrency: 1 }, { branch: 'main' }) },
  {
    reason: 'project-limit',
    async arrange(scene) {
      await scene.admin.projects.put('w', { name: 'w' })
      await scene.admin.projects.putQuotas('w', { concurrency: 1 })
      return holdAndWait(scene, 'w/project', {})
    },
  },
  {
    reason: 'trigger-limit',
    async arrange(scene) {
      await scene.admin.pipelines.put('w/trigger', { name: 'w/trigger', document: DOCUMENT })
      await addTrigger(scene.server.app, 'w/trigger', { name: 'nightly' })
      return holdAndWait(scene, 'w/trigger', { triggerConcurrency: 1 }, { trigger: 'nightly' })
    },
  },
  {
    reason: 'pipeline-frozen',
    async arrange(scene) {
      await scene.admin.pipelines.put('w/frozen', { name: 'w/frozen', document: DOCUMENT, concurrency: 0 })
      return { build: await scene.submit(ofPipeline('w/frozen')) }
    },
  },
  {
    reason: 'runtime-capacity',
    async arrange(scene) {
      await scene.admin.runtimes.put('local', runtimeOf('local', 1))
      const { build: holder } = await runBuild(scene)
      return { holder, build: await scene.submit({ document: HELLO }) }
    },
  },
  {
    reason: 'account-limit',
    async arrange(scene) {
      const { build: holder } = await runBuild(scene)
      await scene.admin.settings.put({ concurrency: 1 })
      return { holder, build: await scene.submit({ document: HELLO }) }
    },
  },
  {
    reason: 'account-paused',
    async arrange(scene) {
      await scene.admin.settings.put({ pauseBuilds: true })
      return { build: await scene.submit({ document: HELLO }) }
    },
  },
  {
    reason: 'agent-offline',
    async arrange(scene) {
      await scene.admin.agents.create({ name: 'away' })
      await scene.admin.runtimes.put('lonely', runtimeOf('lonely', 1, 'away'))
      return { build: await scene.submit({ document: HELLO, runtime: 'lonely' }) }
    },
  },
  {
    reason: 'runtime-missing',
    async arrange(scene) {
      await scene.admin.agents.create({ name: 'gone' })
      await scene.admin.runtimes.put('short', runtimeOf('short', 1, 'gone'))
      const build = await scene.submit({ document: HELLO, runtime: 'short' })
      await scene.admin.runtimes.delete('short', { query: { force: true } })
      return { build }
    },
  },
  {
    reason: 'start-limit',
    async arrange(scene) {
      const build = await scene.submit({ document: HELLO })
      await claimStart(scene.agent)
      await scene.agent.fact({ buildId: build.id, attempt: 1, state: 'waiting', reason: 'start-limit' })
      return { build }
    },
  },
  {
    reason: 'retry-pending',
    async arrange(scene) {
      const { build } = await runBuild(scene)
      await scene.agent.fact({ buildId: build.id, attempt: 1, state: 'lost', reason: 'node-lost', message: 'The node is gone.' })
      return { build }
    },
  },
  {
    reason: 'approval',
    async arrange(scene) {
      const { build, engine } = await scene.start({ document: GATE })
      await engine.event({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true })
      await engine.event({ type: 'step.started', step: 'gate', try: 1 })
      await engine.event({ type: 'step.waiting', step: 'gate', reason: 'approval' })
      await engine.event({ type: 'attempt.finished', outcome: { status: 'pending-approval' }, streams: {} })
      return { build }
    },
  },
  {
    reason: 'fork-approval',
    async arrange(scene) {
      const { app } = scene.server
      const webhook = await addWebhook(app)
      await addPipeline(app, 'w/forks')
      await addTrigger(app, 'w/forks', { name: 'forks', events: ['pullrequest'], pullRequestAllowForkEvents: true })
      await deliver(app, webhook, githubPull('opened', { fork: true, association: 'NONE' }), { event: 'pull_request' })
      await processDeliveries(app)
      // The server may be faster than this call.
      const started = async (): Promise<Build | undefined> => (await scene.admin.builds.list()).items[0]
      await expect.poll(started).toBeDefined()
      const build = await started()
      if (build === undefined) throw new Error('the pull request started no build')
      return { build }
    },
  },
  {
    reason: 'debugger',
    async arrange(scene) {
      const { build, engine } = await runBuild(scene)
      await engine.event({ type: 'step.waiting', step: 'install', reason: 'debugger', phase: 'before' })
      return { build }
    },
  },
]

async function openList(web: WebScene): Promise<WatchedPage> {
  const opened = await web.open()
  await opened.page.goto('/builds')
  await live(opened.page)
  return opened
}

test.each(CASES)(
  'a build that waits for $reason shows its reason, its holder and since when (W016)',
  async ({ arrange, reason }) => {
    // The agent of these builds calls only while they are arranged, and an agent without calls is a reason to wait of its own.
    await using web = await openWebScene(CONNECTED)
    const { admin } = web.server
    await using opened = await openList(web)
    const { page } = opened
    const { build, holder } = await arrange(web.server)
    await expect.poll(async () => (await admin.builds.get(build.id)).waiting?.reason).toBe(reason)
    const why = page.locator(`[data-build="${build.id}"]`).locator('p')
    const { message } = await admin.builds.get(build.id)
    const text = (message ?? REASONS[reason].text).replace(/^Waiting /, '').replace(/\.$/, '')
    await expect.poll(() => why.textContent()).toContain(text)
    await expect.poll(() => why.textContent()).toMatch(/for \d+ (?:s|min)/)
    if (holder !== undefined) {
      await why.getByRole('link', { name: `#${holder.number}` }).click()
      await page.waitForURL(`**/builds/${holder.id}`)
    }
    expect(opened.seen).toEqual([])
  },
)

test('the cases cover each reason why builds wait, except the moment before the first election (W016)', () => {
  const waiting = Object.entries(REASONS).flatMap(([name, { blame }]) => (blame === 'waiting' ? [name] : []))
  expect([...CASES.map(({ reason }) => reason), 'queued'].toSorted()).toEqual(waiting.toSorted())
})

test('the waiting box has the causes in the order of election, and raising the capacity in it starts builds (W017)', async () => {
  await using web = await openWebScene(CONNECTED)
  const scene = web.server
  await using opened = await openList(web)
  const { page } = opened
  await scene.admin.runtimes.put('local', runtimeOf('local', 1))
  const { build: holder } = await runBuild(scene)
  await scene.submit({ document: HELLO })
  await scene.submit({ document: HELLO })
  await scene.admin.agents.create({ name: 'silent' })
  await scene.admin.runtimes.put('other', runtimeOf('other', 1, 'silent'))
  const offline = await scene.submit({ document: HELLO, runtime: 'other' })
  const box = page.getByRole('region', { name: 'Waiting builds' })
  await expect.poll(() => box.getByRole('listitem').count()).toBe(2)
  const reasons = async (): Promise<string[]> => (await scene.admin.builds.queue()).items.map(({ reason }) => reason)
  await expect.poll(reasons).toEqual(['runtime-capacity', 'agent-offline'])
  // The page reads the queue again up to a second after the last change.
  await box.getByRole('link', { name: `Open #${holder.number}` }).waitFor()
  await expect
    .poll(() => box.getByRole('listitem').allTextContents())
    .toEqual([expect.stringMatching(new RegExp(`^2.*local.*Open #${holder.number}`)), expect.stringMatching(/^1.*other/)])
  let documents = 0
  page.on('request', (request) => {
    if (request.isNavigationRequest()) documents += 1
  })
  await scene.admin.builds.terminate(offline.id)
  await box.getByRole('button', { name: 'Raise capacity' }).click()
  await page.getByLabel('Builds that run at the same time').fill('3')
  await page.getByRole('button', { name: 'Save the capacity' }).click()
  // Nothing moves below a pointer that is over the list.
  await page.mouse.move(1, 1)
  await box.waitFor({ state: 'detached' })
  expect((await scene.admin.runtimes.get('local')).spec).toMatchObject({ capacity: 3 })
  expect((await scene.admin.builds.queue()).waiting).toBe(0)
  expect(documents).toBe(0)
  expect(opened.seen).toEqual([])
})
