/** Comparisons that the app-proxy asks for after commits. The API server of the cluster and the controller of Argo CD are played. */
import { setImmediate } from 'node:timers/promises'
import { manualClock, silentLog } from '@windlass/kit'
import { openKube } from '@windlass/kube'
import { expect, onTestFinished, test } from 'vitest'
import { openApplications } from '../src/argo/applications.ts'
import { openComparisons, type Comparisons } from '../src/argo/comparisons.ts'
import { NAMESPACE, startKubeApi } from './support/kube-api.ts'

const REPO = 'https://git.test/acme/config.git'

interface Scene extends AsyncDisposable {
  readonly comparisons: Comparisons
  /** How often a comparison was asked for. */
  asked(): number
  /** Ends a comparison as the controller does: with the revision that it has begun with, and without a request. */
  compare(revision: string): Promise<void>
}

async function openScene(): Promise<Scene> {
  const api = await startKubeApi()
  const clock = manualClock()
  const kube = openKube({ access: { server: api.url, insecure: false, namespace: NAMESPACE }, log: silentLog })
  const closing = new AbortController()
  onTestFinished(() => closing.abort(new DOMException('the test ends', 'AbortError')))
  onTestFinished(() => kube.close())
  const object = (revision: string, annotations: Record<string, string>) => ({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'config', namespace: NAMESPACE, annotations },
    spec: { project: 'default', source: { repoURL: REPO, path: '.' }, destination: { namespace: 'apps' } },
    status: { sync: { status: 'Synced', revision } },
  })
  api.objects.set('applications/config', object('c0', {}))
  const applications = openApplications({ kube, namespace: NAMESPACE, clock })
  let asked = 0
  let compared = 0
  const counted = {
    ...applications,
    async askRefresh(name: string) {
      asked += 1
      return applications.askRefresh(name)
    },
    async untilCompared(name: string, signal: AbortSignal) {
      const revisions = await applications.untilCompared(name, signal)
      compared += 1
      return revisions
    },
  }
  return {
    comparisons: openComparisons({ applications: counted, log: silentLog, signal: closing.signal }),
    asked: () => asked,
    async compare(revision) {
      const before = compared
      api.objects.set('applications/config', object(revision, {}))
      const look = (): number => {
        clock.advance(1_000)
        return compared
      }
      await expect.poll(look, { interval: 5 }).toBe(before + 1)
      // What follows at once has followed then.
      await setImmediate()
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  }
}

test('a comparison that began before a commit, and removes the request for it, is followed by another one', async () => {
  await using scene = await openScene()
  await scene.comparisons.ofNames(['config', 'absent'], 'c1')
  await scene.comparisons.ofNames(['config'], 'c2')
  expect(scene.asked()).toBe(3)
  await scene.compare('c1')
  expect(scene.asked()).toBe(4)
  await scene.compare('c2')
  expect(scene.asked()).toBe(4)
})

test('an application of another branch is compared once more, not for ever', async () => {
  await using scene = await openScene()
  await scene.comparisons.ofRepository(REPO.replace('.git', ''), 'c1')
  await scene.compare('other')
  expect(scene.asked()).toBe(2)
  await scene.compare('other')
  expect(scene.asked()).toBe(2)
})
