/** The jobs of GitLab runners in Chromium, against a real server that gets the reports of a manager. */
import { GITLAB_SILENT_MS } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  GITLAB,
  openGitlabManager,
  reportedJob,
  type GitlabReporter,
} from '../../../packages/server/test/support/fakes/gitlab-manager.ts'
import { live } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene
let manager: GitlabReporter

beforeAll(async () => {
  web = await openWebScene()
})
afterAll(() => web[Symbol.asyncDispose]())

test('the room appears with the first report of a manager, and the screen before it says how to connect one (W099)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/gitlab-jobs')
  await page.getByText('No manager of GitLab runners has reported a job yet.').waitFor()
  await page.getByText('windlass create key gitlab-runner --role maintainer --scope gitlab-report:write').waitFor()
  const size = page.viewportSize() ?? { width: 1280, height: 800 }
  await page.setViewportSize({ ...size, width: 360 })
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 'scrolls sideways').toBe(0)
  await page.setViewportSize(size)
  const room = page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: 'GitLab jobs' })
  expect(await room.count()).toBe(0)
  await live(page)
  manager = await openGitlabManager(web.server)
  await manager.report([
    reportedJob(7, { state: 'preparing', message: 'Waiting for pod jobs/runner-7 to be scheduled: no node' }),
  ])
  await room.waitFor()
  await expect.poll(() => room.textContent()).toContain('1')
  await page.getByText('no node').waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search or go to' }).fill('gitlab')
  await page.getByRole('option').filter({ hasText: 'GitLab jobs' }).waitFor()
  expect(seen).toEqual([])
})

test('the list changes live, leads to the job at GitLab, and is filtered by state, runner and project (W099)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await manager.report([reportedJob(7), reportedJob(8, { state: 'waiting', runner: 'other', project: 'acme/late' })])
  await page.goto('/gitlab-jobs')
  const row = (name: string) =>
    page
      .getByRole('region', { name: 'Jobs' })
      .getByRole('row')
      .filter({ has: page.getByText(name, { exact: true }) })
  await row('job-7').getByText('Running', { exact: true }).waitFor()
  await row('job-7').getByText('runner-7', { exact: true }).waitFor()
  await expect.poll(() => row('job-7').getByRole('link').getAttribute('href')).toBe(`${GITLAB}/acme/shop/-/jobs/7`)
  await page.getByText('manager-0 (2 of 10 jobs)').waitFor()
  await live(page)
  await manager.report([
    reportedJob(7, { state: 'failed', reason: 'script_failure', message: 'Job failed: exit code 1', endedAt: 63_000 }),
    reportedJob(8, { state: 'waiting', runner: 'other', project: 'acme/late' }),
  ])
  await row('job-7').getByText('Failed', { exact: true }).waitFor()
  await row('job-7').getByText('Job failed: exit code 1').waitFor()
  await row('job-7').getByText('script_failure').waitFor()

  const states = page.getByRole('group', { name: 'State' })
  await states.getByRole('button', { name: 'Waiting' }).click()
  await row('job-7').waitFor({ state: 'detached' })
  await row('job-8').waitFor()
  await page.getByText('windlass get gitlab-jobs --status waiting').waitFor()
  expect(new URL(page.url()).search).toBe('?state=waiting')
  await states.getByRole('button', { name: 'Succeeded' }).click()
  await page.getByText('No jobs match.').waitFor()
  await page.getByRole('button', { name: 'Show all jobs' }).click()
  await page.getByRole('button', { name: 'Show only the project acme/late' }).click()
  await row('job-7').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Drop the filter project: acme/late' }).click()
  await row('job-7').waitFor()
  expect(seen).toEqual([])
})

test('a job whose manager is silent is unknown since its last report (W099)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await manager.report([reportedJob(9)])
  const { store, accountId, clock } = web.server.server.app
  // The report was long ago.
  const longAgo = clock.now() - 2 * GITLAB_SILENT_MS
  await store.write(async ({ query }) => {
    for (const table of ['gitlab_job', 'gitlab_manager'] as const)
      await query.updateTable(table).set({ seen_at: longAgo }).where('account_id', '=', accountId).execute()
  })
  await page.goto('/gitlab-jobs?state=unknown')
  const row = page.getByRole('region', { name: 'Jobs' }).getByRole('row').filter({ hasText: 'job-9' })
  await row.getByText('Unknown', { exact: true }).waitFor()
  await row.getByText('The manager on manager-0 has not reported the job since').waitFor()
  await page.getByText(/manager-0 \(silent for [3-8] min/).waitFor()
  expect(seen).toEqual([])
})
