/** Rollouts on the page of an application: a real server, tunnel, router and app-proxy. The cluster and Argo CD are played; the group `argocd` has the real ones. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { argoApplication } from '../../../packages/server/test/support/fakes/application-reporter.ts'
import { argoRollout } from '../../../packages/server/test/support/fakes/reported-objects.ts'
import { auditLooks, AXE } from '../support/audit.ts'
import { openPage } from '../support/chromium.ts'
import { openRuntimeScene, TUNNELS, type RuntimeScene } from '../support/runtime-scene.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

const PATH = '/delivery/apps/prod/argocd/shop'

let web: WebScene
let runtime: RuntimeScene

beforeAll(async () => {
  web = await openWebScene({ tunnels: TUNNELS })
  runtime = await openRuntimeScene(web.server)
})
afterAll(async () => {
  await runtime?.[Symbol.asyncDispose]()
  await web?.[Symbol.asyncDispose]()
})

const KEY = { group: 'argoproj.io', version: 'v1alpha1', kind: 'Rollout', namespace: 'shop', name: 'front' }
const replicaSet = (hash: string, revision: number): object => ({
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  namespace: 'shop',
  name: `front-${hash}`,
  uid: hash,
  parentRefs: [{ uid: 'u' }],
  info: [{ name: 'Revision', value: `Rev:${revision}` }],
  createdAt: `2027-01-1${revision}T09:00:00Z`,
})
const template = { metadata: { labels: { app: 'front', 'rollouts-pod-template-hash': '5d' } }, spec: { containers: [] } }

/** Shows the canary with this status. */
function play(status: object, ...actions: readonly string[]): void {
  const { rollouts } = runtime.cluster
  rollouts.objects.set('Rollout/front', {
    metadata: { name: 'front', namespace: 'shop', uid: 'u', generation: 2 },
    spec: {
      replicas: 4,
      strategy: {
        canary: {
          stableService: 'front',
          steps: [{ setWeight: 25 }, { pause: {} }, { analysis: { templates: [{ templateName: 'errors' }] } }, { setWeight: 75 }],
        },
      },
    },
    status: { observedGeneration: '2', currentPodHash: '7c', stableRS: '5d', availableReplicas: 4, ...status },
  })
  for (const name of ['pause', 'resume', 'skip-current-step', 'promote-full', 'abort', 'retry', 'restart'])
    rollouts.actions.set(name, actions.includes(name))
}

const PAUSED = {
  phase: 'Paused',
  message: 'CanaryPauseStep',
  currentStepIndex: 1,
  pauseConditions: [{ reason: 'CanaryPauseStep' }],
}

beforeEach(async () => {
  const { cluster } = runtime
  cluster.rollouts.asked.length = 0
  cluster.rollouts.objects.set('ReplicaSet/front-5d', { kind: 'ReplicaSet', spec: { template } })
  cluster.put(
    argoApplication('shop', { sync: 'Synced', spec: { syncPolicy: {} }, status: { resources: [{ ...KEY, status: 'Synced' }] } }),
  )
  cluster.answers.set('resource-tree', { nodes: [{ ...KEY, uid: 'u' }, replicaSet('5d', 1), replicaSet('7c', 2)] })
  play(PAUSED, 'resume', 'skip-current-step', 'promote-full', 'abort', 'restart')
  await runtime.report('shop')
})

const rolloutOf = (page: Page) => page.getByRole('region', { name: 'Rollout front' })
const buttonOf = (page: Page, name: string) => rolloutOf(page).getByRole('button', { name, exact: true })
const dialogOf = (page: Page) => page.getByRole('dialog')
const commandIn = (page: Page): Promise<string | null> => dialogOf(page).locator('code').textContent()

test('a rollout shows its steps, revisions and reported states, and is steered with buttons that its state turns on (W107)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  for (const [step, phase] of ['Progressing', 'Paused'].entries())
    await runtime.reportObject(argoRollout('front', { version: step + 1, step, phase }))
  await page.goto(PATH)
  const history = page.getByRole('region', { name: 'History of front' }).getByRole('row')
  await expect
    .poll(() => history.allInnerTexts())
    .toEqual([
      expect.stringMatching(/When.*Phase/s),
      expect.stringMatching(/Paused.*2.*2.*50 %/s),
      expect.stringMatching(/Progressing.*2.*1.*50 %/s),
    ])
  const steps = page.getByRole('region', { name: 'Steps of front' }).getByRole('row')
  await expect
    .poll(() => steps.allInnerTexts())
    .toEqual([
      expect.stringMatching(/Step.*What.*State/s),
      expect.stringMatching(/1.*Set the weight to 25 %.*Passed/s),
      expect.stringMatching(/2.*Pause until somebody resumes it.*Waits/s),
      expect.stringMatching(/3.*Analyze errors.*Not started/s),
      expect.stringMatching(/4.*Set the weight to 75 %.*Not started/s),
    ])
  await rolloutOf(page).getByText('front: paused. CanaryPauseStep').waitFor()
  await rolloutOf(page).getByText('weight 25 %').waitFor()
  for (const name of ['Pause', 'Retry'])
    expect(await buttonOf(page, name).getAttribute('aria-description')).toBe('The state of the rollout does not allow it.')

  await buttonOf(page, 'Skip the step').click()
  expect(await commandIn(page)).toBe('windlass gitops app rollout skip prod shop shop/front')
  await dialogOf(page).getByRole('button', { name: 'Skip the step' }).click()
  await dialogOf(page).waitFor({ state: 'detached' })
  expect(runtime.cluster.rollouts.asked).toEqual(['skip-current-step Rollout/front'])
  const run = { name: 'front-7c-2', status: 'Running', message: 'measures' }
  play({ phase: 'Progressing', currentStepIndex: 2, canary: { currentStepAnalysisRunStatus: run } }, 'pause', 'abort')
  await page.getByRole('region', { name: 'Analyses of front' }).getByText('measures').waitFor()
  await expect.poll(() => steps.nth(3).innerText()).toMatch(/Analyze errors.*Active/s)

  // Somebody else is faster.
  await buttonOf(page, 'Abort').click()
  play({ phase: 'Degraded', message: 'aborted', abort: true, currentStepIndex: 0 }, 'retry', 'abort')
  await page.getByText('front: degraded, aborted').waitFor()
  await dialogOf(page).getByRole('button', { name: 'Abort' }).click()
  await dialogOf(page).getByRole('alert').getByText('The rollout "front" is not at the step 2 anymore.').waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => steps.nth(1).innerText()).toMatch(/Aborted/)
  await page.getByText('windlass gitops app rollouts prod shop').waitFor()
  expect(seen).toEqual([])
})

test('an earlier revision of a rollout is restored, and the page says why another is not (W107)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(PATH)
  const current = page.getByRole('button', { name: 'Roll back to revision 2 of front' })
  await current.waitFor()
  expect(await current.getAttribute('aria-description')).toBe('The revision is the current one.')
  await page.getByRole('button', { name: 'Roll back to revision 1 of front' }).click()
  expect(await commandIn(page)).toBe('windlass gitops app rollout rollback prod shop shop/front --revision 1')
  await dialogOf(page).getByRole('button', { name: 'Roll back' }).and(page.locator(':not([aria-disabled])')).click()
  await dialogOf(page).waitFor({ state: 'detached' })
  const restored = { metadata: { labels: { app: 'front' } }, spec: { containers: [] } }
  expect(runtime.cluster.rollouts.asked).toEqual([
    `patch Rollout/front ${JSON.stringify([{ op: 'replace', path: '/spec/template', value: restored }])}`,
  ])
  runtime.cluster.change('shop', (app) => {
    app.spec['syncPolicy'] = { automated: { selfHeal: true } }
  })
  await page.getByRole('button', { name: 'Roll back to revision 1 of front' }).click()
  await dialogOf(page).getByText('Argo CD corrects the application automatically, and would undo the rollback.').first().waitFor()
  expect(await dialogOf(page).getByRole('button', { name: 'Roll back' }).getAttribute('aria-disabled')).toBe('true')
  expect(seen).toEqual([])
})

test('a viewer sees a rollout with buttons that say which role steers it; nothing of it breaches accessibility (W107, W088)', async () => {
  const { token } = await web.server.admin.keys.create({ name: 'viewer-of-rollouts', role: 'viewer' })
  const look = { bypassCSP: true, reducedMotion: 'reduce' } as const
  await using opened = await openPage(web.browser, { url: web.server.server.url, key: token }, look)
  const { page } = opened
  await page.goto(PATH)
  await buttonOf(page, 'Resume').waitFor()
  for (const name of ['Resume', 'Abort'])
    expect(await buttonOf(page, name).getAttribute('aria-description')).toContain('developer')
  await page.evaluate(AXE)
  expect(await auditLooks(page, 'rollouts')).toEqual([])
})
