/** Reporters on a real API server, which serves applications and rollouts by definitions of our own, and a real server. */
import { writeFileSync } from 'node:fs'
import { shardOf } from '@windlass/protocol'
import { afterAll, expect, test } from 'vitest'
import { startCluster } from '../../../e2e/support/cluster.ts'
import { startService } from '../../../e2e/support/process.ts'
import { WINDLASS } from '../../../e2e/support/programs.ts'
import { stopServingReportedKinds } from './support/argo-crds.ts'
import { openReporterScene } from './support/reporter-scene.ts'

afterAll(async () => stopServingReportedKinds(await startCluster()))

const PATIENCE = { timeout: 60_000, interval: 100 }

test('what is created, changed and deleted in a cluster is shown, and a new process finds what it missed (O058, O059, O061)', async () => {
  await using scene = await openReporterScene('reporter-life')
  await scene.create('first')
  await scene.create('second', {
    health: 'Degraded',
    spec: { source: { repoURL: 'https://git.test/x', helm: { values: 'hidden' } } },
  })
  await scene.putRollout('front', { step: 1 })
  await scene.putRollout('back', { phase: 'Healthy', step: 2 })
  const reporter = scene.start()
  await expect.poll(scene.shown, PATIENCE).toEqual({ first: 'healthy', second: 'degraded' })
  await expect.poll(scene.shownRollouts, PATIENCE).toEqual({ front: 'paused 1', back: 'healthy 2' })
  await scene.putRollout('front', { phase: 'Healthy', step: 2 })
  await scene.removeRollout('back')
  await expect.poll(scene.shownRollouts, PATIENCE).toEqual({ front: 'healthy 2' })
  await scene.create('third')
  await scene.change('second', { health: { status: 'Healthy' } })
  await scene.remove('first')
  await expect.poll(scene.shown, PATIENCE).toEqual({ second: 'healthy', third: 'healthy' })
  const { admin } = scene.http
  expect(await admin.applications.get('prod/reporter-life/second')).toMatchObject({
    sources: [{ repo: 'https://git.test/x' }],
    resources: [{ kind: 'Deployment' }, { kind: 'Service' }],
  })
  expect(JSON.stringify(scene.line.bodies)).not.toContain('hidden')
  await expect
    .poll(() => reporter.status(), PATIENCE)
    .toMatchObject({ applications: 2, objects: 1, waiting: 0, waitingCharacters: 0, refused: 0 })
  const { history } = await admin.reportedRollouts.get('prod/reporter-life/front')
  expect(history).toMatchObject([
    { phase: 'healthy', weight: 100 },
    { phase: 'paused', currentStep: 1, weight: 50 },
  ])
  await reporter.close()

  await scene.remove('third')
  await scene.create('fourth')
  await scene.change('second', { health: { status: 'Missing' } })
  await scene.removeRollout('front')
  for (const name of ['left', 'right']) await scene.putRollout(name, { step: 1 })
  const before = scene.line.bodies.length
  scene.start()
  await expect.poll(scene.shown, PATIENCE).toEqual({ second: 'missing', fourth: 'healthy' })
  await expect.poll(scene.shownRollouts, PATIENCE).toEqual({ left: 'paused 1', right: 'paused 1' })
  const chunks = scene.line.bodies.slice(before).flatMap(({ fullState }) => fullState ?? [])
  expect(chunks[0]?.listed).toHaveLength(2)
  // Nothing was shown that does not exist.
  expect((await admin.applications.list({ query: { q: 'third' } })).items).toEqual([])
})

test('reporters divide the applications, send again what failed, and hold no more than their limit meanwhile (O060)', async () => {
  await using scene = await openReporterScene('reporter-shards')
  const names = Array.from({ length: 30 }, (_, n) => `app-${n}`)
  for (const name of names) await scene.create(name)
  scene.line.fail(2, 500)
  const reporters = [0, 1].map((shard) => scene.start({ shard, shards: 2 }))
  await expect.poll(async () => Object.keys(await scene.shown()).toSorted(), PATIENCE).toEqual(names.toSorted())
  const partOf = (shard: number): number => names.filter((name) => shardOf('reporter-shards', name, 2) === shard).length
  expect(reporters.map((reporter) => reporter.status().applications)).toEqual([partOf(0), partOf(1)])
  for (const reporter of reporters) await reporter.close()

  // An outage: the manifests of all changes would not fit.
  const maxCharacters = 2_000
  scene.line.fail(Number.MAX_SAFE_INTEGER, 503)
  const alone = scene.start({ limits: { maxCharacters } })
  await expect.poll(() => alone.status().applications, PATIENCE).toBe(names.length)
  for (const name of names) await scene.change(name, { health: { status: 'Degraded' } })
  await scene.remove('app-0')
  await expect.poll(() => alone.status(), PATIENCE).toMatchObject({ applications: names.length - 1, waiting: names.length })
  expect(alone.status().waitingCharacters).toBeLessThanOrEqual(maxCharacters)
  scene.line.fail(0, 500)
  await expect
    .poll(scene.shown, PATIENCE)
    .toEqual(Object.fromEntries(names.filter((name) => name !== 'app-0').map((name) => [name, 'degraded'])))
})

test('an application that the server refuses does not stop the others', async () => {
  await using scene = await openReporterScene('reporter-refused')
  await scene.create('good')
  await scene.create('bad', { status: { health: { status: 5 } } })
  await scene.create('other')
  const reporter = scene.start()
  await expect.poll(scene.shown, PATIENCE).toEqual({ good: 'healthy', other: 'healthy' })
  await expect.poll(() => reporter.status(), PATIENCE).toMatchObject({ waiting: 0, applications: 3 })
  expect(reporter.status().refused).toBeGreaterThan(0)
})

test('gitops report reports until SIGTERM, shows no token, and uses a new one without a restart', async () => {
  await using scene = await openReporterScene('reporter-command')
  await scene.create('shop')
  const { url } = scene.http.server
  const line = `gitops report --server-url ${url} --token-file ${scene.tokenFile} --namespaces reporter-command --port 0`
  const service = await startService({
    command: WINDLASS,
    args: `${line} --kubeconfig ${scene.cluster.kubeconfig}`.split(' '),
    ready: (log) => log.includes('reporter started'),
  })
  try {
    await expect.poll(scene.shown, PATIENCE).toEqual({ shop: 'healthy' })
    const { token } = await scene.http.admin.gitopsRuntimes.createToken('prod')
    writeFileSync(scene.tokenFile, token)
    await scene.http.admin.gitopsRuntimes.deleteToken('prod', scene.token.split('.')[0] ?? '')
    await scene.create('second')
    await expect.poll(scene.shown, PATIENCE).toEqual({ shop: 'healthy', second: 'healthy' })
    service.signal('SIGTERM')
    expect(await service.ended()).toBe(0)
    expect(service.log()).not.toContain(scene.token.split('.')[1])
  } finally {
    await service.stop('SIGKILL')
  }
})
