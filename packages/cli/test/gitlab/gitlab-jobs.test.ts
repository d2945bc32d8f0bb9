/** `get gitlab-jobs` against a real server. */
import { expect, test } from 'vitest'
import { GITLAB, openGitlabManager, reportedJob } from '../../../server/test/support/fakes/gitlab-manager.ts'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

test('get gitlab-jobs lists jobs with state, reason, pod and runner, in all formats and by all filters (G104)', async () => {
  await using scene = await openHttpScene()
  expect(await windlass(scene, ['get', 'gitlab-jobs'])).toMatchObject({ code: 0, text: expect.stringContaining('No') })
  const manager = await openGitlabManager(scene)
  const failed = { reason: 'script_failure', message: 'Job failed: exit code 1', startedAt: 2_000, endedAt: 62_000 } as const
  await manager.report([
    reportedJob(7),
    reportedJob(8, { state: 'failed', runner: 'other', project: 'acme/late', ...failed }),
    reportedJob(9, { state: 'waiting', runner: 'other', message: 'Waiting until another job of this manager ends' }),
  ])
  const table = await windlass(scene, ['get', 'gitlab-jobs'])
  expect(table.text).toMatch(/^ID +NUMBER +PROJECT +JOB +STATE +REASON +RUNNER +POD +TIME +AGE +WHY\n/)
  expect(table.text).toMatch(/ 8 +acme\/late +job-8 +failed +script_failure +other +runner-8 +1 m .* Job failed: exit code 1\n/)
  const wide = await windlass(scene, ['get', 'gitlab-jobs', '--runner', 'shop', '-o', 'wide'])
  expect(wide.text).toContain(`${GITLAB}/acme/shop/-/jobs/7`)
  expect(wide.text.trim().split('\n')).toHaveLength(2)
  const ids = async (...words: string[]): Promise<string[]> =>
    (await windlass(scene, ['get', 'gitlab-jobs', '-o', 'name', ...words])).text.trim().split('\n')
  const all = await ids()
  expect(all).toHaveLength(3)
  expect(await ids('--status', 'waiting')).toEqual(all.slice(0, 1))
  expect(await ids('--runner', 'other', '--project', 'acme/late')).toEqual(all.slice(1, 2))
  expect(await ids('--limit', '2')).toEqual(all.slice(0, 2))
  const [, , id = ''] = all.map((name) => name.replace(/^.*\//, ''))
  const one = await windlass(scene, ['get', 'gitlab-job', id, '-o', 'json'])
  expect(JSON.parse(one.text)).toMatchObject({ id, number: 7, state: 'running', pod: 'runner-7', namespace: 'jobs' })
  expect((await windlass(scene, ['get', 'gitlab-jobs', id, '-o', 'yaml'])).text).toContain('state: running\n')
})

test('get gitlab-jobs refuses a state and a filter that it does not have, and a deletion', async () => {
  await using scene = await openHttpScene()
  expect(await windlass(scene, ['get', 'gitlab-jobs', '--status', 'error'])).toMatchObject({
    code: 2,
    text: expect.stringContaining('The state "error" of jobs does not exist.'),
  })
  expect(await windlass(scene, ['get', 'gitlab-jobs', '--branch', 'main'])).toMatchObject({ code: 2 })
  expect(await windlass(scene, ['get', 'builds', '--runner', 'shop'])).toMatchObject({ code: 2 })
  expect((await windlass(scene, ['delete', 'gitlab-jobs', 'x'])).code).toBe(2)
  const missing = await windlass(scene, ['get', 'gitlab-jobs', 'f'.repeat(24)])
  expect(missing).toMatchObject({ code: 3, text: expect.stringContaining('windlass get gitlab-jobs') })
})
