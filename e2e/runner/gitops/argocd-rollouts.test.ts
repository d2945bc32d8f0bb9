/** A canary on a real Argo CD with the controller of Argo Rollouts, steered by users through the app-proxy, and reported to the server. */
import type { ReportedRolloutDetails } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { windlass } from '../../../packages/cli/test/windlass.ts'
import { ensureImages } from '../../support/images.ts'
import { isSynced } from './argocd-runtime.ts'
import { openArgoScene, type ArgoScene } from './argocd-scene.ts'
import { reportRuntime } from './start-reporter.ts'

let scene: ArgoScene
let reporter: AsyncDisposable | undefined
let image = ''
beforeAll(async () => {
  image = (await ensureImages('shell'))['SHELL_IMAGE'] ?? ''
  scene = await openArgoScene()
  const { http, runtimeToken: token, namespace, target: objects } = scene
  reporter = await reportRuntime({ http, kube: scene.cluster.kube, token, namespace, objects })
})
afterAll(async () => {
  await reporter?.[Symbol.asyncDispose]()
  await scene?.[Symbol.asyncDispose]()
})

const canary = (version: string): string =>
  `apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: { name: front }
spec:
  replicas: 2
  selector: { matchLabels: { app: front } }
  strategy:
    canary:
      steps: [{ setWeight: 50 }, { pause: {} }, { setWeight: 75 }, { pause: { duration: 1h } }]
  template:
    metadata: { labels: { app: front, version: ${version} } }
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{ name: main, image: "${image}", command: [sleep, '3600'] }]
`

/** Runs `windlass gitops app rollout VERB prod front …`. */
const rollout = (words: string, key?: string): Promise<{ readonly code: number; readonly text: string }> => {
  const [verb = '', ...rest] = words.split(' ')
  const command = ['gitops', 'app', 'rollout', verb, 'prod', 'front', ...rest, '--runtime-url', scene.proxyUrl]
  return windlass(scene.http, command, key)
}
/** Replaces what differs between two runs. */
const fixed = (text: string): string =>
  text
    .replaceAll(scene.target, 'SHOP')
    .replaceAll(/front-[0-9a-z]{5,10}/g, 'front-HASH')
    .replaceAll(/\b\d+(?:\.\d+)? ?(?:ms|s|m|min)\b/g, 'AGE')
    .replaceAll(/ {2,}/g, '  ')
    .replaceAll(/ +$/gm, '')
/** Waits until the rollout shows these facts. */
const untilShown = (...facts: readonly RegExp[]): Promise<void> =>
  expect
    .poll(async () => fixed((await rollout('get')).text), { timeout: 120_000, interval: 200 })
    .toSatisfy((text: string) => facts.every((fact) => fact.test(text)))
/** The rollout as the server has it. */
const reported = (): Promise<ReportedRolloutDetails> => scene.http.admin.reportedRollouts.get(`prod/${scene.target}/front`)
const untilReported = (facts: object): Promise<void> =>
  expect.poll(reported, { timeout: 60_000, interval: 200 }).toMatchObject(facts)
const pods = async (): Promise<string[]> => scene.cluster.names({ kind: 'Pod', namespace: scene.target, labels: 'app=front' })
/** Lets Argo CD apply another version from Git. */
async function bring(version: string): Promise<void> {
  await scene.push({ 'front/rollout.yaml': canary(version) })
  await scene.app('refresh front')
  // A sync waits until its objects are healthy, which a rollout that pauses is not.
  const synced = await scene.app('sync front')
  expect(synced.code, synced.text).toBe(0)
}

test('a canary goes by its steps: it is paused, resumed, a step is skipped, and the server has its states (O048, O061)', async () => {
  await scene.push({ 'front/rollout.yaml': canary('one') })
  await scene.create('front')
  await scene.until('front', ({ status }) => status?.sync?.status === 'OutOfSync')
  expect((await scene.app('sync front --wait')).code).toBe(0)
  await scene.until('front', isSynced)
  expect(fixed((await scene.app('rollouts front')).text)).toMatchInlineSnapshot(`
    "ROLLOUT  PHASE  STRATEGY  STEP  WEIGHT  REVISION  AVAILABLE  MESSAGE
    SHOP/front  healthy  canary  4/4  100 %  1  2/2
    "
  `)
  const early = await rollout('abort')
  expect([early.code, early.text]).toEqual([1, expect.stringContaining('does not allow the action "abort"')])

  await untilReported({ phase: 'healthy', application: 'front', revision: 1, currentStep: 4, steps: 4 })
  await bring('two')
  await untilShown(/Revision: +2/, /Phase: +paused/, /Steps: +1\/4/, / 2 available/)
  expect(fixed((await rollout('get')).text)).toMatchInlineSnapshot(`
    "Rollout:  SHOP/front
    Phase:  paused
    Message:  CanaryPauseStep
    Strategy:  canary
    Steps:  1/4
    Weight:  50 %
    Revision:  2
    Pods:  2 wanted, 1 of this revision, 2 available
    Possible now:  pause, resume, skip-current-step, promote-full, abort, restart

    #  STEP  STATE
    0  Set the weight to 50 %  passed
    1  Pause until somebody resumes it  paused-indefinite
    2  Set the weight to 75 %  pending
    3  Pause for 1h  pending

    REVISION  REPLICASET  AGE
    2  front-HASH  AGE  current
    1  front-HASH  AGE  stable
    "
  `)
  await untilReported({ phase: 'paused', message: 'CanaryPauseStep', revision: 2, currentStep: 1, weight: 50, isComplete: false })
  expect((await rollout('pause')).text).toBe('rollout/front paused\n')
  const stale = { namespace: scene.target, name: 'front', step: 0 }
  const refused = await fetch(`${scene.proxyUrl}/app-proxy/api/applications/front/rollouts/skip-current-step`, {
    method: 'POST',
    headers: { authorization: scene.http.adminToken, 'content-type': 'application/json' },
    body: JSON.stringify(stale),
  })
  expect([refused.status, await refused.json()]).toEqual([
    409,
    expect.objectContaining({ message: 'The rollout "front" is not at the step 0 anymore.' }),
  ])
  expect((await rollout('resume')).text).toBe('rollout/front goes on\n')
  await untilShown(/Steps: +3\/4/, /3 +Pause for 1h +active/)
  expect((await rollout('skip')).text).toBe('rollout/front goes on with the next step\n')
  await untilShown(/Phase: +healthy/, /Steps: +4\/4/, /Weight: +100 %/, /2 +front-HASH .*current, stable/)
  const revisions = [2, 1].map((revision) => ({ revision, images: [image] }))
  await untilReported({ phase: 'healthy', isComplete: true, replicas: { wanted: 2, updated: 2, available: 2 }, revisions })
  expect(fixed((await windlass(scene.http, ['get', 'rollouts'])).text)).toMatchInlineSnapshot(`
    "RUNTIME  NAMESPACE  NAME  PHASE  STEP  WEIGHT  REVISION  AVAILABLE  SINCE  MESSAGE
    prod  SHOP  front  healthy  4/4  100 %  2  2/2  AGE
    "
  `)
  const { history } = await reported()
  expect(history[0]).toMatchObject({ phase: 'healthy', revision: 2, currentStep: 4, weight: 100 })
  expect(history).toContainEqual(expect.objectContaining({ phase: 'paused', revision: 2, currentStep: 1, weight: 50 }))
  expect(history).toContainEqual(expect.objectContaining({ phase: 'healthy', revision: 1, currentStep: 4 }))
})

test('a canary is aborted, begun again, completed at once, and its pods are restarted (O048)', async () => {
  await bring('three')
  await untilShown(/Revision: +3/, /Phase: +paused/, /Steps: +1\/4/)
  expect((await rollout('abort')).text).toBe('rollout/front aborted\n')
  await untilShown(/Phase: +degraded \(aborted\)/, /0 +Set the weight to 50 % +terminated/, /2 +front-HASH .*stable/)
  expect((await rollout('retry')).text).toBe('rollout/front begins again\n')
  await untilShown(/Phase: +paused/, /Steps: +1\/4/)
  expect((await rollout('promote')).text).toBe('rollout/front goes to its end\n')
  await untilShown(/Phase: +healthy/, /3 +front-HASH .*current, stable/)
  await expect.poll(pods, { timeout: 60_000, interval: 200 }).toHaveLength(2)
  const before = await pods()
  expect((await rollout('restart')).text).toBe('rollout/front restarts its pods\n')
  await expect
    .poll(async () => (await pods()).filter((name) => before.includes(name)), { timeout: 120_000, interval: 200 })
    .toEqual([])
})

test('an earlier revision of a canary is restored, unless Argo CD corrects the application (O048)', async () => {
  const { kube } = scene.cluster
  const ref = { kind: 'Application', namespace: scene.namespace, name: 'front' } as const
  await kube.patch(ref, { spec: { syncPolicy: { automated: { selfHeal: true } } } })
  const healed = await rollout('rollback --revision 1')
  expect([healed.code, healed.text]).toEqual([1, expect.stringContaining('would undo the rollback')])
  await kube.patch(ref, { spec: { syncPolicy: { automated: null } } })
  const unknown = await rollout('rollback --revision 77')
  expect([unknown.code, unknown.text]).toEqual([1, expect.stringContaining('has no revision 77. It has 3, 2, 1.')])
  const current = await rollout('rollback --revision 3')
  expect([current.code, current.text]).toEqual([1, expect.stringContaining('The revision 3 is the current one.')])
  expect(await availability(1)).toEqual({
    allowed: true,
    isLatestRollout: false,
    inRevisionsHistory: true,
    revisionHistoryLimitSettings: 10,
    latestRevision: 3,
  })
  expect((await rollout('rollback --revision 1')).text).toBe('rollout/front restores the revision 1 as 4\n')
  await untilShown(/Phase: +paused/, /4 +front-HASH .*current/)
  expect((await rollout('promote')).code).toBe(0)
  await untilShown(/Phase: +healthy/, /4 +front-HASH .*current, stable/)
  const labels = 'app=front,version=one'
  const restored = (): Promise<string[]> => scene.cluster.names({ kind: 'Pod', namespace: scene.target, labels })
  await expect.poll(restored, { timeout: 60_000, interval: 200 }).toHaveLength(2)
  expect(await availability(1)).toMatchObject({ allowed: false, inRevisionsHistory: false, latestRevision: 4 })
})

async function availability(revision: number): Promise<unknown> {
  const query = new URLSearchParams({ namespace: scene.target, name: 'front', revision: String(revision) })
  const url = `${scene.proxyUrl}/app-proxy/api/applications/front/rollouts/rollback?${query.toString()}`
  return (await fetch(url, { headers: { authorization: scene.http.adminToken } })).json()
}

test('a viewer sees rollouts and changes none, and one that is deleted is not shown anymore (O048, O061)', async () => {
  const { admin } = scene.http
  await admin.users.create({ name: 'vera', role: 'viewer', password: 'correct horse battery' })
  const { token } = await admin.keys.create({ name: 'vera-key', role: 'viewer', owner: 'vera' })
  expect((await rollout('get', token)).code).toBe(0)
  for (const words of ['restart', 'rollback --revision 2']) {
    const refused = await rollout(words, token)
    expect([words, refused.code, refused.text]).toEqual([
      words,
      4,
      expect.stringContaining('The right change-gitops is missing.'),
    ])
  }
  const app = await scene.app('delete front --yes')
  expect(app.code, app.text).toBe(0)
  await expect.poll(pods, { timeout: 60_000, interval: 200 }).toEqual([])
  const left = async (): Promise<readonly object[]> => (await scene.http.admin.reportedRollouts.list()).items
  await expect.poll(left, { timeout: 60_000, interval: 200 }).toEqual([])
})
