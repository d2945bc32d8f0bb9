import { type ApprovalInput, Build } from '@windlass/protocol'
import { expect, test } from 'vitest'
import type { z } from 'zod'
import { openHttpScene } from '../../support/http-scene.ts'

const GATE = "version: '1.0'\nsteps:\n  gate: { type: pending-approval }\n"

test('decides approvals by routes, with error codes for invalid decisions (P073)', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  const { build, engine } = await scene.start({ document: GATE })
  const decide = (verb: 'approve' | 'deny', body: z.input<typeof ApprovalInput> = {}): Promise<Build> =>
    admin.call('POST', `/v1/builds/${build.id}/${verb}`, Build, { body })
  await expect(decide('approve')).rejects.toMatchObject({ code: 'approval-missing' })
  await engine.event({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true })
  await engine.event({ type: 'step.waiting', step: 'gate', reason: 'approval' })
  await expect(decide('approve', { step: 'other' })).rejects.toMatchObject({ code: 'approval-missing' })
  expect(await decide('approve', { comment: 'fine' })).toMatchObject({
    approvals: [{ step: 'gate', decision: 'approved', by: { name: 'admin', type: 'user' }, comment: 'fine' }],
  })
  expect(await decide('approve')).toMatchObject({ approvals: [{ decision: 'approved' }] })
  await expect(decide('deny')).rejects.toMatchObject({ code: 'approval-decided' })
})

test('a run with git facts gets their variables, with escaped quotes (P128, P129)', async () => {
  await using scene = await openHttpScene()
  const message = 'it\'s "quoted": {yes}\nand more'
  const { build, engine } = await scene.start({
    branch: 'feature/x',
    revision: '0123456789abcdef0123456789abcdef01234567',
    git: {
      repoOwner: 'o',
      repoName: 'n',
      commitMessage: message,
      pullRequest: { number: '7', title: 'A "title"', merged: false },
    },
  })
  const system = engine.claimed.plan.variables.find(({ level }) => level === 'system')?.variables ?? {}
  const values = Object.fromEntries(Object.entries(system).map(([name, value]) => [name, 'value' in value ? value.value : '']))
  expect(values).toMatchObject({
    CI: 'true',
    CF_ACCOUNT: 'default',
    CF_BRANCH: 'feature/x',
    CF_BRANCH_TAG_NORMALIZED: 'feature_x',
    CF_BUILD_ID: build.id,
    CF_BUILD_INITIATOR: 'admin',
    CF_BUILD_TRIGGER: 'build',
    CF_BUILD_URL: `${scene.server.url}/builds/${build.id}`,
    CF_COMMIT_MESSAGE: 'it\\\'s \\"quoted\\": {yes}\nand more',
    CF_PULL_REQUEST_MERGED: 'false',
    CF_PULL_REQUEST_NUMBER: '7',
    CF_PULL_REQUEST_TITLE: 'A \\"title\\"',
    CF_REPO_NAME: 'n',
    CF_REPO_OWNER: 'o',
    CF_SHORT_REVISION: '0123456',
    CF_URL: scene.server.url,
    CF_VOLUME_PATH: '/codefresh/volume',
  })
})
