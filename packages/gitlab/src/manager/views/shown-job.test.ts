import { expect, test } from 'vitest'
import { Job } from '../../job/payload.ts'
import { openJobViews, type EndedJob } from './job-view.ts'
import { factsOf, gitlabUrl, masksOf, openShownJob, recordedFacts, recordedMasks } from './shown-job.ts'

const JOB = Job.parse({
  id: 7,
  token: 'glcbt-job-token',
  job_info: { name: 'build', stage: 'test', project_full_path: 'acme/shop' },
  git_info: { ref: 'main' },
  variables: [
    { key: 'SECRET', value: 'sesame-open-12345', masked: true },
    { key: 'CI_JOB_URL', value: 'https://gitlab.example.com/acme/shop/-/jobs/7' },
  ],
})
const RUNNER = { url: 'http://gitlab.internal/gitlab/ci/', name: 'shop' }

test('the page of a job is where GitLab says, or below the address that the runner uses', () => {
  expect(factsOf(JOB, RUNNER)).toEqual({
    id: 7,
    gitlab: 'http://gitlab.internal/gitlab',
    name: 'build',
    project: 'acme/shop',
    stage: 'test',
    ref: 'main',
    url: 'https://gitlab.example.com/acme/shop/-/jobs/7',
  })
  const variables = [{ key: 'CI_JOB_URL', value: 'javascript:alert(1)' }]
  expect(factsOf(Job.parse({ ...JOB, variables }), RUNNER).url).toBe('http://gitlab.internal/gitlab/acme/shop/-/jobs/7')
  expect(recordedFacts({ jobId: 7, shown: undefined }, RUNNER)).toMatchObject({ id: 7, name: '', url: undefined })
})

test.each([
  ['https://gitlab.example.com/', 'https://gitlab.example.com'],
  ['https://user:pass@gitlab.example.com/x/', 'https://gitlab.example.com/x'],
  ['ftp://gitlab.example.com', ''],
  ['no address', ''],
])('the GitLab of %s is "%s"', (url, base) => {
  expect(gitlabUrl({ url })).toBe(base)
})

test('what users see of a job has no masked values and no tokens', () => {
  const views = openJobViews(() => 5_000)
  const ended: EndedJob[] = []
  views.follow((job) => job !== undefined && ended.push(job))
  const shown = openShownJob({ views, facts: factsOf(JOB, RUNNER), runner: 'shop', masks: masksOf(JOB) })
  shown.set('preparing', 'The image r/sesame-open-12345:1 cannot be pulled: glcbt-job-token, glpat-abcdef', {
    pod: 'p',
    namespace: 'n',
  })
  expect(views.list()).toMatchObject([
    { state: 'preparing', pod: 'p', namespace: 'n', why: 'The image r/[MASKED]:1 cannot be pulled: [MASKED], glpat-[MASKED]' },
  ])
  shown.set('running', 'Running')
  shown.end({ state: 'failed', reason: 'script_failure', message: 'Job failed: sesame-open-12345' })
  expect(views.list()).toEqual([])
  expect(ended).toMatchObject([
    {
      pod: 'p',
      startedAt: 5_000,
      receivedAt: 5_000,
      endedAt: 5_000,
      outcome: { state: 'failed', message: 'Job failed: [MASKED]' },
    },
  ])
})

test('the same number of two GitLabs is two jobs, and a job that another manager follows has not ended', () => {
  const views = openJobViews(() => 0)
  const told: (EndedJob | undefined)[] = []
  const unfollow = views.follow((job) => told.push(job))
  const one = openShownJob({ views, facts: factsOf(JOB, RUNNER), runner: 'a', masks: masksOf(JOB) })
  const other = openShownJob({ views, facts: factsOf(JOB, { url: 'https://other.test' }), runner: 'b', masks: masksOf(JOB) })
  one.set('running', '')
  other.set('running', '')
  one.end(undefined)
  expect(views.list().map(({ runner }) => runner)).toEqual(['b'])
  expect(told).toEqual([undefined, undefined, undefined])
  unfollow()
  other.end({ state: 'success' })
  expect(told).toHaveLength(3)
})

test('a secret of another store is masked as soon as it is known', () => {
  const views = openJobViews(() => 5_000)
  const shown = openShownJob({ views, facts: factsOf(JOB, RUNNER), runner: 'shop', masks: masksOf(JOB) })
  const trace = { masked: ['p4ss-of-vault'], tokenPrefixes: [], masksAllTokens: true, hasTimes: false, limit: 1_000 }
  shown.mask(recordedMasks({ jobToken: JOB.token, trace }))
  shown.set('preparing', 'The image r/p4ss-of-vault:1 cannot be pulled')
  expect(views.list()).toMatchObject([{ why: 'The image r/[MASKED]:1 cannot be pulled' }])
})
