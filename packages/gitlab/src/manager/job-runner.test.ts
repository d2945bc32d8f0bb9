/** The begin of a job at a coordinator and at a small API server, while another manager takes the job over. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { openPair, TOKEN } from '../../../../e2e/gitlab/support/coordinator-pair.ts'
import type { FakeJob } from '../../../../e2e/gitlab/support/fake-coordinator.ts'
import { openFakeKube, type FakeKube, type KubeCall } from '../../../agent/test/support/fake-kube.ts'
import { Job } from '../job/payload.ts'
import { openJobRunner, type JobRunner } from './job-runner.ts'
import { openPlaces } from './plan/places.ts'
import { LABELS } from './records/job-record.ts'
import { openJobViews } from './views/job-view.ts'

interface Ran {
  readonly api: FakeKube
  readonly job: FakeJob
}

/** Runs a job until its manager leaves it. `meanwhile` is called for each call to the cluster, before its answer. */
async function run(meanwhile: (call: KubeCall, api: FakeKube, runner: JobRunner) => void): Promise<Ran> {
  const { fake, client, log } = await openPair({ clock: systemClock })
  const api = await openFakeKube()
  const stop = new AbortController()
  const spoolFolder = mkdtempSync(join(tmpdir(), 'windlass-runner-'))
  onTestFinished(async () => {
    stop.abort(new DOMException('the test ends', 'AbortError'))
    await api[Symbol.asyncDispose]()
    rmSync(spoolFolder, { recursive: true, force: true })
  })
  const job = fake.enqueue({ id: 7, token: 'glcbt-seven' })
  const runner = openJobRunner({
    systemId: 'r_own',
    instance: 'r_own.1',
    managerName: 'here',
    version: '1.2.3',
    revision: 'abcd',
    helperImage: 'windlass/gitlab-helper:1',
    env: {},
    spoolFolder,
    clock: systemClock,
    log,
    places: openPlaces(),
    views: openJobViews(() => systemClock.now()),
    interrupted: new AbortController().signal,
    signal: stop.signal,
    siteOf: async () => ({
      kube: api.kube(),
      namespace: 'ci',
      podsIn: () => ({ pods: { follow: () => () => undefined }, close: () => undefined }),
      close: async () => undefined,
    }),
  })
  api.intercept = (call) => {
    meanwhile(call, api, runner)
    return undefined
  }
  const section = { name: 'shop', url: fake.url, token: TOKEN, executor: 'kubernetes', kubernetes: { image: 'debian:13' } }
  const entry = { key: 'entry', runnerKey: 'shop', runner: section, coordinator: client, tls: undefined }
  await runner.run(entry, { key: 'entry', job: Job.parse(job.payload), payload: job.payload, correlationId: undefined })
  return { api, job }
}

const lines = ({ api }: Ran): string[] => api.writes().map(({ method, plural }) => `${method} ${plural}`)
const states = ({ job }: Ran): unknown[] => job.updates.map(({ state }) => state)

test('a job that another manager has taken over before it had a pod is left to that one', async () => {
  const ran = await run(({ method, plural, name }, api) => {
    const metadata = api.objects.get(`secrets/${name}`)?.['metadata']
    if (method !== 'GET' || plural !== 'secrets' || typeof metadata !== 'object') return
    api.change(`secrets/${name}`, { metadata: { ...metadata, labels: { [LABELS.manager]: 'r_other.1' } } })
  })
  expect([lines(ran), states(ran)]).toEqual([['POST secrets'], ['running']])
})

test('a job that another manager has ended before it had a pod gets none, and nothing of it stays', async () => {
  const ran = await run(({ method, plural, name }, api) => {
    if (method === 'GET' && plural === 'secrets') api.remove(`secrets/${name}`)
  })
  expect(lines(ran)).not.toContain('POST pods')
  expect([states(ran), ran.api.objects.size]).toEqual([['running'], 0])
})

test('a job that is taken over while its pod is created is not failed, and its objects stay', async () => {
  const ran = await run(({ method, plural, name }, api, runner) => {
    if (method !== 'POST' || plural !== 'pods') return
    runner.leave(name)
  })
  expect(states(ran)).toEqual(['running'])
  expect(lines(ran).filter((line) => line.startsWith('DELETE'))).toEqual([])
})
